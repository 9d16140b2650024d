"""Members that a test may break: processes over one catalog and one table, and a network connection between them that
can be cut.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from support.member_process import MemberProcess, wait_until
from support.member_state import in_use
from wire.mesh.control_messages import HELLO_KIND
from wire.mesh.framing import PREFACE

FILES = 6
ROWS_A_FILE = 100_000
ROWS = FILES * ROWS_A_FILE
#: A query that keeps every member busy for longer than any test.
ENDLESS = "select count(*) from t a join t b on a.x % 10 = b.x % 10 where a.x * b.x % 7 = 3"
_CONTROL = PREFACE + HELLO_KIND.to_bytes(2, "big")
_NONE: Mapping[str, str] = {}
#: For members of which one is paused: the timeout is such that it is lost soon, and that members that are delayed by a
#: busy machine are not.
STRICT: Mapping[str, str] = {"failure_after": "5"}
_SETTINGS = "-c sluice.engine=local -c sluice.distribution=always"


class Wire:
    """A TCP relay through which other members reach a member: its address is the one that the member advertises. `cut`
    breaks the relayed connections; `hold` blocks new ones.
    """

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.target = ("127.0.0.1", 0)
        self._pairs: list[tuple[bool, socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self, *, control: bool) -> int:
        """Break the data connections, or all connections if `control`. Returns how many there were."""
        with self._lock:
            broken = [pair for pair in self._pairs if control or not pair[0]]
            self._pairs = [pair for pair in self._pairs if pair not in broken]
        for _, *ends in broken:
            for end in ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        return len(broken)

    @property
    def carries_data(self) -> bool:
        """Return whether a data connection runs through the relay."""
        with self._lock:
            return any(not control for control, _, _ in self._pairs)

    def hold(self, on: bool) -> None:
        """Accept connections without relaying them, or relay them again."""
        if on:
            self._open.clear()
        else:
            self._open.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads[0].join()
        self.cut(control=True)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            self._begin(self._carry, near)

    def _begin(self, target: Any, *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments))
        self._threads[-1].start()

    def _carry(self, near: socket.socket) -> None:
        self._open.wait()
        head = b""
        with contextlib.suppress(OSError):
            while len(head) < len(_CONTROL) and (more := near.recv(len(_CONTROL) - len(head))):
                head += more
        try:
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        with self._lock:
            self._pairs.append((head == _CONTROL, near, far))
        with contextlib.suppress(OSError):
            far.sendall(head)
        back = threading.Thread(target=_copy, args=(far, near))
        back.start()
        _copy(near, far)
        back.join()
        near.close()
        far.close()
        with self._lock:
            self._pairs = [pair for pair in self._pairs if pair[1] is not near]


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Copy bytes until either end is closed; then close both."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Ground:
    """Starts members over one catalog with a table `t` of `ROWS` rows in several files. It ends every process that it
    has started.

    environment: additional variables for all members.
    """

    def __init__(self, folder: Path, stack: ExitStack, environment: Mapping[str, str] = _NONE) -> None:
        self._folder = folder
        self._environment = environment
        self._stack = stack
        self._starts = 0
        (folder / "t").mkdir()
        for number in range(FILES):
            first = number * ROWS_A_FILE
            rows = {"x": range(first, first + ROWS_A_FILE), "s": [f"row {n:032}" for n in range(ROWS_A_FILE)]}
            pq.write_table(pa.table(rows), folder / "t" / f"{number}.parquet")

    def start(
        self, name: str, *seeds: str, wire: Wire | None = None, cluster: Mapping[str, str] = _NONE
    ) -> MemberProcess:
        """Start a member. Unless `cluster` says otherwise (`STRICT`), other members consider it lost when its
        connections break, as those of a killed process do, and not before.

        seeds: addresses of other members.
        wire: the relay whose address it advertises.
        cluster: additional keys of the configuration section of this name.
        """
        self._starts += 1
        data = self._folder / f"{name}-{self._starts}"
        data.mkdir()
        section = {
            "seeds": ",".join(seeds), "heartbeat": "0.2", "failure_after": "60",
            "secret": "for the tests only", "advertise": wire.address if wire else "",
            "drain_seconds": "0.5", **cluster,
        }  # fmt: skip
        environment = {f"SLUICE_CLUSTER__{key.upper()}": value for key, value in section.items() if value}
        environment |= {
            "SLUICE_MEMBER": name, "SLUICE_SPARK__START": "lazy", "SLUICE_BASE": str(self._folder),
            "SLUICE_CATALOG": str(self._folder / "catalog.sqlite"), **self._environment,
        }  # fmt: skip
        member = self._stack.enter_context(MemberProcess(data, environment=environment, log=data / "log"))
        if wire is not None:
            wire.target = member.mesh
        return member

    def three(
        self, wire: Wire | None = None, cluster: Mapping[str, str] = _NONE
    ) -> tuple[MemberProcess, MemberProcess, MemberProcess]:
        """Start m1, m2 and m3, and wait until they know each other and the table. wire: the relay before m1. cluster:
        as for `start`.
        """
        m1 = self.start("m1", wire=wire, cluster=cluster)
        seed = wire.address if wire else mesh_address(m1)
        with m1.connect() as connection:
            connection.execute("create foreign table t options (path 't', format 'parquet')")
        m2, m3 = (self.start(name, seed, cluster=cluster) for name in ("m2", "m3"))
        wait_up(m1, m2, m3)
        return m1, m2, m3


def mesh_address(member: MemberProcess) -> str:
    """Return the address at which other members reach this one."""
    return f"127.0.0.1:{member.mesh[1]}"


def connect(member: MemberProcess, **more: Any) -> psycopg.Connection[Any]:
    """Open a session whose queries are distributed over all members and run on their local engines."""
    return member.connect(**{"options": _SETTINGS, **more})


def states(member: MemberProcess) -> dict[str, str]:
    with member.connect() as connection:
        return dict(connection.execute("select id, state from sluice.members").fetchall())


def wait_up(*together: MemberProcess) -> None:
    """Wait until each of the members knows all of them."""
    for member in together:
        wait_until(lambda m=member: list(states(m).values()).count("up") == len(together))


def held(member: MemberProcess) -> dict[str, int]:
    """Return the counts of what a member holds for queries right now."""
    return {name: n for name, n in in_use(member).items() if name.partition(".")[0] in ("mesh", "local", "spark")}


def data_sockets(member: MemberProcess, others: int) -> int:
    """Return the number of connections between this member and others, without one control connection for each of the
    others.
    """
    own = {int(member.ready["listen"].rpartition(":")[2]), int(member.ready["console"].rstrip("/").rpartition(":")[2])}
    count = 0
    for connection in psutil.Process(member.pid).net_connections("tcp"):
        if connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port not in own:
            count += 1
    return count - others


def wait_clean(*members: MemberProcess, others: int | None = None) -> None:
    """Wait until the members hold nothing of any query. others: the number of live members that each is connected to,
    if that is not the number of these members.
    """
    for member in members:
        wait_until(lambda m=member: not held(m), found=partial(held, member))
        expected = len(members) - 1 if others is None else others
        wait_until(lambda m=member, n=expected: data_sockets(m, n) == 0)


def participants(connection: psycopg.Connection[Any], query: str = "select x, s from t") -> set[str]:
    """Return the members that a query would run on."""
    plan = "\n".join(line for (line,) in connection.execute(f"explain (distsql) {query}").fetchall())
    return {name for name in ("m1", "m2", "m3") if name in plan}


def wait_running(*members: MemberProcess) -> None:
    """Wait until each of the members takes part in a query."""
    for member in members:
        wait_until(lambda m=member: "mesh.queries" in held(m))


class Running:
    """A statement that runs in its own thread; `result` waits for its rows or its error."""

    def __init__(self, connection: psycopg.Connection[Any], statement: str) -> None:
        self._connection, self._statement = connection, statement
        self._rows: list[Any] | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._rows = self._connection.execute(self._statement).fetchall()
        except psycopg.Error as error:
            self._error = error

    def result(self, seconds: float = 60) -> list[Any]:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the statement has not ended"
        if self._error is not None:
            raise self._error
        assert self._rows is not None
        return self._rows


def suspended(connection: psycopg.Connection[Any], rows: int = 10, name: str = "c") -> Iterator[Any]:
    """Open a cursor over the whole table and fetch `rows` rows of it."""
    connection.execute(f"declare {name} cursor for select x, s from t")
    yield from connection.execute(f"fetch {rows} from {name}").fetchall()

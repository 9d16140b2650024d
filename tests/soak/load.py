"""The load of a soak test. Each step is one kind of use, by a new session on some member, with its answer checked.

One member is killed during the load. Clients may then receive 40001, 57P01, 57P03, or a lost connection if they were
connected to the killed member. Any other error makes the soak fail, and so does a statement that takes longer than five
minutes.

Each worker changes its own rows and remembers their expected values. A change that ended with an error has taken place
completely or not at all: the worker looks up which, and continues from there.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from support.fault_ground import ENDLESS, ROWS
from support.member_process import MemberProcess

Connection = psycopg.Connection[Any]
_TRANSIENT: Final = ("40001", "57P01", "57P03")
_OPTIONS: Final = "-c statement_timeout=300s -c sluice.engine={engine} -c sluice.distribution={distribution}"


class WrongError(Exception):
    """A wrong answer, or an error that must not occur."""


class Gate:
    """Lets steps through, or holds them back until none is running."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._closed = False
        self._inside = 0
        self.over = False

    @contextmanager
    def step(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed or self.over)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self.over = True
            self._changed.notify_all()


@dataclass
class Scene:
    """The members of a soak test. members: those that stay, and last the one that is killed now and then. spark:
    whether the first one's Spark is used.
    """

    members: list[MemberProcess]
    spark: bool
    gate: Gate = field(default_factory=Gate)
    failures: list[str] = field(default_factory=list)

    def is_mortal(self, member: MemberProcess) -> bool:
        return member not in self.members[:2]


class Worker(threading.Thread):
    """A thread that runs one client after another. kept: the expected values of its rows."""

    def __init__(self, scene: Scene, number: int, seed: int) -> None:
        super().__init__(name=f"worker-{number}")
        self.kept: dict[int, int] = {}
        self.done: Counter[str] = Counter()
        self._scene = scene
        self._chance = random.Random(f"{seed} {number}")
        self._next = number * 10_000_000
        self._kinds: Mapping[str, tuple[int, Callable[[MemberProcess], None]]] = {
            "short": (10, self._short), "join": (3, self._join), "cursor": (3, self._cursor), "vanished": (2, self._vanish),
            "cancelled": (2, self._cancel), "copied out": (2, self._copy_out), "copied in": (2, self._copy_in),
            "inserted": (3, self._insert), "updated": (2, self._update), "deleted": (1, self._erase),
        }  # fmt: skip

    def run(self) -> None:
        names, weights = list(self._kinds), [weight for weight, _ in self._kinds.values()]
        while not self._scene.gate.over:
            with self._scene.gate.step():
                if self._scene.gate.over:
                    return
                [name] = self._chance.choices(names, weights)
                self._step(name, self._chance.choice(self._scene.members))

    def _step(self, name: str, member: MemberProcess) -> None:
        try:
            self._kinds[name][1](member)
            self.done[name] += 1
        except psycopg.Error as error:
            lost = error.sqlstate is None and isinstance(error, psycopg.OperationalError)
            if error.sqlstate in _TRANSIENT or (lost and self._scene.is_mortal(member)):
                self.done["told to repeat"] += 1
            else:
                self._scene.failures.append(f"{name}: {error.sqlstate} {error}")
        except Exception as error:  # noqa: BLE001 - told at the end
            self._scene.failures.append(f"{name}: {error!r}")

    def _connect(self, member: MemberProcess) -> Connection:
        first = member is self._scene.members[0]
        engine = "spark" if first and self._scene.spark and self._chance.random() < 0.1 else "local"
        distribution = self._chance.choice(("auto", "always")) if engine == "local" else "off"
        return member.connect(options=_OPTIONS.format(engine=engine, distribution=distribution), connect_timeout=60)

    def _expect(self, found: object, expected: object, what: str) -> None:
        if found != expected:
            raise WrongError(f"{what}: {str(found)[:200]}, not {str(expected)[:200]}")

    # -- questions ---------------------------------------------------------------------------------------------------

    def _short(self, member: MemberProcess) -> None:
        with self._connect(member) as connection:
            for _ in range(5):
                x = self._chance.randrange(ROWS)
                rows = connection.execute("select x from t where x = %s::int8", (x,)).fetchall()
                self._expect(rows, [(x,)], "short")

    def _join(self, member: MemberProcess) -> None:
        every = self._chance.randrange(20, 60)
        query = "select count(*), sum(a.x) from t a join t b on a.x = b.x where a.x %% %s::int8 = 0"
        expected = range(0, ROWS, every)
        with self._connect(member) as connection:
            self._expect(connection.execute(query, (every,)).fetchone(), (len(expected), sum(expected)), "join")

    def _cursor(self, member: MemberProcess) -> None:
        """Abandon a cursor in the middle, by a rollback or by leaving."""
        with self._connect(member) as connection:
            connection.execute("begin")
            for number in range(self._chance.randrange(1, 5)):
                connection.execute(f"declare c{number} cursor for select x, s from t".encode())
                rows = connection.execute(f"fetch 1000 from c{number}".encode()).fetchall()
                self._expect(len({x for x, _ in rows}), 1000, "cursor")
            if self._chance.random() < 0.5:
                connection.execute("rollback")
            else:
                connection.close()

    def _vanish(self, member: MemberProcess) -> None:
        connection = self._connect(member)
        connection.pgconn.send_query(self._chance.choice((ENDLESS, "select x, s from t")).encode())
        time.sleep(self._chance.random())
        connection.close()

    def _cancel(self, member: MemberProcess) -> None:
        with self._connect(member) as connection:
            late = threading.Timer(self._chance.random(), _cancel, (connection,))
            late.start()
            try:
                connection.execute(ENDLESS)
            except psycopg.errors.QueryCanceled:
                return
            finally:
                late.join()
            raise WrongError("cancel: the query has ended")

    def _copy_out(self, member: MemberProcess) -> None:
        first = self._chance.randrange(ROWS - 20_000)
        query = f"copy (select x from t where x >= {first} and x < {first + 20_000}) to stdout"
        with self._connect(member) as connection, connection.cursor() as cursor, cursor.copy(query.encode()) as copy:
            found = {int(row) for block in copy for row in bytes(block).split()}
        self._expect(found, set(range(first, first + 20_000)), "copy")

    # -- changes -----------------------------------------------------------------------------------------------------

    def _insert(self, member: MemberProcess) -> None:
        rows = self._new_rows(3)
        pairs = [value for row in rows.items() for value in row]
        self._change(member, rows, lambda c: c.execute("insert into kept values (%s, %s), (%s, %s), (%s, %s)", pairs))

    def _copy_in(self, member: MemberProcess) -> None:
        rows = self._new_rows(50)

        def copy(connection: Connection) -> None:
            with connection.cursor().copy("copy kept from stdin") as copy:
                for row in rows.items():
                    copy.write_row(row)

        self._change(member, rows, copy)

    def _update(self, member: MemberProcess) -> None:
        if self.kept:
            row, value = self._chance.choice(list(self.kept)), self._chance.randrange(1000)
            self._change(
                member, {row: value}, lambda c: c.execute("update kept set v = %s where id = %s", (value, row))
            )

    def _erase(self, member: MemberProcess) -> None:
        if self.kept:
            row = self._chance.choice(list(self.kept))
            self._change(member, {row: None}, lambda c: c.execute("delete from kept where id = %s", (row,)))

    def _new_rows(self, count: int) -> dict[int, int]:
        self._next += count
        return {self._next - n: self._chance.randrange(1000) for n in range(count)}

    def _change(self, member: MemberProcess, rows: Mapping[int, int | None], run: Callable[[Connection], Any]) -> None:
        """Change rows. rows: their values afterwards; None: the row is deleted."""
        before = {row: self.kept.get(row) for row in rows}
        try:
            with self._connect(member) as connection:
                run(connection)
        except psycopg.Error:
            found: dict[int, int | None] = dict.fromkeys(rows, None) | self._look_up(list(rows))
            if found not in (before, rows):
                raise WrongError(f"a change took place in part: {found}, from {before} to {rows}") from None
            self._remember(found)
            raise
        self._remember(rows)

    def _look_up(self, rows: list[int]) -> dict[int, int | None]:
        with self._scene.members[0].connect() as connection:
            return dict(connection.execute("select id, v from kept where id = any(%s)", (rows,)).fetchall())

    def _remember(self, rows: Mapping[int, int | None]) -> None:
        for row, value in rows.items():
            if value is None:
                self.kept.pop(row, None)
            else:
                self.kept[row] = value


def _cancel(connection: Connection) -> None:
    """Request a cancel. If the member is killed at that moment, the query ends without it."""
    with suppress(psycopg.OperationalError):
        connection.cancel_safe()


def check_kept(member: MemberProcess, workers: list[Worker]) -> None:
    """Check that the table has exactly the rows that the workers expect. Nothing may run meanwhile."""
    expected = {row: value for worker in workers for row, value in worker.kept.items()}
    with member.connect() as connection:
        found = connection.execute("select id, v from kept").fetchall()
    if len(found) != len(expected) or dict(found) != expected:
        wrong = set(found) ^ set(expected.items())
        raise WrongError(f"{len(wrong)} rows are lost, doubled or wrong: {sorted(wrong)[:10]}")

"""`sluice cluster`: several members on this machine, each a process of its own, over one catalog and one directory.

`up` starts the members and returns when all of them answer and know each other; `status` asks each; `down` ends them.
The members outlive the command: each leads a session of its own, so that no signal of the terminal reaches it, and
writes to a log file. `up` records each process (`server.cluster.files`) before it waits for it, so that `down` can end
what an interrupted `up` has left.

All ports but the first member's are free ones. They are chosen before any member starts and written into the
configurations, so that a restarted member has its old address. With a topology file, its nodes are the members, and a
copy of the file gets the addresses of the local members: a topology of a real cluster can be tried out on one machine,
where its addresses do not exist.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from engine.common.wildcards import WILDCARDS
from server.cluster import files
from server.cluster.files import Cluster, MemberProcess
from server.common.ended_line import ENDED_LINE
from server.common.reserved_ports import reserve_ports
from server.config.address import Address
from server.config.cluster_secret import UnusableSecret
from server.config.errors import ConfigurationError
from server.config.topology import load_topology
from wire.dataclass import dataclass

_LOCALHOST: Final = "127.0.0.1"
_READY_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.1
_ASK_SECONDS: Final = 3
_LOG_LINES: Final = 15
#: Configuration keys that differ between members, or that the command's flags set.
_GIVEN: Final = (
    "member", "listen", "mesh", "console", "data", "base", "catalog", "http.listen", "spark.master", "spark.driver_memory",
    "cluster.name", "cluster.role", "cluster.seeds", "cluster.secret", "cluster.secret_file", "cluster.topology",
    "cluster.advertise", "cluster.advertise_client",
)  # fmt: skip


class ClusterError(Exception):
    """An error of a command; the message is for the person who gave the command."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The members that `up` is to start. lite_routing: refuse or forward. spark: keys of the `spark` section.
    topology: a file whose nodes are the data members, instead of a number of them.
    """

    members: int
    lite: int
    listen: Address
    folder: Path
    lite_routing: str = "refuse"
    spark: Mapping[str, str] = field(default_factory=dict)
    topology: Path | None = None


# -- up ---------------------------------------------------------------------------------------------------------------


def up(wanted: Wanted, console: Console) -> None:
    """Start a cluster. Raises ClusterError; then none of its members runs."""
    folder = wanted.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    _require_down(folder)
    _require_secret(folder)
    with ExitStack() as held:
        planned = _plan(wanted, held)
        members = _start_all(folder, wanted, planned)
    _tell_started(console, members, wanted.folder)


def _start_all(folder: Path, wanted: Wanted, planned: Sequence[MemberProcess]) -> list[MemberProcess]:
    """Start the members, wait until they are ready, and return them with their processes. Raises ClusterError; then
    none of them runs.
    """
    topology = None
    if wanted.topology is not None:
        topology = files.write_topology(folder, wanted.topology, {member.name: member.mesh for member in planned})
    started: list[tuple[MemberProcess, subprocess.Popen[bytes]]] = []
    try:
        for member in planned:
            seeds = [other.mesh for other in planned if other is not member]
            spark = {"start": "lazy", **wanted.spark}
            config = files.configure(folder, member, seeds, spark, wanted.lite_routing, topology)
            process = _start(folder, member, config)
            started.append((replace(member, pid=process.pid, started=files.started_at(process.pid)), process))
            files.write(folder, Cluster(tuple(member for member, _ in started)))
        _wait_ready(folder, started)
    except BaseException:
        _kill([process.pid for _, process in started])
        for _, process in started:
            process.wait()
        files.remove(folder)
        raise
    return [member for member, _ in started]


def _require_down(folder: Path) -> None:
    cluster = _read(folder)
    if cluster is not None and any(files.process_of(member) for member in cluster.members):
        raise ClusterError(f"a cluster runs in {folder} already; end it with: sluice cluster down --data {folder}")


def _require_secret(folder: Path) -> None:
    try:
        files.secret(folder)
    except UnusableSecret as error:
        raise ClusterError(str(error)) from None


def _read(folder: Path) -> Cluster | None:
    try:
        return files.read(folder)
    except ValueError as error:
        raise ClusterError(str(error)) from None


def _plan(wanted: Wanted, held: ExitStack) -> list[MemberProcess]:
    """Return the names, roles and addresses of all members. held: keeps the ports reserved until it is closed."""
    names = [(name, "data") for name in _data_members(wanted)] + [(f"l{n}", "lite") for n in range(1, wanted.lite + 1)]
    if len({name for name, _ in names}) < len(names):
        raise ClusterError(f"{wanted.topology}: a node has the name of a lite member: {names[-1][0]}")
    ports = iter(reserve_ports(_LOCALHOST, 3 * len(names), held))
    planned: list[MemberProcess] = []
    for name, role in names:
        listen = Address(wanted.listen.host, next(ports)) if planned or not wanted.listen.port else wanted.listen
        mesh, console = (str(Address(_LOCALHOST, next(ports))) for _ in range(2))
        planned.append(MemberProcess(name, role, str(listen), mesh, console))
    return planned


def _data_members(wanted: Wanted) -> Sequence[str]:
    if wanted.topology is None:
        return [f"m{n}" for n in range(1, wanted.members + 1)]
    try:
        return list(load_topology(wanted.topology).members)
    except ConfigurationError as error:
        raise ClusterError(str(error)) from None


def _start(folder: Path, member: MemberProcess, config: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not _is_given(name)}
    with files.log_of(folder, member).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "server.cli.main", "serve", "--config", str(config)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment,
        )  # fmt: skip


def _is_given(variable: str) -> bool:
    """Return whether an environment variable of the caller would override a setting that the command gives to each
    member individually. All other variables apply to every member.
    """
    return variable.startswith("SLUICE_") and variable[len("SLUICE_") :].lower().replace("__", ".") in _GIVEN


def _wait_ready(folder: Path, started: Sequence[tuple[MemberProcess, subprocess.Popen[bytes]]]) -> None:
    """Wait until every member accepts clients and is connected to all others. Raises ClusterError."""
    everybody = {member.name for member, _ in started}
    waiting = dict.fromkeys(everybody, "no answer yet")
    end = time.monotonic() + _READY_SECONDS
    while True:
        for member, process in started:
            if process.poll() is not None:
                raise ClusterError(
                    f"member {member.name} ended with status {process.returncode}:\n{_last_lines(folder, member)}"
                )
            if member.name in waiting:
                _note(waiting, member, everybody)
        if not waiting:
            return
        if time.monotonic() > end:
            name, why = next(iter(waiting.items()))
            member = next(m for m, _ in started if m.name == name)
            raise ClusterError(f"member {name} is not ready: {why}\n{_last_lines(folder, member)}")
        time.sleep(_POLL_SECONDS)


def _note(waiting: dict[str, str], member: MemberProcess, everybody: set[str]) -> None:
    try:
        known = peers(member)
    except psycopg.Error as error:
        waiting[member.name] = str(error).strip()
        return
    missing = everybody - {name for name, state in known.items() if state == "up"}
    if missing:
        waiting[member.name] = f"it does not reach {', '.join(sorted(missing))}"
    else:
        del waiting[member.name]


def peers(member: MemberProcess) -> dict[str, str]:
    """Return the members that this one knows, itself included, with their states. Raises psycopg.Error."""
    address = _reachable(member.listen)
    with psycopg.connect(
        host=address.host, port=address.port, user="sluice", dbname="sluice", connect_timeout=_ASK_SECONDS,
        options="-c sluice.lite_routing=refuse -c statement_timeout=3s", autocommit=True, sslmode="disable",
    ) as connection:  # fmt: skip
        rows: list[tuple[Any, ...]] = connection.execute("select id, state from sluice.members").fetchall()
    return {str(name): str(state) for name, state in rows}


def _reachable(listen: str) -> Address:
    address = Address.parse(listen)
    return Address(WILDCARDS.get(address.host, address.host), address.port)


def _last_lines(folder: Path, member: MemberProcess) -> str:
    path = files.log_of(folder, member)
    lines = path.read_text(errors="replace").splitlines()[-_LOG_LINES:] if path.exists() else []
    return "\n".join([*(f"  {line}" for line in lines), f"(from {path})"])


def _tell_started(console: Console, members: Sequence[MemberProcess], folder: Path) -> None:
    console.print(_table([(member, "up") for member in members]))
    first = _reachable(members[0].listen)
    hosts = ",".join(str(_reachable(member.listen)) for member in members)
    console.print(f"psql -h {first.host} -p {first.port} -U me sluice", soft_wrap=True)
    if len(members) > 1:
        console.print(f"or any of them: postgresql://me@{hosts}/sluice?target_session_attrs=read-write", soft_wrap=True)
    console.print(f"sluice cluster down --data {folder}", soft_wrap=True)


# -- status -----------------------------------------------------------------------------------------------------------


def status(folder: Path, console: Console) -> bool:
    """Print the state of each member. Returns whether all are up."""
    cluster = _read(folder.absolute())
    if cluster is None:
        console.print(f"no cluster runs in {folder}")
        return False
    states = [(member, _state(member, len(cluster.members))) for member in cluster.members]
    console.print(_table(states))
    return all(state == "up" for _, state in states)


def _state(member: MemberProcess, count: int) -> str:
    if files.process_of(member) is None:
        return "ended"
    try:
        known = peers(member)
    except psycopg.Error:
        return "does not answer"
    up_there = sum(state == "up" for state in known.values())
    own = known.get(member.name, "up")
    return own if up_there == count or own != "up" else f"reaches {up_there} of {count}"


def _table(rows: Sequence[tuple[MemberProcess, str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("member", "role", "pid", "clients", "mesh", "console", "state"):
        table.add_column(heading, overflow="fold")
    for member, state in rows:
        table.add_row(member.name, member.role, str(member.pid), member.listen, member.mesh, member.console, state)
    return table


# -- down -------------------------------------------------------------------------------------------------------------


def down(folder: Path, grace: float, console: Console) -> None:
    """End all members: send SIGTERM, wait for `grace` seconds, and kill the rest. When all have ended, raises
    ClusterError if some did not shut down in order.
    """
    folder = folder.absolute()
    cluster = _read(folder)
    if cluster is None:
        console.print(f"no cluster runs in {folder}")
        return
    found = {member: files.process_of(member) for member in cluster.members}
    running = [process for process in found.values() if process is not None]
    families = [relative for process in running for relative in _family(process.pid)]
    asked = {member: _log_size(folder, member) for member, process in found.items() if process is not None}
    for process in running:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(running, timeout=grace)
    families += [relative for process in alive for relative in _family(process.pid)]
    for process in (*alive, *families):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive)
    files.remove(folder)
    console.print(f"{len(running)} members ended" + (f", {len(alive)} of them by force" if alive else ""))
    forced = {process.pid for process in alive}
    failed = [m for m, size in asked.items() if m.pid not in forced and not _ended_in_order(folder, m, size)]
    if failed:
        told = "\n".join(
            f"member {member.name} did not end in order:\n{_last_lines(folder, member)}" for member in failed
        )
        raise ClusterError(told)


def _log_size(folder: Path, member: MemberProcess) -> int:
    path = files.log_of(folder, member)
    return path.stat().st_size if path.exists() else 0


def _ended_in_order(folder: Path, member: MemberProcess, size: int) -> bool:
    """Return whether a member has logged an orderly shutdown. size: the size of its log when it was told to end."""
    path = files.log_of(folder, member)
    if not path.exists():
        return False
    with path.open(errors="replace") as log:
        log.seek(size)
        return any(line.strip() == ENDED_LINE for line in log)


def _family(leader: int) -> list[psutil.Process]:
    """Return the processes that a member started (Spark's JVM, its workers): the rest of its session."""
    return [process for process in psutil.process_iter() if process.pid != leader and _session(process.pid) == leader]


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def _kill(leaders: Sequence[int]) -> None:
    """Kill children of this process with all that they started: each leads a process group of its own."""
    for leader in leaders:
        with suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)

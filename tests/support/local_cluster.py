"""A real cluster for tests: `sluice cluster up` as a user runs it, on free ports, and `down` at the end.

The commands and the members are forks of a process that has imported their code (`support.member_fork`), except where
the command itself is tested.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import psycopg

from support.member_fork import fork_command
from support.member_process import session_of
from support.ports import free_port

Command = Callable[..., subprocess.CompletedProcess[str]]
COMMAND = (sys.executable, "-m", "server.cli.main", "cluster")


def cluster_command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice cluster ...` in a terminal that is wide enough for its table."""
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=environment, check=False, timeout=240)


def forked_command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice cluster ...` as `cluster_command` does, but in a fork, without starting Python for it and for each
    member.
    """
    return fork_command(["cluster", *words], {**os.environ, "COLUMNS": "200"})


def processes_over(folder: Path) -> list[psutil.Process]:
    """Return the processes that have the folder in their command line, except this one."""
    return [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or ())
            and p.pid != os.getpid()]  # fmt: skip


class LocalCluster:
    """A context manager around one cluster. members: how many; None means those of the topology file that the flags
    name.

    command: the function that runs `sluice cluster`; with `cluster_command`, all processes are started as a user's are.
    """

    def __init__(
        self, folder: Path, members: int | None, lite: int = 0, *flags: str, command: Command = forked_command
    ) -> None:
        self.folder = folder
        self._written = folder / "cluster.json"
        self._command = command
        counted = [] if members is None else ["--members", str(members)]
        self._words = [*counted, "--lite", str(lite), "--data", str(folder), *flags]
        self.port = free_port()

    def __enter__(self) -> LocalCluster:
        done = self._command("up", "--listen", f"127.0.0.1:{self.port}", *self._words)
        if done.returncode:
            raise RuntimeError(f"sluice cluster up ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        self.told = done.stdout
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A test may have ended it by itself.
        leaders = {member["pid"] for member in self.members.values()} if self._written.exists() else set()
        done = self._command("down", "--data", str(self.folder))
        if error is None:
            assert done.returncode == 0, done.stderr
            assert processes_over(self.folder) == []
            assert [process for process in psutil.process_iter() if session_of(process.pid) in leaders] == []

    @property
    def members(self) -> dict[str, dict[str, Any]]:
        """Return the recorded state of each member, by name."""
        return {member["name"]: member for member in json.loads(self._written.read_text())["members"]}

    def port_of(self, member: str) -> int:
        return int(self.members[member]["listen"].rpartition(":")[2])

    def connect(self, member: str, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        where = {"host": "127.0.0.1", "port": self.port_of(member), "user": "tester", "dbname": "sluice"}
        return psycopg.connect(**{**where, "autocommit": True, **more})

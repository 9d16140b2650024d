"""A real member for tests: `sluice serve` as its own process, on free ports of 127.0.0.1.

`MemberProcess` starts a member over a data directory, as a fork of a process that has imported its code
(`support.member_fork`), and reads its ready line. At the end it sends SIGTERM and expects exit status 0 and no
remaining process of its session: neither the JVM nor a Python worker.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg
from psycopg import sql

from support.child_processes import is_alive
from support.member_fork import ForkedMember


class MemberProcess:
    """A context manager around one member. host, port: the address for PostgreSQL clients. log: a file for its log.

    It has a mesh port if the environment configures a cluster, and otherwise runs alone.
    """

    host = "127.0.0.1"

    def __init__(
        self, data: Path, *flags: str, environment: dict[str, str] | None = None, log: Path | None = None
    ) -> None:
        self.log = log
        self._killed = False
        self._environment = {**os.environ, **(environment or {})}
        clustered = any(name.startswith("SLUICE_CLUSTER__") for name in self._environment)
        self._arguments = [
            "serve", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--data", str(data),
            *(("--mesh", "127.0.0.1:0") if clustered else ()), "--log-level", "info" if log else "warning", *flags,
        ]  # fmt: skip
        self._process: ForkedMember | None = None
        self.ready: dict[str, str] = {}

    def __enter__(self) -> Self:
        with open(self.log, "a") if self.log else nullcontext(sys.stderr) as log:
            self._process = ForkedMember(self._arguments, self._environment, log.fileno())
        line = self._process.stdout.readline()
        self.ready = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if "listen" not in self.ready:
            raise RuntimeError(f"the member did not start: {line!r}, exit status {self._process.wait()}")
        self.port = int(self.ready["listen"].rpartition(":")[2])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        status, left = self.stop()
        if error is None:
            assert status == (-signal.SIGKILL if self._killed else 0), f"exit status {status}"
            assert left == [], left

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def mesh(self) -> tuple[str, int]:
        """The address to which other members connect."""
        return self.host, int(self.ready["mesh"].rpartition(":")[2])

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process, without a shutdown."""
        assert self._process is not None
        self._killed = True
        self._process.kill()
        self._process.wait()

    @property
    def dsn(self) -> str:
        return f"host={self.host} port={self.port} user=tester dbname=sluice"

    def connect(self, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.dsn, **{"autocommit": True, **more})

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, list[str]]:
        """Stop the member. Returns its exit status, and the command lines of the processes of its session that outlived
        it.
        """
        assert self._process is not None
        self._process.send_signal(number)
        # One that a test has stopped would not see it.
        self._process.send_signal(signal.SIGCONT)
        return self.wait()

    def wait(self) -> tuple[int, list[str]]:
        """Wait for a member that is already stopping. Returns the same as `stop`."""
        assert self._process is not None
        family = [p for p in psutil.process_iter() if session_of(p.pid) == self.pid]
        status = self._process.wait()
        self._process.stdout.close()
        _, alive = psutil.wait_procs([p for p in family if p.pid != self.pid], timeout=60)
        left = [" ".join(p.cmdline())[:200] for p in alive if is_alive(p)]
        for process in alive:
            process.kill()
        return status, left


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def register_tpch(connection: psycopg.Connection[Any], folder: Path) -> None:
    """Register every Parquet file of `folder` as a table with the file's name."""
    for file in sorted(folder.glob("*.parquet")):
        connection.execute(
            sql.SQL("create foreign table if not exists {} options (path {}, format 'parquet')").format(
                sql.Identifier(file.stem), sql.Literal(str(file))
            )
        )


def wait_until(condition: Any, seconds: float = 30.0, found: Callable[[], object] | None = None) -> None:
    """Wait until a condition holds; fail after `seconds`, which is no statement about speed. found: returns the current
    state, for the failure's message.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"did not come to pass within {seconds} s: {condition if found is None else found()}")
        time.sleep(0.02)

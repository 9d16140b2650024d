"""A temporary PostgreSQL 15 for tests that use the real server as their oracle.

`PostgresServer` creates a cluster in a temporary directory (C locale, UTF8, time zone UTC, trust authentication), runs
it on a free port of 127.0.0.1 and removes everything when it stops. PostgreSQL refuses to run as root, so root runs it
as an unprivileged user. Nothing else in the tests starts one: use the fixtures of `conftest.py`, which are `postgres`
and, for a test's own database, `postgres_database`, or the server's `database`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg
from psycopg import sql

from support.packages import postgres_programs
from support.ports import free_port

_START_SECONDS = 60.0


def unprivileged_user() -> str | None:
    """Return the user that the server runs as; None is the current user."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


@dataclass(frozen=True)
class Database:
    """A database of a server, with the connection parameters of its superuser."""

    host: str
    port: int
    name: str

    @property
    def dsn(self) -> str:
        return f"host={self.host} port={self.port} user=postgres dbname={self.name}"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.host}:{self.port}/{self.name}"

    def connect(self, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.dsn, **{"autocommit": True, **more})


class PostgresServer:
    """A context manager around one server.

    preload: shared_preload_libraries.
    host, port: where it listens while it runs.
    dsn, url: connect as its superuser to database `postgres`.

    Raises RuntimeError with the server's log when it does not start.
    """

    host = "127.0.0.1"

    def __init__(self, preload: str = "") -> None:
        self._preload = preload
        folder = postgres_programs()
        if folder is None:
            raise RuntimeError("PostgreSQL 15's server programs are not installed")
        self._binaries = folder
        self._user = unprivileged_user()
        self._root: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def dsn(self) -> str:
        return self._database.dsn

    @property
    def url(self) -> str:
        return self._database.url

    @property
    def _database(self) -> Database:
        return Database(self.host, self.port, "postgres")

    @contextmanager
    def database(self, name: str, *, owner: str = "postgres", ctype: str = "C") -> Iterator[Database]:
        """Create a new database and drop it at the end, even if clients are still connected to it. ctype: its character
        type; with `C.UTF-8`, letters beyond ASCII have cases and classes, as in a member.
        """
        named = sql.Identifier(name)
        make = sql.SQL("create database {} owner {} template template0 lc_ctype {}")
        self._execute(make.format(named, sql.Identifier(owner), sql.Literal(ctype)))
        try:
            yield Database(self.host, self.port, name)
        finally:
            self._execute(sql.SQL("drop database {} with (force)").format(named))

    def _execute(self, statement: sql.Composed) -> None:
        with self._database.connect() as connection:
            connection.execute(statement)

    def start(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="sluice-postgres-"))
        if self._user is not None:
            shutil.chown(self._root, self._user)
        self._initdb(self._root / "data")
        self.port = free_port()
        with (self._root / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command(self._root / "data"), stdout=log, stderr=log, cwd=self._root, user=self._user
            )
        self._wait_ready()

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        assert self._root is not None
        return self._root / "log"

    @property
    def data(self) -> Path:
        """The data directory."""
        assert self._root is not None
        return self._root / "data"

    def give(self, name: str, text: str) -> Path:
        """Write a file to the data directory that only the server may read."""
        path = self.data / name
        path.write_text(text)
        path.chmod(0o600)
        if self._user is not None:
            shutil.chown(path, self._user)
        return path

    def stop(self) -> None:
        """Stop the server and remove its files; does nothing when it is not running."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait()
            self._process = None
        if self._root is not None:
            shutil.rmtree(self._root)
            self._root = None

    def _initdb(self, data: Path) -> None:
        subprocess.run(
            [
                self._binaries / "initdb",
                "-D",
                data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ],
            check=True,
            capture_output=True,
            cwd=data.parent,
            user=self._user,
        )

    def _command(self, data: Path) -> list[str]:
        options = {
            "listen_addresses": self.host,
            "port": self.port,
            "unix_socket_directories": "",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "fsync": "off",
            "shared_buffers": "32MB",
            "max_connections": "40",
            "jit": "off",
            "shared_preload_libraries": self._preload,
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [str(self._binaries / "postgres"), "-D", str(data), *settings]

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        probe = [str(self._binaries / "pg_isready"), "-q", "-h", self.host, "-p", str(self.port)]
        while subprocess.run(probe, check=False).returncode != 0:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                assert self._root is not None
                log = (self._root / "log").read_text(errors="replace")
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start:\n{log}")
            time.sleep(0.05)

    def __enter__(self) -> PostgresServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

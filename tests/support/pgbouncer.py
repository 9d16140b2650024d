"""PgBouncer before a server, for tests that connect through a connection pool. `PgBouncer` runs one on a free port with
a pool of one connection, which all clients share, and stops it at the end. PgBouncer refuses to run as root, as
PostgreSQL does.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from support.member_process import wait_until
from support.packages import require
from support.ports import free_port
from support.postgres_server import unprivileged_user

Mode = Literal["session", "transaction"]
#: Where Debian puts it, which is not among everybody's folders.
_PACKAGED: Final = "/usr/sbin/pgbouncer"
_SETTINGS: Final = """
[databases]
pooled = host=127.0.0.1 port={server} dbname={database} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 1
server_check_delay = 0
server_check_query = select 1
server_lifetime = 3600
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
"""


class PgBouncer:
    """A running PgBouncer. server, database, user: the server to which it connects. Skips the test where its package is
    missing.
    """

    def __init__(self, mode: Mode, *, server: int, database: str, user: str) -> None:
        self._program = shutil.which("pgbouncer") or _PACKAGED
        require(os.access(self._program, os.X_OK))
        self._mode, self._server, self._database, self._user = mode, server, database, user
        self.port = 0

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user={self._user} dbname=pooled sslmode=disable"

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="sluice-pgbouncer-"))
        self.port, runs_as = free_port(), unprivileged_user()
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                server=self._server, database=self._database, user=self._user, port=self.port, mode=self._mode,
                folder=self._folder,
            )
        )  # fmt: skip
        if runs_as is not None:
            shutil.chown(self._folder, runs_as)
        self._process = subprocess.Popen(
            [self._program, "-q", str(settings)], cwd=self._folder, user=runs_as, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(self._listens)
        except BaseException:
            self._end()
            raise
        return self

    def _listens(self) -> bool:
        assert self._process.poll() is None, (self._folder / "log").read_text()
        log = self._folder / "log"
        return log.exists() and "process up" in log.read_text()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(10)
        shutil.rmtree(self._folder)

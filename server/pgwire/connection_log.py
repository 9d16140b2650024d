"""Log lines about one connection: that it was received, authorized and ended, and why.

Source: PostgreSQL 15, log_connections and log_disconnections (postmaster.c, postinit.c, postgres.c).
"""

from __future__ import annotations

import logging
import time
from typing import Final

from engine.contracts.session_settings import Settings
from server.auth.beginning import Beginning
from server.auth.login_attempts import TooManyFailedLogins
from server.logs.lines import Entry, Origin, report
from server.pgwire.client_stream import ClientStream
from wire.errors import FatalError

log: Final = logging.getLogger(__name__)


class ConnectionLog:
    """See the module's docstring. pid: the session's, once it has one. born: the time of the connection, in seconds
    since the epoch.
    """

    def __init__(self, stream: ClientStream) -> None:
        self.pid = 0
        self.born = time.time()
        self._stream = stream
        self._beginning: Beginning | None = None
        self._settings: Settings | None = None

    def identify(self, beginning: Beginning, settings: Settings) -> None:
        """Note that the client is admitted: from now on log lines contain its names."""
        self._beginning, self._settings = beginning, settings

    def farewell(self, farewell: FatalError) -> None:
        """Log why a session ends. For a client that is not admitted only the address is logged, since its names are
        unverified.
        """
        if isinstance(farewell, TooManyFailedLogins):
            return
        report(
            log,
            Entry("FATAL", farewell.message, self.origin(), farewell.sqlstate, farewell.detail, farewell.hint),
        )

    def origin(self) -> Origin:
        """Return the session for log lines. Before a client is admitted only its address is included, since its names
        are unverified.
        """
        host, port = self._stream.socket.peer or ("", None)
        if self._beginning is None or self._settings is None:
            return Origin(self.pid, host=host, port=port, started=self.born)
        name = self._settings.get("application_name")
        return Origin(self.pid, self._beginning.user, self._beginning.database, host, port, name, self.born)

    def note(self, message: str) -> None:
        report(log, Entry("LOG", message, self.origin()))

    @property
    def remote(self) -> str:
        """The client's address, in the form of PostgreSQL's messages about connections."""
        peer = self._stream.socket.peer
        return f"{peer[0]} port={peer[1]}" if peer is not None else "[local]"

    def authorize(self, beginning: Beginning) -> None:
        """Log that a client has been admitted."""
        name = beginning.settings.get("application_name")
        application = f" application_name={name}" if name else ""
        tls = self._stream.socket.ssl_object
        said = tls.cipher() if tls is not None else None
        cipher = "" if said is None else f" SSL enabled (protocol={said[1]}, cipher={said[0]}, bits={said[2]})"
        self.note(f"connection authorized: user={beginning.user} database={beginning.database}{application}{cipher}")

    def disconnect(self) -> None:
        """Log the end of a session whose client had been admitted."""
        beginning, settings = self._beginning, self._settings
        if beginning is None or settings is None or settings.get("log_disconnections") == "off":
            return
        seconds = time.time() - self.born
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(int(minutes), 60)
        self.note(
            f"disconnection: session time: {hour}:{minute:02}:{second:06.3f} user={beginning.user} "
            f"database={beginning.database} host={self.remote}"
        )

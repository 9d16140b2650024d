"""What the server itself reads of a session's settings, kept until a setting changes, and told to the client if reported.

Bounds and timeouts of a session, how values are written, what is worth a notice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.contracts.memory_share import page_bytes
from engine.contracts.sessions import Settings
from wire.dataclass import dataclass
from wire.types.text_settings import InputSettings, OutputSettings

#: The severities of notices in rising order; `client_min_messages` names the least that is sent.
_SEVERITIES: Final = ("DEBUG", "LOG", "NOTICE", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class View:
    """One reading of the settings. Times in seconds, 0 for never; sizes in bytes. statements_max: 0 for any number.

    statement_timeout: the shorter of what the session asks for and what its role has at most. log_min_duration: negative for none.
    progress: from one notice of how far a statement has come to the next.
    """

    output: OutputSettings
    page_bytes: int
    statement_timeout: float
    idle_timeout: float
    idle_in_transaction_timeout: float
    client_encoding: str
    severity_min: int
    statements_max: int
    log_min_duration: float
    progress: float


def _read(settings: Settings) -> View:
    return View(
        OutputSettings.read(settings.get),
        page_bytes(settings),
        _shorter(settings.time_ms("statement_timeout"), settings.time_ms("sluice.statement_timeout_max")) / 1000,
        settings.time_ms("idle_session_timeout") / 1000,
        settings.time_ms("idle_in_transaction_session_timeout") / 1000,
        settings.get("client_encoding"),
        _severity(settings.get("client_min_messages")),
        int(settings.get("sluice.statements_max")),
        settings.time_ms("log_min_duration_statement") / 1000,
        float(settings.get("sluice.progress")),
    )


def _shorter(one: float, other: float) -> float:
    """Of two times of which 0 is for ever."""
    return min(one, other) if one and other else one or other


def _severity(name: str) -> int:
    upper = "DEBUG" if name.startswith("debug") else name.upper()
    return _SEVERITIES.index(upper)


class SettingsView:
    """A session's settings as the server sees them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._version = -1
        self._told_version = -1
        self._view: View | None = None
        self._told: dict[str, str] = {}

    @property
    def now(self) -> View:
        """The present values."""
        if self._view is None or self._version != self._settings.version:
            self._version = self._settings.version
            self._view = _read(self._settings)
        return self._view

    def input(self, now_micros: int) -> InputSettings:
        return InputSettings.read(self._settings.get, now_micros)

    def wants(self, severity: str) -> bool:
        """Whether the client wants to see notices of this severity (INFO always)."""
        return severity == "INFO" or _severity(severity.lower()) >= self.now.severity_min

    def tell_changes(self, tell: Callable[[str, str], None]) -> None:
        """Call `tell` with each reported setting whose value is not what the client was told last."""
        if self._told_version == self._settings.version:
            return
        self._told_version = self._settings.version
        for name, value in self._settings.reported().items():
            if self._told.get(name) != value:
                self._told[name] = value
                tell(name, value)

"""The settings of a session that the server itself reads, cached until one changes, and reported to the client by
ParameterStatus.

They are the limits and timeouts of a session, the output format of values, and the minimum severity of notices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.common.tracing import find_traceparent
from engine.contracts.memory_share import page_bytes
from engine.contracts.session_settings import Settings
from engine.settings.session_settings import LOG_SEVERITIES
from wire.dataclass import dataclass
from wire.types.text_settings import InputSettings, OutputSettings

_LOG_RANKS: Final = {name: rank for rank, name in enumerate(LOG_SEVERITIES)} | {"debug": 4}
#: The severities of notices in rising order; `client_min_messages` is the lowest that is sent.
_SEVERITIES: Final = ("DEBUG", "LOG", "NOTICE", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class LogView:
    """The log settings of a session. Times in seconds, negative: never; ranks as in
    `engine.settings.session_settings.LOG_SEVERITIES`.

    statements: `log_statement`. verbosity: `log_error_verbosity`. plan_min_duration, plan_verbose: of auto_explain.
    """

    rank_min: int
    statement_rank_min: int
    verbosity: str
    statements: str
    durations: bool
    min_duration: float
    plan_min_duration: float
    plan_verbose: bool

    def has(self, severity: str) -> bool:
        """Return whether messages of this severity are logged."""
        return log_rank(severity) >= self.rank_min

    @property
    def has_durations(self) -> bool:
        """Whether some durations are logged, with or without the statement's text."""
        return self.durations or self.min_duration >= 0

    def is_slow(self, seconds: float) -> bool:
        return 0 <= self.min_duration <= seconds


@dataclass(frozen=True, slots=True)
class View:
    """One reading of the settings. Times in seconds, 0: never; sizes in bytes.
    statements_max: 0: without limit.

    statement_timeout: the shorter of the session's own and its role's maximum.
    progress: the interval between two progress notices.
    counts_statements, counts_utility: whether pg_stat_statements counts this session's statements, and those that are
        no queries.
    traceparent: of the client's trace (`engine.common.tracing`), from `sluice.traceparent` or else `application_name`.
    """

    output: OutputSettings
    page_bytes: int
    statement_timeout: float
    idle_timeout: float
    idle_in_transaction_timeout: float
    client_encoding: str
    severity_min: int
    statements_max: int
    progress: float
    log: LogView
    counts_statements: bool
    counts_utility: bool
    traceparent: str


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
        float(settings.get("sluice.progress")),
        _log_view(settings),
        settings.get("pg_stat_statements.track") != "none",
        settings.get("pg_stat_statements.track_utility") == "on",
        find_traceparent(settings.get("sluice.traceparent") or settings.get("application_name")),
    )


def _log_view(settings: Settings) -> LogView:
    return LogView(
        log_rank(settings.get("log_min_messages")),
        log_rank(settings.get("log_min_error_statement")),
        settings.get("log_error_verbosity"),
        settings.get("log_statement"),
        settings.get("log_duration") == "on",
        settings.time_ms("log_min_duration_statement") / 1000,
        settings.time_ms("auto_explain.log_min_duration") / 1000,
        settings.get("auto_explain.log_verbose") == "on",
    )


def log_rank(severity: str) -> int:
    """Return the rank of a message's severity in the log."""
    return _LOG_RANKS[severity.lower()]


def _shorter(one: float, other: float) -> float:
    """Return the shorter of two timeouts; 0 means no timeout."""
    return min(one, other) if one and other else one or other


def _severity(name: str) -> int:
    upper = "DEBUG" if name.startswith("debug") else name.upper()
    return _SEVERITIES.index(upper)


class SettingsView:
    """A session's settings as the server uses them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._version = -1
        self._told_version = -1
        self._view: View | None = None
        self._told: dict[str, str] = {}

    @property
    def now(self) -> View:
        """The current values."""
        if self._view is None or self._version != self._settings.version:
            self._version = self._settings.version
            self._view = _read(self._settings)
        return self._view

    def input(self, now_micros: int) -> InputSettings:
        return InputSettings.read(self._settings.get, now_micros)

    def wants(self, severity: str) -> bool:
        """Return whether the client wants notices of this severity (INFO always)."""
        return severity == "INFO" or _severity(severity.lower()) >= self.now.severity_min

    def tell_changes(self, tell: Callable[[str, str], None]) -> None:
        """Call `tell` with each reported setting whose value differs from the one that the client was told last."""
        if self._told_version == self._settings.version:
            return
        self._told_version = self._settings.version
        for name, value in self._settings.reported_settings().items():
            if self._told.get(name) != value:
                self._told[name] = value
                tell(name, value)

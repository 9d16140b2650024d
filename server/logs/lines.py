"""The member's log in the format of PostgreSQL's: severities, fields and their order, as text or as JSON.

A message about a client's session is an `Entry`, which `report` passes to the standard library's logging together with
the session. Every other record (of the member's modules and of libraries) is written in the same format, with the name
of its logger before the message. Text and JSON are two formatters over the same fields, so a program that reads
PostgreSQL 15's log reads this one.

Text from a client cannot imitate a line of the log: each of its lines but the first begins with a tab.

Source: PostgreSQL 15, elog.c (send_message_to_server_log, log_line_prefix, append_with_tabs), jsonlog.c
(write_jsonlog).
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, Literal

from wire.dataclass import dataclass

#: The level of LOG: statements are logged if requested, whatever `log_level` is. FATAL is above it, as in PostgreSQL.
LOG: Final = 45
_FATAL: Final = 46
_LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "LOG": LOG,
    "FATAL": _FATAL,
}
_BACKEND: Final = "client backend"
_MEMBER: Final = "member"
_UNKNOWN: Final = "[unknown]"
#: An escape of log_line_prefix: padding, then its letter.
_ESCAPE: Final = re.compile(r"%(-?\d*)(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Origin:
    """The session of an entry. user, database: empty until its client is admitted. host: empty if there is none.
    started: seconds since the epoch.
    """

    pid: int = 0
    user: str = ""
    database: str = ""
    host: str = ""
    port: int | None = None
    application_name: str = ""
    started: float = 0.0

    @property
    def session_id(self) -> str:
        return f"{int(self.started):x}.{self.pid:x}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the log. position: in `statement`, from 1. verbose: whether its SQLSTATE precedes the message."""

    severity: Literal["DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL"]
    message: str
    origin: Origin | None = None
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None
    context: str | None = None
    statement: str | None = None
    position: int | None = None
    verbose: bool = False

    @property
    def line(self) -> str:
        """The message with its position."""
        place = f" at character {self.position}" if self.position else ""
        return f"{self.sqlstate}: {self.message}{place}" if self.verbose else self.message + place


def report(log: logging.Logger, entry: Entry) -> None:
    log.log(_LEVELS.get(entry.severity, logging.INFO), "%s:  %s", entry.severity, entry.message, extra={"entry": entry})


def indent_lines(text: str) -> str:
    return text.replace("\r", " ").replace("\n", "\n\t")


_SEVERITIES: Final = (
    (logging.CRITICAL, "FATAL"), (logging.ERROR, "ERROR"), (logging.WARNING, "WARNING"), (logging.INFO, "LOG"),
)  # fmt: skip


def _entry_of(record: logging.LogRecord, formatter: logging.Formatter) -> Entry:
    """Return the entry of a record; one is made for a record that concerns no session."""
    if isinstance(entry := getattr(record, "entry", None), Entry):
        return entry
    severity: Any = next((name for level, name in _SEVERITIES if record.levelno >= level), "DEBUG")
    trace = formatter.formatException(record.exc_info) if record.exc_info else None
    return Entry(severity, f"{record.name}: {record.getMessage()}", context=trace)


def _moment(seconds: float, *, milliseconds: bool = True) -> str:
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03} UTC" if milliseconds else f"{at:%Y-%m-%d %H:%M:%S} UTC"


class _Lines:
    """Numbers the entries of the process. PostgreSQL numbers those of each session."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.started = time.time()

    def next(self) -> int:
        return next(self._numbers)


class TextFormatter(logging.Formatter):
    """`log_destination = stderr`. prefix: log_line_prefix."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix
        self._lines = _Lines()

    def format(self, record: logging.LogRecord) -> str:
        entry = _entry_of(record, self)
        prefix = self._prefix_of(record, entry)
        return "\n".join(f"{prefix}{title}:  {indent_lines(text)}" for title, text in _parts(entry))

    def _prefix_of(self, record: logging.LogRecord, entry: Entry) -> str:
        values, number, origin = _ESCAPES, self._lines.next(), entry.origin
        # The part after %q is left out if there is no session.
        before, found, after = self._prefix.partition("%q")
        prefix = before + after if found and origin is not None else before

        def expand_escape(match: re.Match[str]) -> str:
            width, letter = match.groups()
            if letter == "%":
                return "%"
            if letter not in values:
                return ""
            text = values[letter](_Moment(record, entry, origin or self._own_origin, origin is not None, number))
            return text.ljust(int(width[1:])) if width.startswith("-") and width[1:] else text.rjust(int(width or 0))

        return indent_lines(_ESCAPE.sub(expand_escape, prefix))

    @property
    def _own_origin(self) -> Origin:
        return Origin(os.getpid(), started=self._lines.started)


def _parts(entry: Entry) -> Iterator[tuple[str, str]]:
    yield entry.severity, entry.line
    for title, text in (
        ("DETAIL", entry.detail),
        ("HINT", entry.hint),
        ("CONTEXT", entry.context),
        ("STATEMENT", entry.statement),
    ):
        if text:
            yield title, text


@dataclass(frozen=True, slots=True)
class _Moment:
    """The values from which the parts of a prefix are made."""

    record: logging.LogRecord
    entry: Entry
    origin: Origin
    of_session: bool
    number: int

    def or_unknown(self, text: str) -> str:
        return text or (_UNKNOWN if self.of_session else "")

    @property
    def host(self) -> str:
        return self.origin.host or ("[local]" if self.of_session else "")


def _remote(moment: _Moment) -> str:
    port = moment.origin.port
    return moment.host if port is None else f"{moment.host}({port})"


#: The escapes of log_line_prefix that have a value here; the rest (command tags, transaction ids) are empty.
_ESCAPES: Final[Mapping[str, Callable[[_Moment], str]]] = {
    "a": lambda moment: moment.or_unknown(moment.origin.application_name),
    "b": lambda moment: _BACKEND if moment.of_session else _MEMBER,
    "c": lambda moment: moment.origin.session_id,
    "d": lambda moment: moment.or_unknown(moment.origin.database),
    "e": lambda moment: moment.entry.sqlstate,
    "h": lambda moment: moment.host,
    "l": lambda moment: str(moment.number),
    "m": lambda moment: _moment(moment.record.created),
    "n": lambda moment: f"{moment.record.created:.3f}",
    "p": lambda moment: str(moment.origin.pid),
    "r": _remote,
    "s": lambda moment: _moment(moment.origin.started, milliseconds=False),
    "t": lambda moment: _moment(moment.record.created, milliseconds=False),
    "u": lambda moment: moment.or_unknown(moment.origin.user),
}


class JsonFormatter(logging.Formatter):
    """`log_destination = jsonlog`: one object per line, with those of PostgreSQL's keys that exist here."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = _Lines()

    def format(self, record: logging.LogRecord) -> str:
        entry = _entry_of(record, self)
        origin = entry.origin or Origin(os.getpid(), started=self._lines.started)
        fields = {
            "timestamp": _moment(record.created),
            "user": origin.user,
            "dbname": origin.database,
            "pid": origin.pid,
            "remote_host": origin.host,
            "remote_port": origin.port,
            "session_id": origin.session_id,
            "line_num": self._lines.next(),
            "session_start": _moment(origin.started, milliseconds=False),
            "error_severity": entry.severity,
            "state_code": entry.sqlstate if entry.sqlstate != "00000" else None,
            "message": entry.message,
            "detail": entry.detail,
            "hint": entry.hint,
            "context": entry.context,
            "statement": entry.statement,
            "cursor_position": entry.position if entry.statement else None,
            "application_name": origin.application_name,
            "backend_type": _MEMBER if entry.origin is None else _BACKEND,
        }
        said = {name: value for name, value in fields.items() if value not in (None, "")}
        return json.dumps(said, ensure_ascii=False)


def formatter_of(destination: str, prefix: str) -> logging.Formatter:
    """Return a formatter. destination, prefix: `log_destination` and `log_line_prefix`."""
    return JsonFormatter() if destination == "jsonlog" else TextFormatter(prefix)

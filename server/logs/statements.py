"""Logs the statements of one session: before they run (`log_statement`), after they ran (durations, plans), and when
they fail.

Messages are PostgreSQL's to the letter, so that its log analysers understand them. Passwords in statements are masked.
The values of parameters are not logged, because they are data.

Source: PostgreSQL 15, postgres.c (check_log_statement, check_log_duration, exec_simple_query, exec_execute_message).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from engine.sql.log_class import log_class
from engine.sql.parser.masking import cut, mask_passwords, may_quote_password
from engine.sql.parser.nodes import statements as s
from server.cursors.portal import Portal
from server.cursors.prepared import NamedStatement, PreparedStatements
from server.logs.lines import Entry, Origin, report
from server.session.session_settings import LogView, SettingsView, log_rank
from wire.errors import Notice, SqlError

log: Final = logging.getLogger(__name__)

_CLASSES: Final = {"none": (), "ddl": ("ddl",), "mod": ("ddl", "mod"), "all": ("ddl", "mod", "all")}


class StatementLog:
    """See the module's docstring. prepared: the session's prepared statements. origin: returns the session's current
    origin.
    """

    def __init__(self, settings: SettingsView, prepared: PreparedStatements, origin: Callable[[], Origin]) -> None:
        self._settings = settings
        self._prepared = prepared
        self._origin = origin
        self._text = ""
        self._begun = 0.0
        #: Whether the text of the client's statement has been logged already.
        self._is_logged = False

    @property
    def _view(self) -> LogView:
        return self._settings.now.log

    def on_message(self, text: str) -> None:
        """Note that a message of the client has been taken. text: of its statements; empty if it has none."""
        self._text, self._begun, self._is_logged = text, time.monotonic(), False

    # -- log_statement -------------------------------------------------------------------------------------------

    def simple(self, statements: Sequence[s.Statement]) -> None:
        """Log the statements of a query string before they run."""
        if self._view.statements != "none" and any(map(self._is_asked_for, statements)):
            self._is_logged = True
            self._say(f"statement: {mask_passwords(self._text)}", detail=self._prepared_text(statements))

    def execute(self, portal: Portal, *, fetches: bool = False) -> None:
        """Log a portal before it runs. fetches: it is resumed."""
        if (
            self._view.statements != "none"
            and portal.command.statement is not None
            and self._is_asked_for(portal.command.statement)
        ):
            self._is_logged = True
            self._say(_execute_text(portal, fetches=fetches), detail=self._prepared_text((portal.command.statement,)))

    def _is_asked_for(self, statement: s.Statement) -> bool:
        if isinstance(statement, s.ExecuteStatement) and (named := self._named_statement(statement)) is not None:
            inner = named.command.statement
            return inner is None or log_class(inner) in _CLASSES[self._view.statements]
        return log_class(statement) in _CLASSES[self._view.statements]

    def _named_statement(self, statement: s.ExecuteStatement) -> NamedStatement | None:
        return self._prepared.find(statement.name)

    def _prepared_text(self, statements: Sequence[s.Statement]) -> str | None:
        """Return the detail line with the statement that an EXECUTE runs (errdetail_execute)."""
        for statement in statements:
            if isinstance(statement, s.ExecuteStatement) and (named := self._named_statement(statement)) is not None:
                return f"prepare: {mask_passwords(named.source)}"
        return None

    # -- durations -----------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Return the seconds since the client's message was taken."""
        return time.monotonic() - self._begun

    def simple_done(self) -> None:
        self._duration(self.seconds, lambda: f"statement: {mask_passwords(self._text)}")

    def step_done(self, step: str, statement: str, portal: str = "") -> None:
        """Log the duration of Parse or Bind. step: its name in the message."""
        if self._view.has_durations:
            self._duration(self.seconds, lambda: f"{step} {_name(statement, portal)}: {mask_passwords(self._text)}")

    def execute_done(self, portal: Portal, seconds: float | None = None, *, fetches: bool = False) -> None:
        """Log the duration of an execution. seconds: the duration, if it is not the time since the message."""
        if self._view.has_durations:
            self._duration(self.seconds if seconds is None else seconds, lambda: _execute_text(portal, fetches=fetches))

    def _duration(self, seconds: float, what: Callable[[], str]) -> None:
        view = self._view
        is_slow = view.is_slow(seconds)
        if not view.durations and not is_slow:
            return
        told = "" if self._is_logged or not is_slow else f"  {what()}"
        self._say(f"duration: {seconds * 1000:.3f} ms{told}")

    def plan(self, seconds: float, source: str, plan: str) -> None:
        """Log a query's plan, for auto_explain."""
        self._say(f"duration: {seconds * 1000:.3f} ms  plan:\nQuery Text: {mask_passwords(source)}\n{plan}")

    # -- errors and notices --------------------------------------------------------------------------------------

    def error(self, error: SqlError) -> None:
        view = self._view
        if not view.has(error.severity):
            return
        message, text = error.message, mask_passwords
        if may_quote_password(error.sqlstate, self._text):
            # Text after PASSWORD in an invalid statement may be a password, too.
            message, text = message.partition(" at or near ")[0], cut
        self._report(error, message, text, context=error.context)

    def notice(self, notice: Notice) -> None:
        if self._view.has(notice.severity):
            self._report(notice, notice.message, mask_passwords)

    def _report(
        self, told: SqlError | Notice, message: str, shown: Callable[[str], str], *, context: str | None = None
    ) -> None:
        view, severity = self._view, told.severity
        terse = view.verbosity == "terse"
        with_statement = bool(self._text) and log_rank(severity) >= view.statement_rank_min
        entry = Entry(
            severity,  # type: ignore[arg-type]
            message,
            self._origin(),
            told.sqlstate,
            None if terse else told.detail,
            None if terse else told.hint,
            None if terse else context,
            shown(self._text) if with_statement else None,
            told.position,
            view.verbosity == "verbose",
        )
        report(log, entry)

    def _say(self, message: str, detail: str | None = None) -> None:
        if self._view.has("log"):
            verbose = self._view.verbosity == "verbose"
            report(log, Entry("LOG", message, self._origin(), detail=detail, verbose=verbose))


def _name(statement: str, portal: str) -> str:
    return f"{statement or '<unnamed>'}/{portal}" if portal else statement or "<unnamed>"


def _execute_text(portal: Portal, *, fetches: bool = False) -> str:
    verb = "execute fetch from" if fetches else "execute"
    return f"{verb} {_name(portal.statement_name, portal.name)}: {mask_passwords(portal.source)}"

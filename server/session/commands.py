"""Execution of statements: statements of the engine are passed on to it, those of the session are executed here.

`prepare` analyses a statement, `columns` describes its result, and `execute` runs it with arguments. `execute` returns
an execution of the engine, of a cursor (FETCH) or of another prepared statement (EXECUTE), or `Done` if the statement
is complete when `execute` returns. The rules of transactions are in `server.session.transaction`; `TransactionControl`
acts on them.

Statements of the session are those that `engine.sql.parser.nodes.statements` marks *session*.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.session.engine_session import EngineSession
from engine.sql.binder.type_names import resolve_type
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyTo
from engine.statements.copy.partition import copy_partition
from server.cursors.formats import BINARY, TEXT
from server.cursors.portal import Portal, Portals
from server.cursors.prepared import Command, NamedStatement, PreparedStatements
from server.cursors.remote_cursors import Asker, Described
from server.session.arguments import evaluate
from server.session.cursor_statements import CursorStatements, rows_max
from server.session.done import Done
from server.session.error_positions import has_parameters, locate_errors, no_such_parameter, query_of
from server.session.notifications import Notifications, Said
from server.session.transaction_control import EXITS, TransactionControl
from wire.errors import (
    FeatureNotSupported,
    IndeterminateDatatype,
    Notice,
)

#: Statements that the engine does not analyse.
_OWN: Final = (
    s.Begin, s.Commit, s.Rollback, s.Savepoint, s.RollbackTo, s.Release, s.Fetch, s.CloseCursor, s.PrepareStatement,
    s.ExecuteStatement, s.Deallocate, s.Discard, s.Listen, s.Unlisten, s.Notify, s.PrepareTransaction,
)  # fmt: skip


class Commands:
    """One session's statements, portals and transaction, and the objects that execute them.

    warn: sends a notice to the client. asker: finds cursors of other sessions. undisturbed: awaits a call that no
    cancel may interrupt. announce: sends a transaction's notifications to all listeners. block: the transaction's
    state.
    """

    def __init__(
        self,
        engine: EngineSession,
        warn: Callable[[Notice], None],
        asker: Asker,
        undisturbed: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]],
        announce: Callable[[Sequence[Said]], None],
    ) -> None:
        self.engine = engine
        self._asker = asker
        self.notifications = Notifications()
        self.portals = Portals()
        self.prepared = PreparedStatements()
        self.transaction = TransactionControl(engine, self.portals, self.notifications, warn, undisturbed, announce)
        self.block = self.transaction.block
        self.cursors = CursorStatements(engine, self.portals, self.block, asker, self.open)
        self._warn = warn
        self._own: dict[type[s.Statement], Callable[[Any], Awaitable[Execution]]] = {
            s.Begin: self.transaction.begin,
            s.Commit: self.transaction.commit,
            s.Rollback: self.transaction.rollback,
            s.PrepareTransaction: self.transaction.prepare,
            s.Savepoint: self.transaction.savepoint,
            s.RollbackTo: self.transaction.rollback_to,
            s.Release: self.transaction.release,
            s.CloseCursor: self.cursors.close,
            s.PrepareStatement: self._prepare_statement,
            s.Deallocate: self._deallocate,
            s.Discard: self._discard,
            s.Listen: self._listen,
            s.Unlisten: self._unlisten,
            s.Notify: self._notify,
        }

    # -- analysis ------------------------------------------------------------------------------------------------

    async def prepare_simple(self, statement: s.Statement) -> Command:
        """Analyse a statement that gets no arguments. Raises SqlError."""
        try:
            command = await self.prepare(statement, ())
        except IndeterminateDatatype:
            if not has_parameters(statement):
                raise
            with locate_errors(query_of(statement)):
                raise no_such_parameter(statement) from None
        if command.parameters:
            with locate_errors(query_of(statement)):
                raise no_such_parameter(statement)
        return command

    async def prepare(self, statement: s.Statement, parameter_types: Sequence[int]) -> Command:
        """Analyse a statement. Raises SqlError, with positions in the whole query string."""
        with locate_errors(query_of(statement)):
            analysed = await self._analyse(statement, parameter_types)
        return Command(statement, analysed, await self._describe_remote_fetch(statement))

    async def _describe_remote_fetch(self, statement: s.Statement) -> Described | None:
        """Return the columns of a FETCH by query id, which only the session that owns the cursor knows."""
        if not isinstance(statement, s.Fetch) or statement.move or self.cursors.find(statement.cursor) is not None:
            return None
        far = self._asker.cursor(statement.cursor)
        return None if far is None else await far.describe()

    async def _analyse(self, statement: s.Statement, parameter_types: Sequence[int]) -> Prepared | None:
        if isinstance(statement, _OWN):
            return None
        if isinstance(statement, s.DeclareCursor):
            return await self.engine.prepare(statement.query, parameter_types)
        if isinstance(statement, s.Explain) and isinstance(statement.inner, s.ExecuteStatement):
            named = self.prepared.get(statement.inner.name).command
            if named.statement is not None:
                oids = [pg.oid for pg in named.parameters]
                return await self.engine.prepare(replace(statement, inner=named.statement), oids)
        return await self.engine.prepare(statement, parameter_types)

    def columns(self, command: Command) -> tuple[ResultColumn, ...] | None:
        """Return the columns that the command's result would have now; None if it has no rows, or if they are not
        known yet.
        """
        match command.statement:
            case s.Fetch(move=False, cursor=name):
                if command.far is not None:
                    return command.far.columns
                portal = self.cursors.find(name)
                return portal.columns if portal else None
            case s.ExecuteStatement(name=name):
                named = self.prepared.find(name)
                return named.command.prepared.columns if named and named.command.prepared else None
            case s.DeclareCursor():
                return None
        return command.prepared.columns if command.prepared else None

    def simple_format(self, command: Command) -> int:
        """Return the format of a simple query's columns: text, except for FETCH from a BINARY cursor."""
        if not isinstance(command.statement, s.Fetch):
            return TEXT
        cursor = command.far or self.cursors.find(command.statement.cursor)
        return BINARY if cursor is not None and cursor.binary else TEXT

    # -- execution -----------------------------------------------------------------------------------------------

    async def execute(self, command: Command, arguments: Sequence[Any]) -> Execution:
        """Run a command. A transaction must have begun. Raises SqlError."""
        statement = command.statement
        assert statement is not None, "an empty query string is the session's"
        if not isinstance(statement, EXITS):
            self.block.require_usable()
        match statement:
            case s.ExecuteStatement():
                return await self._execute(statement)
            case s.DeclareCursor():
                return await self.cursors.declare(statement, command, arguments)
            case s.Fetch():
                return await self.cursors.fetch(statement, command.far)
            case CopyTo() if (partition := copy_partition(statement)) is not None:
                return await self.cursors.copy_partition(statement, partition)
            case s.Explain(inner=s.ExecuteStatement() as inner):
                arguments = await self._arguments(inner)
            case s.Reindex(kind=kind, concurrently=concurrently) if concurrently or kind not in ("index", "table"):
                self.block.require_no_block(f"REINDEX {'CONCURRENTLY' if concurrently else kind.upper()}")
            case s.Vacuum():
                self.block.require_no_block("VACUUM")
            case s.Lock():
                self.block.require_block("LOCK TABLE")
            case s.SetConstraints():
                self._warn_outside_block("SET CONSTRAINTS")
            case s.SetVariable(local=True, name=name):
                self._warn_outside_block("SET TRANSACTION" if name.startswith("transaction_") else "SET LOCAL")
        if own := self._own.get(type(statement)):
            return await own(statement)
        assert command.prepared is not None
        with locate_errors(query_of(statement)):
            return await self.engine.execute(command.prepared, arguments, single=self.block.single)

    def takes_rows(self, command: Command) -> bool:
        """Return whether many executions of a command may be run as one (`execute_rows`)."""
        return command.prepared is not None and self.engine.takes_rows(command.prepared)

    async def execute_rows(self, command: Command, rows: Sequence[Sequence[Any]]) -> bool:
        """Run a command once for each of these arguments, as one statement. Returns False if nothing was done and each
        must be run by itself, which finds the error of any of them.
        """
        assert command.prepared is not None, "asked before"
        self.block.require_usable()
        return await self.engine.execute_rows(command.prepared, rows)

    def _warn_outside_block(self, what: str) -> None:
        if warning := self.block.outside_block_warning(what):
            self._warn(warning)

    async def open(self, portal: Portal) -> None:
        """Begin to run a bound portal."""
        execution = await self.execute(portal.command, portal.arguments)
        if execution.columns is not None:
            portal.columns = execution.columns
        portal.start(execution, rows_max=rows_max(self.engine))

    # -- prepared statements -------------------------------------------------------------------------------------

    async def _prepare_statement(self, statement: s.PrepareStatement) -> Execution:
        self.prepared.require_free(statement.name)
        with locate_errors(statement):
            oids = [resolve_type(node).pg.oid for node in statement.types if isinstance(node, exp.DataType)]
        command = await self.prepare(statement.inner, oids)
        self.prepared.add(NamedStatement(statement.name, command, statement.text, from_sql=True))
        return Done("PREPARE")

    async def _arguments(self, statement: s.ExecuteStatement) -> tuple[object, ...]:
        parameters = self.prepared.get(statement.name).command.parameters
        with locate_errors(statement):
            return await evaluate(self.engine, statement, parameters)

    async def _execute(self, statement: s.ExecuteStatement) -> Execution:
        command = self.prepared.get(statement.name).command
        arguments = await self._arguments(statement)
        if command.statement is None or isinstance(command.statement, s.ExecuteStatement):
            raise FeatureNotSupported("not supported: EXECUTE of a statement that is empty or an EXECUTE itself")
        return await self.execute(command, arguments)

    async def _deallocate(self, statement: s.Deallocate) -> Execution:
        if statement.name is None:
            self.prepared.drop_all()
            return Done("DEALLOCATE ALL")
        self.prepared.get(statement.name)
        self.prepared.drop(statement.name)
        return Done("DEALLOCATE")

    async def _discard(self, statement: s.Discard) -> Execution:
        if statement.target == "all":
            self.block.require_no_block("DISCARD ALL")
            for portal in self.portals:
                if portal.cursor is not None:
                    await self.portals.close(portal.name)
            self.prepared.drop_all()
            self.notifications.unlisten(None)
        await self.engine.discard(statement.target)
        return Done(f"DISCARD {statement.target.upper()}")

    # -- notifications -------------------------------------------------------------------------------------------

    async def _listen(self, statement: s.Listen) -> Execution:
        self.notifications.listen(statement.channel)
        return Done("LISTEN")

    async def _unlisten(self, statement: s.Unlisten) -> Execution:
        self.notifications.unlisten(statement.channel)
        return Done("UNLISTEN")

    async def _notify(self, statement: s.Notify) -> Execution:
        self.notifications.notify(statement.channel, statement.payload)
        return Done("NOTIFY")

    # -- shutdown ------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the session: stop and release everything, and roll back. Prepared statements are dropped now: the objects of
        a session refer to each other, and exist until a full collection.
        """
        await self.portals.close_all()
        if self.block.open:
            await self.transaction.roll_back_engine()
        self.prepared.drop_all()
        await self.engine.close()

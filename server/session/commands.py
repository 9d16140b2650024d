"""Execution of statements: those of the engine are passed on to it, those of the session are executed here.

`prepare` analyses a statement, `columns` describes its result, `execute` runs it with arguments and returns an execution of
the engine, of a cursor (FETCH) or of another prepared statement (EXECUTE), or `Done` if the statement is complete when `execute`
returns. The rules of transactions are in `server.session.transaction`; this module acts on them.

Statements of the session are those that `engine.sql.parser.nodes.statements` marks *session*.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from engine.contracts.batch_stream import BatchStream
from engine.contracts.memory_share import page_bytes
from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.session.engine_session import EngineSession
from engine.sql.binder.type_names import resolve_type
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes import statements as s
from server.cursors.cursor import Run
from server.cursors.formats import BINARY, TEXT
from server.cursors.portal import Portal, Portals
from server.cursors.prepared import Command, NamedStatement, PreparedStatements
from server.cursors.remote_cursors import Asker, Described, FarCursor, FarFetching
from server.session.arguments import evaluate
from server.session.notifications import Notifications, Said
from server.session.transaction import Block, Ending, TransactionBlock
from wire.errors import (
    FeatureNotSupported,
    InvalidCursorName,
    Notice,
    ObjectNotInPrerequisiteState,
    SqlError,
    UndefinedParameter,
)

#: Statements that are let through in a failed transaction block.
EXITS: Final = (s.Commit, s.Rollback, s.RollbackTo, s.PrepareTransaction)
#: Statements in which the engine has no part.
_OWN: Final = (
    s.Begin, s.Commit, s.Rollback, s.Savepoint, s.RollbackTo, s.Release, s.Fetch, s.CloseCursor, s.PrepareStatement,
    s.ExecuteStatement, s.Deallocate, s.Discard, s.Listen, s.Unlisten, s.Notify, s.PrepareTransaction,
)  # fmt: skip


class Done:
    """The execution (`engine.contracts.sessions.Execution`) of a statement that is over and had no rows."""

    query: Final = None

    def __init__(self, tag: str) -> None:
        self.columns: tuple[ResultColumn, ...] | None = None
        self.stream: BatchStream = self
        self._tag = tag

    async def next_batch(self) -> pa.RecordBatch | None:
        return None

    def statistics(self) -> Mapping[str, int]:
        return {"rows": 0, "bytes": 0, "batches": 0}

    def tag(self, rows: int) -> str:
        del rows
        return self._tag

    async def close(self) -> None:
        """Nothing is left of it."""


class Fetching:
    """The execution of a FETCH: rows of a cursor, which it moves and does not own."""

    query: Final = None

    def __init__(self, portal: Portal, run: Run) -> None:
        self.columns = portal.columns
        self.stream: BatchStream = self
        self.portal = portal
        self._run = run

    async def next_batch(self) -> pa.RecordBatch | None:
        try:
            return await self._run.next_batch()
        except BaseException:
            # Where it stands is not known any more; a held cursor survives the error, but must not skip rows.
            self.portal.fail()
            raise

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self._run.rows, "bytes": 0, "batches": 0}

    def tag(self, rows: int) -> str:
        return f"FETCH {rows}"

    async def close(self) -> None:
        """The cursor stays where it is."""


class Commands:
    """One session's statements, portals and transaction, and what acts on them.

    warn: tells the client a notice. asker: finds cursors of other sessions. undisturbed: awaits a call that no cancel is to
    interrupt. announce: tells all listeners what a transaction said.
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
        self._undisturbed = undisturbed
        self._announce = announce
        self._asker = asker
        self.block = TransactionBlock()
        self.notifications = Notifications()
        self.portals = Portals()
        self.prepared = PreparedStatements()
        self._warn = warn
        self._own: dict[type[s.Statement], Callable[[Any], Awaitable[Execution]]] = {
            s.Begin: self._begin,
            s.Commit: self._commit,
            s.Rollback: self._rollback,
            s.PrepareTransaction: self._prepare_transaction,
            s.Savepoint: self._savepoint,
            s.RollbackTo: self._rollback_to,
            s.Release: self._release,
            s.CloseCursor: self._close_cursor,
            s.PrepareStatement: self._prepare_statement,
            s.Deallocate: self._deallocate,
            s.Discard: self._discard,
            s.Listen: self._listen,
            s.Unlisten: self._unlisten,
            s.Notify: self._notify,
        }

    # -- analysis ------------------------------------------------------------------------------------------------

    async def prepare_simple(self, statement: s.Statement) -> Command:
        """Analyse a statement that will get no arguments. Raises SqlError."""
        command = await self.prepare(statement, ())
        if command.parameters:
            with locate_errors(_query_of(statement)):
                raise no_such_parameter(statement)
        return command

    async def prepare(self, statement: s.Statement, parameter_types: Sequence[int]) -> Command:
        """Analyse a statement. Raises SqlError, with positions in the whole query string."""
        with locate_errors(_query_of(statement)):
            analysed = await self._analyse(statement, parameter_types)
        return Command(statement, analysed, await self._describe_remote_fetch(statement))

    async def _describe_remote_fetch(self, statement: s.Statement) -> Described | None:
        """Return the columns of a FETCH by query id. Only the session that has the cursor knows them."""
        if not isinstance(statement, s.Fetch) or statement.move or self._find_cursor(statement.cursor) is not None:
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
        """Return the columns of the command's result if it ran now; None: no rows, or not known yet."""
        match command.statement:
            case s.Fetch(move=False, cursor=name):
                if command.far is not None:
                    return command.far.columns
                portal = self._find_cursor(name)
                return portal.columns if portal else None
            case s.ExecuteStatement(name=name):
                named = self.prepared.find(name)
                return named.command.prepared.columns if named and named.command.prepared else None
            case s.DeclareCursor():
                return None
        return command.prepared.columns if command.prepared else None

    def simple_format(self, command: Command) -> int:
        """The format of a simple query's columns: text, but for FETCH from a BINARY cursor."""
        if not isinstance(command.statement, s.Fetch):
            return TEXT
        cursor = command.far or self._find_cursor(command.statement.cursor)
        return BINARY if cursor is not None and cursor.binary else TEXT

    # -- execution -----------------------------------------------------------------------------------------------

    async def execute(self, command: Command, arguments: Sequence[Any]) -> Execution:
        """Run a command. Raises SqlError; a transaction has begun."""
        statement = command.statement
        assert statement is not None, "an empty query string is the session's"
        if not isinstance(statement, EXITS):
            self.block.require_usable()
        match statement:
            case s.ExecuteStatement():
                return await self._execute(statement)
            case s.DeclareCursor():
                return await self._declare(statement, command, arguments)
            case s.Fetch():
                return await self._fetch(statement, command.far)
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
        with locate_errors(_query_of(statement)):
            return await self.engine.execute(command.prepared, arguments, single=self.block.single)

    def takes_rows(self, command: Command) -> bool:
        """Whether many executions of a command may be run as one (`execute_rows`)."""
        return command.prepared is not None and self.engine.takes_rows(command.prepared)

    async def execute_rows(self, command: Command, rows: Sequence[Sequence[Any]]) -> bool:
        """Run a command once for each of these arguments, all at once; False where nothing was done and each has to be run by
        itself, which tells what is wrong with one of them."""
        assert command.prepared is not None, "asked before"
        self.block.require_usable()
        return await self.engine.execute_rows(command.prepared, rows)

    def _warn_outside_block(self, what: str) -> None:
        if warning := self.block.outside_block_warning(what):
            self._warn(warning)

    # -- transactions --------------------------------------------------------------------------------------------

    def start_transaction(self, *, shared: bool) -> None:
        """Before a statement: begin, unless a transaction is open."""
        if self.block.start(shared=shared):
            self.engine.begin()

    async def finish_statement(self) -> None:
        """After the last statement of a simple query, and at Sync: commit a transaction that nobody began."""
        if self.block.implicit:
            await self._end(commit=True)

    async def fail(self) -> None:
        """After an error: roll back what nobody began; an explicit block waits, with what cannot be used any more gone."""
        if self.block.fail():
            await self._end(commit=False)
        else:
            await self.portals.fail(self.block.depth - 1)

    async def _end(self, *, commit: bool) -> None:
        if commit:
            await self._commit_engine()
        else:
            self._roll_back_engine()
        await self.portals.end_transaction()

    async def _commit_engine(self) -> None:
        try:
            await self.portals.hold()
            await self._undisturbed(self.engine.commit)
        except BaseException:
            # A commit that failed is a rollback, of an explicit block too.
            self._roll_back_engine()
            await self.portals.end_transaction()
            raise
        self.block.end()
        if said := self.notifications.commit():
            self._announce(said)

    def _roll_back_engine(self) -> None:
        self.block.end()
        self.notifications.rollback()
        self.engine.rollback()

    async def _begin(self, statement: s.Begin) -> Execution:
        if warning := self.block.begin():
            self._warn(warning)
        for name, value in statement.modes:
            self.engine.settings.set(name, value, local=True)
        return Done("START TRANSACTION" if statement.text.lstrip()[:5].lower() == "start" else "BEGIN")

    async def _commit(self, statement: s.Commit) -> Execution:
        return await self._finish(self.block.commit(chain=statement.chain))

    async def _rollback(self, statement: s.Rollback) -> Execution:
        return await self._finish(self.block.rollback(chain=statement.chain))

    async def _prepare_transaction(self, _statement: s.PrepareTransaction) -> Execution:
        """Refuse it as with max_prepared_transactions = 0: the transaction ends all the same (twophase.c, MarkAsPreparing)."""
        prepares = self.block.block is Block.EXPLICIT
        done = await self._finish(self.block.rollback(chain=False))
        if not prepares:
            return done
        raise ObjectNotInPrerequisiteState(
            "prepared transactions are disabled", hint="Set max_prepared_transactions to a nonzero value."
        )

    async def _finish(self, ending: Ending) -> Execution:
        if ending.warning:
            self._warn(ending.warning)
        names = ("transaction_isolation", "transaction_read_only", "transaction_deferrable") if ending.chain else ()
        modes = [(name, self.engine.settings.get(name)) for name in names]
        await self._end(commit=ending.commit)
        if ending.chain:
            self.start_transaction(shared=False)
            self.block.begin()
            for name, value in modes:
                self.engine.settings.set(name, value, local=True)
        return Done(ending.tag)

    async def _savepoint(self, statement: s.Savepoint) -> Execution:
        self.block.savepoint(statement.name)
        self.engine.savepoint(statement.name)
        self.notifications.savepoint()
        return Done("SAVEPOINT")

    async def _release(self, statement: s.Release) -> Execution:
        depth = self.block.release(statement.name)
        self.engine.release(statement.name)
        self.notifications.release(depth)
        self.portals.release_savepoint(depth)
        return Done("RELEASE")

    async def _rollback_to(self, statement: s.RollbackTo) -> Execution:
        depth = self.block.rollback_to(statement.name)
        self.engine.rollback_to(statement.name)
        self.notifications.rollback_to(depth)
        await self.portals.end_savepoint(depth)
        return Done("ROLLBACK")

    # -- cursors -------------------------------------------------------------------------------------------------

    async def _declare(self, statement: s.DeclareCursor, command: Command, arguments: Sequence[Any]) -> Execution:
        if not statement.name:
            raise InvalidCursorName(f'invalid cursor name "{statement.name}": must not be empty')
        if not statement.hold:
            self.block.require_block("DECLARE CURSOR")
        self.portals.require_free(statement.name)
        assert command.prepared is not None
        with locate_errors(statement.query):
            execution = await self.engine.execute(command.prepared, arguments)
        columns = execution.columns or ()
        portal = Portal(
            statement.name,
            Command(statement.query, command.prepared),
            columns,
            formats=(BINARY if statement.binary else TEXT,) * len(columns),
            depth=self.block.depth,
            source=statement.text,
            hold=statement.hold,
            binary=statement.binary,
        )
        portal.start(execution, statement.scroll, rows_max=self._rows_max)
        if (record := self.engine.record) is not None:
            portal.record, record.portal, record.position = record, portal.name, portal.cursor
            self.engine.record = None
        self.portals.add(portal)
        return Done("DECLARE CURSOR")

    def _find_cursor(self, name: str) -> Portal | None:
        """A cursor of this session by its name or by its query's id."""
        return self.portals.find(name) or self.portals.find_query(name)

    def _get_cursor(self, name: str) -> Portal | FarCursor:
        """Raises InvalidCursorName where it can be no other session's either."""
        return self._find_cursor(name) or self._asker.cursor(name) or self.portals.get(name, "cursor")

    async def _fetch(self, statement: s.Fetch, described: Described | None) -> Execution:
        portal = self._get_cursor(statement.cursor)
        if isinstance(portal, FarCursor):
            return await self._fetch_far(statement, portal, described)
        portal.require_runnable()
        if portal.cursor is None:
            await self.open(portal)
        if portal.cursor is None or portal.columns is None:
            raise ObjectNotInPrerequisiteState(f'portal "{portal.name}" cannot be run')
        try:
            if statement.move:
                return Done(f"MOVE {await portal.cursor.move(statement.direction, statement.count)}")
            return Fetching(portal, await portal.cursor.fetch(statement.direction, statement.count))
        except BaseException:
            portal.fail()
            raise

    async def _fetch_far(self, statement: s.Fetch, cursor: FarCursor, described: Described | None) -> Execution:
        if statement.move:
            return Done(f"MOVE {await cursor.move(statement.direction, statement.count)}")
        columns = (described or await cursor.describe()).columns
        size = page_bytes(self.engine.settings)
        return FarFetching(cursor, columns, statement.direction, statement.count, size)

    @property
    def _rows_max(self) -> int:
        return int(self.engine.settings.get("sluice.rows_max"))

    async def open(self, portal: Portal) -> None:
        """Begin to run a portal that was bound."""
        execution = await self.execute(portal.command, portal.arguments)
        if execution.columns is not None:
            portal.columns = execution.columns
        portal.start(execution, rows_max=self._rows_max)

    async def _close_cursor(self, statement: s.CloseCursor) -> Execution:
        if statement.name is None:
            # Everything but the portal that this very statement runs in, which has no cursor yet.
            for portal in self.portals:
                if portal.cursor is not None:
                    await self.portals.close(portal.name)
            return Done("CLOSE CURSOR ALL")
        cursor = self._get_cursor(statement.name)
        if isinstance(cursor, FarCursor):
            await cursor.close()
        else:
            await self.portals.close(cursor.name)
        return Done("CLOSE CURSOR")

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

    # -- the end -------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """The session ends: stop and release everything, and roll back."""
        await self.portals.close_all()
        if self.block.open:
            self._roll_back_engine()
        await self.engine.close()


def _query_of(statement: s.Statement) -> s.Statement:
    """The query inside a statement, whose text the engine's positions count in; else the statement itself."""
    match statement:
        case (
            s.DeclareCursor(query=query)
            | s.CreateView(query=query)
            | s.CreateTableAs(query=query)
            | s.CreateMaterializedView(query=query)
        ):
            return query
        case s.Explain(inner=inner):
            return _query_of(inner)
    return statement


def no_such_parameter(statement: s.Statement) -> UndefinedParameter:
    """Return the error of a simple query with a parameter, which cannot get a value. It names the first parameter."""
    query = _query_of(statement)
    trees = _trees(query) if isinstance(query, s.Query | s.MutationStatement) else ()
    nodes = (node for tree in trees for node in tree.find_all(exp.Parameter))
    first = min(nodes, key=position, default=None)
    if first is None:
        return UndefinedParameter("there is no parameter $1")
    return UndefinedParameter(f"there is no parameter ${first.name}", position=cursor(position(first)))


def _trees(part: object) -> Iterator[exp.Expression]:
    """The trees of a statement, those in its lists and parts too."""
    if isinstance(part, exp.Expression):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _trees(item)
    elif is_dataclass(part):
        for item in fields(part):
            yield from _trees(getattr(part, item.name))


@contextmanager
def locate_errors(statement: s.Statement) -> Iterator[None]:
    """Errors of a statement point into the query string that it is part of, not into the statement."""
    try:
        yield
    except SqlError as error:
        if error.position is not None:
            error.position += statement.offset
        raise

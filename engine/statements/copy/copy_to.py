"""COPY TO: run a query and write its rows in another format, to the client or into a file of the server (copyto.c).

This member writes a file from the rows as they arrive, on whatever engine and members they are produced. The file
appears under its name only when it is complete. The parts of a folder (a path that ends with /) are written where the
rows are produced (`folder_target`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table, View
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import Copies, CopyProgress
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.session.context.statement_cache import PlannedQuery
from engine.sql.binder.mutations.copying import require_copied
from engine.sql.binder.scope import BindContext
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyTo
from engine.sql.parser.parse import parse
from engine.statements.copy.file_target import FileTarget, lake_form
from engine.statements.copy.folder_target import CopiedFolder, require_folder_form
from engine.statements.copy.options import CopyFormat, copy_format, written_form
from engine.statements.query import run as query_run
from wire.errors import (
    DuplicateColumn,
    SqlError,
    UndefinedColumn,
    UndefinedParameter,
    UndefinedTable,
    WrongObjectType,
)
from wire.types.output import EncodedColumn

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext


class CopyToExecution:
    """An `engine.contracts.sessions.Execution` whose rows are to be copied. encoded: their columns. names: the names
    that a header shows. file: the target, if it is a file.

    progress: kept up to date by the writer of the rows.
    """

    def __init__(
        self, inner: Execution, form: CopyFormat, file: FileTarget | None, copies: Copies, progress: CopyProgress
    ) -> None:
        self.progress = copies.begin(progress)
        self._copies = copies
        self.file = file
        self.columns: tuple[ResultColumn, ...] | None = None
        self.stream: BatchStream = inner.stream
        self.format = form
        columns = inner.columns or ()
        self.names = tuple(column.name for column in columns)
        self.encoded = tuple(EncodedColumn(c.type.pg, c.type.typmod, c.type.display, c.type.minimum) for c in columns)
        self._inner = inner

    @property
    def query(self) -> QueryId | None:
        return self._inner.query

    def tag(self, rows: int) -> str:
        return f"COPY {rows}"

    async def close(self) -> None:
        self._copies.end(self.progress)
        await self._inner.close()


async def copy_to(
    session: SessionContext, engine: SessionServices, statement: CopyTo
) -> CopyToExecution | CopiedFolder:
    """Start the query whose rows are copied. Raises SqlError."""
    query, relation = statement.query, 0
    json = written_form(statement) == "json"
    if query is None:
        context, _ = session.environment.context((), {})
        tree, relation = await engine.in_operation_pool(lambda: _rows_of(statement, context))
        # No query has such a text, so it has an entry of its own in the statement cache.
        query = s.Query(tree=tree, text=statement.text)
    query = _as_json(query) if json else query
    with _within(statement, query):
        planned = await query_run.plan(session, engine, query, (), {})
        if planned.parameters:
            raise _no_parameter(query)
    form = copy_format(statement, [column.name for column in planned.columns])
    if statement.file is not None and statement.file.endswith("/"):
        planned = await query_run.with_current_rows(session, engine, planned)
        return await _to_folder(session, engine, statement.file, form, planned, relation)
    prepared = Prepared(query, (), planned.columns, planned)
    file = None if statement.file is None else await _target(engine, statement.file, form, planned.columns)
    progress = CopyProgress(
        session.client.backend_pid, session.database, relation, "COPY TO", "PIPE" if file is None else "FILE"
    )
    return CopyToExecution(
        await query_run.run_query(session, engine, prepared, query, ()), form, file, engine.copies, progress
    )


def copy_rows_to(
    session: SessionContext, engine: SessionServices, statement: CopyTo, rows: Execution
) -> CopyToExecution:
    """Return a COPY to the client of the rows of another session's query. Raises SqlError for invalid options."""
    form = copy_format(statement, [column.name for column in rows.columns or ()])
    progress = CopyProgress(session.client.backend_pid, session.database, 0, "COPY TO", "PIPE")
    return CopyToExecution(rows, form, None, engine.copies, progress)


async def _to_folder(
    session: SessionContext, engine: SessionServices, file: str, form: CopyFormat, planned: PlannedQuery, relation: int
) -> CopiedFolder:
    session.authority().require(planned.requirements)
    engine.initiation.require_for_query(planned.reads)
    await query_run.guard(session, engine, planned.locks, planned.reads)
    require_folder_form(form.form, planned.columns)
    lake_form(form.form, planned.columns)
    target: Path = await engine.in_operation_pool(lambda: engine.copy_roots.target_folder(file))
    progress = CopyProgress(session.client.backend_pid, session.database, relation, "COPY TO", "FILE")
    return CopiedFolder(session, engine, planned.plan, planned.columns, target, file, form, progress)


async def _target(engine: SessionServices, file: str, form: CopyFormat, columns: Sequence[ResultColumn]) -> FileTarget:
    def check_target() -> FileTarget:
        path = engine.copy_roots.target(file)
        return FileTarget(path, file, lake_form(form.form, columns), engine.in_writer_pool)

    return await engine.in_operation_pool(check_target)


def _as_json(query: s.Query) -> s.Query:
    """Return the query with its rows as JSON objects in one text column."""
    [template] = parse("select row_to_json(q.*)::text from (select 1) q")
    assert isinstance(template, s.Query)
    inner = template.tree.find(exp.Subquery)
    assert inner is not None, "as it stands there"
    inner.set("this", query.tree.copy())
    # The text is the key of cached plans, and no other query has one that begins like this.
    return s.Query(tree=template.tree, text=f"json: {query.text}", offset=query.offset)


@contextmanager
def _within(statement: CopyTo, query: s.Query) -> Iterator[None]:
    """Make the positions in the query's errors refer to the statement; a query that was generated has none."""
    try:
        yield
    except SqlError as error:
        if error.position is not None:
            written = statement.query is not None
            error.position = error.position + query.offset - statement.offset if written else None
        raise


def _no_parameter(query: s.Query) -> SqlError:
    first = min(query.tree.find_all(exp.Parameter), key=position)
    return UndefinedParameter(f"there is no parameter ${first.name}", position=cursor(position(first)))


def _rows_of(statement: CopyTo, context: BindContext) -> tuple[exp.Select, int]:
    """Return `SELECT columns FROM table`, and the table's OID. Raises UndefinedTable, WrongObjectType, UndefinedColumn,
    DuplicateColumn.
    """
    table = statement.table
    assert table is not None, "COPY has a table or a query"
    schema, name = table.text("db") or None, table.name
    found = context.catalog.resolve(schema, name, context.search_path)
    if found is None:
        raise UndefinedTable(f'relation "{f"{schema}.{name}" if schema else name}" does not exist')
    kind = _uncopyable_kind(found)
    if kind is not None:
        raise WrongObjectType(f'cannot copy from {kind} "{name}"', hint="Try the COPY (SELECT ...) TO variant.")
    generated = {c.name: c for c in found.columns if c.generated} if isinstance(found, Table) else {}
    names = [column.name for column in found.columns]
    if statement.columns is not None:
        wanted = [column.name for column in statement.columns]
        for number, column in enumerate(wanted):
            if column not in names:
                raise UndefinedColumn(f'column "{column}" of relation "{name}" does not exist')
            if column in wanted[:number]:
                raise DuplicateColumn(f'column "{column}" specified more than once')
            if column in generated:
                require_copied(generated[column])
        names = wanted
    else:
        names = [name for name in names if name not in generated]
    columns = [exp.Column(this=exp.Identifier(this=column, quoted=True)) for column in names]
    return exp.Select(expressions=columns, from_=exp.From(expressions=[table.copy()])), found.oid


def _uncopyable_kind(found: Table | View | SystemTable) -> str | None:
    """Return the kind of a relation that COPY refuses, because only a query returns its rows; None for one that it
    copies.
    """
    if isinstance(found, View):
        return "view"
    if isinstance(found, Table) and found.query is not None:
        return "materialized view"
    if isinstance(found, Table) and found.storage is None:
        return "foreign table"
    return None

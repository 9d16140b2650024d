"""DDL statements that involve rows, a query, or Spark: CREATE VIEW, CREATE TABLE AS, materialized views, ALTER TABLE,
IMPORT FOREIGN SCHEMA.

The definition changes in the session's catalog first. Then rows are written, as by INSERT, or verified by queries. This
module undoes nothing: if a later step fails, the statement's transaction is rolled back.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import Table, View
from engine.contracts.sessions import Prepared
from engine.lakes.foreign_files import refresh
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.domains import AlterDomain
from engine.statements.ddl import foreign_schema, materialized
from engine.statements.ddl.alter_table import alter_table
from engine.statements.ddl.constraint_scan import Question
from engine.statements.ddl.domain import alter_domain
from engine.statements.ddl.filling import BEFORE, insert_statement, reading_before
from engine.statements.ddl.index import create_index
from engine.statements.ddl.table import create_table_as
from engine.statements.ddl.view import create_view
from engine.statements.dml.planned_mutation import plan_mutation
from engine.statements.dml.shown_columns import shown_columns
from engine.statements.dml.statement import run_mutation
from engine.statements.query import run as query_run
from engine.statements.shared.named_tables import NamedTables
from wire.errors import FeatureNotSupported, UniqueViolation
from wire.types import pg_types as t
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext


async def run(session: SessionContext, engine: SessionServices, prepared: Prepared, arguments: Sequence[Any]) -> str:
    """Run one of `STATEMENTS`, and return its command tag. Raises SqlError. arguments: only CREATE TABLE AS takes any."""
    statement = prepared.statement
    if isinstance(statement, s.CreateTableAs):
        return await _create_table_as(session, engine, statement, prepared.parameters, arguments)
    return await _DOERS[type(statement)](session, engine, statement)


# -- queries that become relations -----------------------------------------------------------------------------------


async def _create_view(session: SessionContext, engine: SessionServices, statement: s.CreateView) -> str:
    planned = await query_run.plan(session, engine, statement.query, (), {})
    if planned.parameters:
        raise FeatureNotSupported("views must not contain parameters")
    path = session.search_path()
    definer = session.environment.definer()
    await engine.in_operation_pool(
        lambda: create_view(statement, planned, session.catalog, path, definer.notify, definer.authority)
    )
    return "CREATE VIEW"


async def _create_table_as(
    session: SessionContext,
    engine: SessionServices,
    statement: s.CreateTableAs,
    parameters: Sequence[t.PgType],
    arguments: Sequence[Any],
) -> str:
    planned = await query_run.plan(session, engine, statement.query, tuple(p.oid for p in parameters), {})
    definer = session.environment.definer()
    if statement.with_data:
        definer.authority.require(planned.requirements)
    table = await engine.in_operation_pool(lambda: create_table_as(statement, planned.columns, definer))
    if table is None or not statement.with_data:
        return "CREATE TABLE AS"
    rows = insert_statement(table, statement.query.tree)
    return f"SELECT {await _fill(session, engine, rows, parameters=parameters, arguments=arguments)}"


async def _create_materialized_view(
    session: SessionContext, engine: SessionServices, statement: s.CreateMaterializedView
) -> str:
    planned = await query_run.plan(session, engine, statement.query, (), {})
    if planned.parameters:
        raise FeatureNotSupported("materialized views may not be defined using bound parameters")
    definer = session.environment.definer()
    if statement.with_data:
        definer.authority.require(planned.requirements)
    table = await engine.in_operation_pool(lambda: materialized.create(statement, planned, definer))
    if table is None or not statement.with_data:
        return "CREATE MATERIALIZED VIEW"
    return f"SELECT {await _fill(session, engine, insert_statement(table, statement.query.tree))}"


async def _refresh(session: SessionContext, engine: SessionServices, statement: s.RefreshMaterializedView) -> str:
    definer = session.environment.definer()
    table, query = await engine.in_operation_pool(lambda: materialized.renew(statement, definer))
    if statement.with_data:
        try:
            await _fill(session, engine, insert_statement(table, reading_before([exp.Star()])), query)
        except UniqueViolation as error:
            raise error if statement.concurrently else _not_unique(error) from error
    return "REFRESH MATERIALIZED VIEW"


def _not_unique(error: UniqueViolation) -> UniqueViolation:
    """Return the error that PostgreSQL raises for a duplicate key when it rebuilds an index, which it does after a
    refresh of all rows.
    """
    assert error.about is not None, "a violation names its constraint"
    detail = None if error.detail is None else f"{error.detail.removesuffix('already exists.')}is duplicated."
    return UniqueViolation(
        f'could not create unique index "{error.about.constraint}"',
        detail=detail,
        about=error.about,
    )


async def _import_foreign_schema(
    session: SessionContext, engine: SessionServices, statement: s.ImportForeignSchema
) -> str:
    definer = session.environment.definer()
    await engine.in_operation_pool(lambda: foreign_schema.check(statement, definer))
    if statement.server == foreign_schema.FILES:
        await engine.in_operation_pool(lambda: foreign_schema.import_folder(statement, definer, engine.roots))
        return "IMPORT FOREIGN SCHEMA"
    found = await engine.spark.tables_of(statement.remote, definer.notify)
    await engine.in_operation_pool(lambda: foreign_schema.import_tables(statement, found, definer))
    return "IMPORT FOREIGN SCHEMA"


# -- ALTER TABLE -----------------------------------------------------------------------------------------------------


async def _alter_table(session: SessionContext, engine: SessionServices, statement: s.AlterTable) -> str:
    """Change the definition first; then rewrite the rows or run the questions about them, if the change needs it."""
    definer = session.environment.definer()
    change = await engine.in_operation_pool(lambda: alter_table(statement, definer))
    if (rewrite := change.rewrite) is not None:
        await _fill(session, engine, rewrite.statement, rewrite.before)
        await engine.in_operation_pool(lambda: rewrite.finish(session.catalog))
    await _ask(session, engine, change.questions)
    return f"ALTER {statement.kind.upper()}"


async def _alter_domain(session: SessionContext, engine: SessionServices, statement: AlterDomain) -> str:
    definer = session.environment.definer()
    await _ask(session, engine, await engine.in_operation_pool(lambda: alter_domain(statement, definer)))
    return "ALTER DOMAIN"


async def _create_index(session: SessionContext, engine: SessionServices, statement: s.CreateIndex) -> str:
    definer = session.environment.definer()
    await _ask(session, engine, await engine.in_operation_pool(lambda: create_index(statement, definer)))
    return "CREATE INDEX"


async def _ask(session: SessionContext, engine: SessionServices, questions: Sequence[Question]) -> None:
    for question in questions:
        row = await _first_row(session, engine, s.Query(tree=question.tree, text=""))
        if row is not None:
            shown = functools.partial(shown_columns, session.authority())
            raise question.error(row, OutputSettings.read(session.settings.get), shown)


async def _first_row(session: SessionContext, engine: SessionServices, query: s.Query) -> pa.RecordBatch | None:
    planned = await query_run.plan(session, engine, query, (), {})
    execution = await query_run.run_query(
        session, engine, Prepared(query, (), planned.columns, planned), query, (), trusted=True
    )
    try:
        while (batch := await execution.stream.next_batch()) is not None:
            if batch.num_rows:
                return batch.slice(0, 1)
    finally:
        await execution.close()
    return None


async def _fill(
    session: SessionContext,
    engine: SessionServices,
    statement: s.Insert,
    before: Table | View | None = None,
    parameters: Sequence[t.PgType] = (),
    arguments: Sequence[Any] = (),
) -> int:
    """Run an INSERT that the server generates, and return the number of rows that it wrote. before: the table that it
    reads under the name `BEFORE`.
    """
    context, catalog = session.environment.context([p.oid for p in parameters], {})
    if before is not None:
        context.catalog = NamedTables({BEFORE: refresh(before) if isinstance(before, Table) else before}, catalog)
    planned = await plan_mutation(engine, statement, context, catalog.reads.values, None)
    if isinstance(before, View):
        # The right to refresh belongs to the role that maintains the view; the view's query has the privileges of the
        # view's owner.
        session.authority().require(needed for needed in planned.requirements if needed.relation != before.oid)
    await query_run.guard(session, engine, planned.bound.locks, planned.rows_of)
    return (await run_mutation(session, engine, planned, arguments)).rows


_DOERS: Final[dict[type[s.Statement], Callable[[SessionContext, SessionServices, Any], Awaitable[str]]]] = {
    s.AlterTable: _alter_table,
    AlterDomain: _alter_domain,
    s.CreateIndex: _create_index,
    s.CreateView: _create_view,
    s.ImportForeignSchema: _import_foreign_schema,
    s.CreateMaterializedView: _create_materialized_view,
    s.RefreshMaterializedView: _refresh,
}
STATEMENTS: Final[tuple[type[s.Statement], ...]] = (s.CreateTableAs, *_DOERS)

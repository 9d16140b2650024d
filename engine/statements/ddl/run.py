"""Runs DDL statements, each as a transaction of its own or within an open transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.contracts.materialized_results import StreamExecution
from engine.contracts.sessions import Execution, Prepared
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.sql.parser.nodes import statements as s
from engine.statements.ddl import definitions_with_rows
from engine.statements.ddl.definitions import DEFINITIONS, define
from engine.statements.ddl.drop import drop
from engine.statements.ddl.role_ground import RoleGround
from engine.statements.ddl.roles import ROLE_STATEMENTS, change_roles
from engine.statements.dml.truncate import truncate
from engine.statements.shared.foreign_table import create_foreign_table

#: Statements that change definitions, or all rows of a table at once.
DEFINING: Final = (
    *DEFINITIONS,
    *definitions_with_rows.STATEMENTS,
    *ROLE_STATEMENTS,
    s.Truncate,
    s.CreateForeignTable,
    s.Drop,
)
#: Those of them that write the rows of a query, however many.
_WRITING: Final = (s.CreateTableAs, s.CreateMaterializedView, s.RefreshMaterializedView)


async def execute(
    session: SessionContext, engine: SessionServices, prepared: Prepared, arguments: Sequence[Any]
) -> Execution:
    """Run one of `DEFINING`. An autocommit statement waits for the definitions of others
    (`engine.statements.dml.autocommit_retry`). Raises SqlError.
    """

    async def run() -> str:
        session.notices.again()
        with session.catalog.one_state():
            return await _define(session, engine, prepared, arguments)

    if not session.alone:
        return StreamExecution(None, await run())
    waits = not isinstance(prepared.statement, _WRITING)
    return StreamExecution(None, await session.transaction.define(run, waits=waits))


async def _define(
    session: SessionContext, engine: SessionServices, prepared: Prepared, arguments: Sequence[Any]
) -> str:
    """Run the statement, and return its command tag."""
    in_pool, authority = engine.in_operation_pool, session.authority()
    match prepared.statement:
        case statement if isinstance(statement, definitions_with_rows.STATEMENTS):
            return await definitions_with_rows.run(session, engine, prepared, arguments)
        case statement if isinstance(statement, DEFINITIONS):
            definer = session.environment.definer()
            return await in_pool(lambda: define(statement, definer))
        case s.Truncate() as statement:
            return await truncate(session, engine, statement, session.environment.context((), {})[0])
        case s.CreateForeignTable() as foreign:
            path, roots = session.search_path(), engine.roots
            await in_pool(
                lambda: create_foreign_table(foreign, session.catalog, path, roots, session.notify, authority)
            )
            return "CREATE FOREIGN TABLE"
        case s.Drop() as going:
            await in_pool(lambda: drop(going, session.catalog, session.search_path(), session.notify, authority))
            return f"DROP {going.kind.upper()}"
        case statement:
            return await _change_roles(session, engine, statement)


async def _change_roles(session: SessionContext, engine: SessionServices, statement: s.Statement) -> str:
    ground = RoleGround(
        session.catalog, session.roles.current, session.roles.session, session.settings, session.input_settings(), session.notices,
        session.search_path(),
    )  # fmt: skip
    return await engine.in_operation_pool(lambda: change_roles(statement, ground))

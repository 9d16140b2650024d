"""Statements of a session about itself: SET, RESET, SHOW, SET CONSTRAINTS; and maintenance, which is delegated to its
handlers.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.common import sql_type as st
from engine.contracts.materialized_results import RowsStream, StreamExecution
from engine.contracts.sessions import Execution, ResultColumn
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.sql.parser.nodes import statements as s
from engine.statements.dml import deferred
from engine.statements.dml.statement import SessionMutationContext
from engine.statements.maintenance import analyze, vacuum
from engine.statements.maintenance.lock import lock_tables
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t


async def execute(session: SessionContext, engine: SessionServices, statement: s.Statement) -> Execution:
    """Run a statement. Raises SqlError; FeatureNotSupported for a statement that has no handler."""
    match statement:
        case s.ShowVariable():
            return _show(session, statement.name)
        case s.Vacuum():
            return StreamExecution(None, await vacuum.run(session, engine, statement))
        case s.Analyze():
            return StreamExecution(None, await analyze.run(session, engine, statement))
        case s.Lock():
            await lock_tables(session, engine, statement)
            return StreamExecution(None, "LOCK TABLE")
        case s.Checkpoint():
            return StreamExecution(None, "CHECKPOINT")
        case s.SetConstraints():
            return await _set_constraints(session, engine, statement)
        case s.SetVariable():
            for name, value in ((statement.name, statement.value), *statement.also):
                session.settings.set(name, value, local=statement.local)
            return StreamExecution(None, "SET")
        case s.ResetVariable():
            if statement.name == "all":
                session.settings.reset_all()
            else:
                session.settings.set(statement.name, None)
            return StreamExecution(None, "RESET")
        case _:
            raise FeatureNotSupported(f"not supported: {type(statement).__name__}")


async def _set_constraints(session: SessionContext, engine: SessionServices, statement: s.SetConstraints) -> Execution:
    tables = list(session.catalog.current().tables())
    named = deferred.named_constraints(statement, tables, session.search_path()) if statement.names else None
    session.transaction.deferral = session.transaction.deferral.set_constraints(named, deferred=statement.deferred)
    await deferred.judge(SessionMutationContext(session, engine), everything=False)
    return StreamExecution(None, "SET CONSTRAINTS")


def show_columns(session: SessionContext, name: str) -> tuple[ResultColumn, ...]:
    """Return the columns of SHOW's result."""
    if name == "all":
        return tuple(ResultColumn(n, st.of(t.TEXT)) for n in ("name", "setting", "description"))
    return (ResultColumn(session.settings.canonical_name(name), st.of(t.TEXT)),)


def _show(session: SessionContext, name: str) -> Execution:
    columns = show_columns(session, name)
    rows: Sequence[Sequence[str]]
    if name == "all":
        rows = [row for row in session.settings.all() if session.roles.may_examine(row[0])]
    else:
        session.roles.require_examined(session.settings.canonical_name(name))
        rows = [(session.settings.get(name),)]
    return StreamExecution(columns, "SHOW", stream=RowsStream(columns, rows))

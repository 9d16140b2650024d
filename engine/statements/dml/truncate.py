"""TRUNCATE: remove all rows of tables and, with CASCADE, of the tables that reference them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.catalog.model import acl
from engine.catalog.model.objects import Table
from engine.session.context.session_context import SessionContext
from engine.sql.binder.handlers import query_binder
from engine.sql.binder.mutations.target import find_table
from engine.sql.binder.scope import BindContext
from engine.sql.parser.nodes.statements import Truncate
from engine.statements.dml import foreign_keys
from engine.statements.dml.planned_mutation import require_writable
from engine.statements.shared.engine_services import EngineServices
from engine.statements.shared.restarted_sequences import restart_owned
from wire.errors import FeatureNotSupported


async def truncate(session: SessionContext, engine: EngineServices, statement: Truncate, context: BindContext) -> str:
    """Run TRUNCATE: remove every file, so that other commits to the tables conflict. Returns the command tag."""

    def all_files() -> list[Table]:
        binder = query_binder(context)
        found = [find_table(binder, tree, "truncate").table for tree in statement.tables]
        return list({table.oid: table for table in found}.values())

    tables = await engine.in_operation_pool(all_files)
    for table in _with_referencing(session, tables, cascade=statement.cascade):
        session.authority().require_relation(table, "table", acl.TRUNCATE)
        require_writable(session, "TRUNCATE TABLE", table)
        if statement.restart:
            await engine.in_operation_pool(lambda table=table: restart_owned(table, session.catalog))  # type: ignore[misc]
        await engine.in_operation_pool(lambda table=table: session.catalog.tables.truncate(table))  # type: ignore[misc]
    return "TRUNCATE TABLE"


def _with_referencing(session: SessionContext, tables: Sequence[Table], *, cascade: bool) -> Sequence[Table]:
    """Return the tables, and those whose foreign keys reference them. Raises FeatureNotSupported if the statement
    neither names the latter nor says CASCADE.
    """
    found = list(tables)
    everyone = list(session.catalog.current().tables())
    for there in found:
        for child, _ in foreign_keys.referencing_keys(everyone, there):
            if any(child.oid == table.oid for table in found):
                continue
            if not cascade:
                raise FeatureNotSupported(
                    "cannot truncate a table referenced in a foreign key constraint",
                    detail=f'Table "{child.name}" references "{there.name}".',
                    hint=f'Truncate table "{child.name}" at the same time, or use TRUNCATE ... CASCADE.',
                )
            session.notify(f'truncate cascades to table "{child.name}"')
            found.append(child)
    return found

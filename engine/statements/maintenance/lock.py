"""LOCK TABLE. It neither waits nor blocks other sessions; it acts as FOR UPDATE of the whole table: if another commit
changes the table before this transaction commits, this transaction fails with 40001 (lockcmds.c).

The modes that do not conflict with writers in PostgreSQL (ACCESS SHARE, ROW SHARE, ROW EXCLUSIVE) have no effect on
them here either. NOWAIT has no effect.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.catalog.model import acl
from engine.catalog.model.objects import Table, View
from engine.sql.parser.nodes.statements import Lock, LockMode, QualifiedName, Query
from engine.statements.query import run as query_run
from engine.statements.shared.dependencies import kind_of
from wire.errors import InvalidSchemaName, UndefinedTable, WrongObjectType

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext

#: Privileges of which any permits a lock in a mode (LockTableAclCheck).
_TO_CHANGE: Final = acl.UPDATE | acl.DELETE | acl.TRUNCATE
_RIGHTS: Final[dict[LockMode, int]] = {"access share": acl.SELECT, "row exclusive": acl.INSERT | _TO_CHANGE}
_BESIDE_WRITERS: Final = ("access share", "row share", "row exclusive")


async def lock_tables(session: SessionContext, engine: SessionServices, statement: Lock) -> None:
    """Make the transaction's commit depend on these tables. Raises UndefinedTable, WrongObjectType,
    InsufficientPrivilege, SerializationFailure.
    """
    for name in statement.tables:
        async for table in _tables(session, engine, name, statement.mode):
            if statement.mode not in _BESIDE_WRITERS:
                await engine.in_operation_pool(functools.partial(session.catalog.tables.guard, table, whole=True))


async def _tables(
    session: SessionContext, engine: SessionServices, name: QualifiedName, mode: LockMode
) -> AsyncIterator[Table]:
    """Yield the stored tables that a name stands for; for a view those that it reads."""
    found = session.environment.definer().resolve(name)
    if found is None:
        _require_system_table(session, name)
    lockable = isinstance(found, View) or (
        isinstance(found, Table) and found.storage is not None and found.query is None
    )
    if lockable and found is not None:
        session.authority().require_any(found, kind_of(found), _RIGHTS.get(mode, _TO_CHANGE))
    if isinstance(found, View):
        schema = exp.Identifier(this=found.schema, quoted=True)
        item = exp.Table(this=exp.Identifier(this=found.name, quoted=True), db=schema)
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(expressions=[item]))
        for relation in (await query_run.plan(session, engine, Query(tree=query, text=f"table {name}"), (), {})).reads:
            if isinstance(relation, Table) and relation.storage is not None:
                yield relation
    elif isinstance(found, Table) and lockable:
        yield found
    elif found is not None:
        raise WrongObjectType(
            f'cannot lock relation "{found.name}"', detail=f"This operation is not supported for {kind_of(found)}s."
        )


def _require_system_table(session: SessionContext, name: QualifiedName) -> None:
    """Check that a name is that of a system relation, which needs no lock, because nobody changes it."""
    catalog, path = session.environment.context((), {})[0].catalog, session.search_path()
    if name.schema is not None and not catalog.has_schema(name.schema):
        raise InvalidSchemaName(f'schema "{name.schema}" does not exist')
    if catalog.resolve(name.schema, name.name, path) is None:
        raise UndefinedTable(f'relation "{name}" does not exist')

"""REINDEX: there is no index to rebuild, so names and privileges are checked, and the statement succeeds. Scripts that
send it after a load, or on a schedule, continue.

Source: PostgreSQL 15, indexcmds.c (ReindexIndex, ReindexTable, ReindexMultipleTables, RangeVarCallbackForReindexIndex).
"""

from __future__ import annotations

from engine.catalog.model.objects import DATABASE, Table
from engine.sql.parser.nodes.statements import Reindex
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import kind_of
from engine.statements.shared.names import keys
from wire.errors import FeatureNotSupported, InvalidSchemaName, UndefinedTable, WrongObjectType


def reindex(statement: Reindex, definer: Definer) -> None:
    """Check a REINDEX. Raises UndefinedTable, WrongObjectType, InvalidSchemaName, InsufficientPrivilege,
    FeatureNotSupported.
    """
    match statement.kind:
        case "index":
            _require_index(statement, definer)
        case "table":
            _require_table(statement, definer)
        case "schema":
            schema = definer.snapshot.schemas.get(statement.name.name)
            if schema is None:
                raise InvalidSchemaName(f'schema "{statement.name}" does not exist')
            definer.authority.require_schema_owner(schema.oid, schema.name)
        case _:
            if statement.name.name != DATABASE:
                raise FeatureNotSupported("can only reindex the currently open database")


def _require_index(statement: Reindex, definer: Definer) -> None:
    found = definer.index(statement.name)
    if found is not None:
        definer.authority.require_owner(found[0], "table")
    elif definer.resolve(statement.name) is not None:
        raise WrongObjectType(f'"{statement.name.name}" is not an index')
    else:
        raise UndefinedTable(f'relation "{statement.name}" does not exist')


def _require_table(statement: Reindex, definer: Definer) -> None:
    found = definer.resolve(statement.name)
    if found is None and definer.index(statement.name) is None:
        raise UndefinedTable(f'relation "{statement.name}" does not exist')
    if not isinstance(found, Table) or found.storage is None:
        raise WrongObjectType(f'"{statement.name.name}" is not a table or materialized view')
    definer.authority.require_owner(found, kind_of(found))
    if not any(keys(found.constraints)):
        what = "that can be reindexed concurrently" if statement.concurrently else "to reindex"
        definer.notify(f'table "{found.name}" has no indexes {what}')

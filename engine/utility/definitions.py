"""Which function carries out which statement that defines something, and its command tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.sql import statements as s
from engine.sql.domain_statements import AlterDomain, CreateDomain
from engine.sql.extension_statements import CreateExtension, DropExtension
from engine.sql.object_statements import DropFunctions, DropObjects, DropPart
from engine.utility.comment import comment
from engine.utility.composite import create_composite
from engine.utility.definer import Definer
from engine.utility.domain import create_domain
from engine.utility.extension import create_extension, drop_extension
from engine.utility.object_drops import drop_functions, drop_objects, drop_part
from engine.utility.reindex import reindex
from engine.utility.roles import ROLE_STATEMENTS
from engine.utility.roles import tag as roles_tag
from engine.utility.schema import alter_schema, create_schema
from engine.utility.sequence import alter_sequence, create_sequence
from engine.utility.table import create_table
from engine.utility.user_type import alter_type, create_enum
from engine.utility.view_options import alter_view_options
from wire.errors import ReadOnlySqlTransaction

_DOERS: Final[dict[type[s.Statement], tuple[Callable[[Any, Definer], None], str]]] = {
    s.Comment: (comment, "COMMENT"),
    s.CreateTable: (create_table, "CREATE TABLE"),
    s.CreateSequence: (create_sequence, "CREATE SEQUENCE"),
    CreateExtension: (create_extension, "CREATE EXTENSION"),
    DropExtension: (drop_extension, "DROP EXTENSION"),
    s.CreateSchema: (create_schema, "CREATE SCHEMA"),
    s.AlterSchema: (alter_schema, "ALTER SCHEMA"),
    s.AlterViewOptions: (alter_view_options, "ALTER VIEW"),
    s.AlterSequence: (alter_sequence, "ALTER SEQUENCE"),
    s.CreateEnum: (create_enum, "CREATE TYPE"),
    s.CreateComposite: (create_composite, "CREATE TYPE"),
    s.AlterType: (alter_type, "ALTER TYPE"),
    CreateDomain: (create_domain, "CREATE DOMAIN"),
    s.Reindex: (reindex, "REINDEX"),
}
_OBJECT_DROPS: Final[dict[type[s.Statement], Callable[[Any, Definer], None]]] = {
    DropFunctions: drop_functions,
    DropPart: drop_part,
    DropObjects: drop_objects,
}
DEFINITIONS: Final = (*_DOERS, *_OBJECT_DROPS)
_COMMANDS: Final = {
    **{kind: tag for kind, (_, tag) in _DOERS.items()},
    AlterDomain: "ALTER DOMAIN",
    s.CreateIndex: "CREATE INDEX",
    s.CreateView: "CREATE VIEW",
    s.CreateForeignTable: "CREATE FOREIGN TABLE",
    s.ImportForeignSchema: "IMPORT FOREIGN SCHEMA",
    s.CreateMaterializedView: "CREATE MATERIALIZED VIEW",
    s.RefreshMaterializedView: "REFRESH MATERIALIZED VIEW",
}


def define(statement: s.Statement, definer: Definer) -> str:
    """Carry out one of `DEFINITIONS`; the tag. Blocks on the disk. Raises SqlError."""
    if isinstance(statement, DropFunctions | DropPart | DropObjects):
        _OBJECT_DROPS[type(statement)](statement, definer)
        return f"DROP {statement.kind.upper()}"
    run, tag = _DOERS[type(statement)]
    run(statement, definer)
    return tag


def refuse_in_read_only(statement: s.Statement) -> None:
    """Raises ReadOnlySqlTransaction for a statement that changes definitions (utility.c: PreventCommandIfReadOnly)."""
    command = _command(statement)
    if command is not None:
        raise ReadOnlySqlTransaction(f"cannot execute {command} in a read-only transaction")


def _command(statement: s.Statement) -> str | None:
    match statement:
        case s.CreateTableAs(into=into):
            return "SELECT INTO" if into else "CREATE TABLE AS"
        case s.AlterTable(kind=kind):
            return f"ALTER {kind.upper()}"
        case _ if isinstance(statement, ROLE_STATEMENTS):
            return roles_tag(statement)
        case s.Reindex():
            return None
        case s.Drop() | DropFunctions() | DropPart() | DropObjects():
            return f"DROP {statement.kind.upper()}"
        case _:
            return _COMMANDS.get(type(statement))

"""Dispatch table of the DDL statements: the function and the command tag of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.domains import AlterDomain, CreateDomain
from engine.sql.parser.nodes.extensions import CreateExtension, DropExtension
from engine.sql.parser.nodes.object_drops import DropFunctions, DropObjects, DropPart
from engine.statements.ddl.comment import comment
from engine.statements.ddl.composite import create_composite
from engine.statements.ddl.domain import create_domain
from engine.statements.ddl.extension import create_extension, drop_extension
from engine.statements.ddl.object_drops import drop_functions, drop_objects, drop_part
from engine.statements.ddl.roles import ROLE_STATEMENTS
from engine.statements.ddl.roles import tag as roles_tag
from engine.statements.ddl.schema import alter_schema, create_schema
from engine.statements.ddl.sequence import alter_sequence, create_sequence
from engine.statements.ddl.table import create_table
from engine.statements.ddl.user_type import alter_type, create_enum
from engine.statements.ddl.view_options import alter_view_options
from engine.statements.maintenance.reindex import reindex
from engine.statements.shared.definer import Definer
from wire.errors import ReadOnlySqlTransaction

_DOERS: Final[dict[type[s.Statement], Callable[[Any, Definer], None]]] = {
    s.Comment: comment,
    s.CreateTable: create_table,
    s.CreateSequence: create_sequence,
    CreateExtension: create_extension,
    DropExtension: drop_extension,
    s.CreateSchema: create_schema,
    s.AlterSchema: alter_schema,
    s.AlterViewOptions: alter_view_options,
    s.AlterSequence: alter_sequence,
    s.CreateEnum: create_enum,
    s.CreateComposite: create_composite,
    s.AlterType: alter_type,
    CreateDomain: create_domain,
    s.Reindex: reindex,
    DropFunctions: drop_functions,
    DropPart: drop_part,
    DropObjects: drop_objects,
}
DEFINITIONS: Final = tuple(_DOERS)
_TAGS: Final = {
    s.Comment: "COMMENT",
    s.CreateTable: "CREATE TABLE",
    s.CreateSequence: "CREATE SEQUENCE",
    CreateExtension: "CREATE EXTENSION",
    DropExtension: "DROP EXTENSION",
    s.CreateSchema: "CREATE SCHEMA",
    s.AlterSchema: "ALTER SCHEMA",
    s.AlterViewOptions: "ALTER VIEW",
    s.AlterSequence: "ALTER SEQUENCE",
    s.CreateEnum: "CREATE TYPE",
    s.CreateComposite: "CREATE TYPE",
    s.AlterType: "ALTER TYPE",
    CreateDomain: "CREATE DOMAIN",
    s.Reindex: "REINDEX",
    AlterDomain: "ALTER DOMAIN",
    s.CreateIndex: "CREATE INDEX",
    s.CreateView: "CREATE VIEW",
    s.CreateForeignTable: "CREATE FOREIGN TABLE",
    s.ImportForeignSchema: "IMPORT FOREIGN SCHEMA",
    s.CreateMaterializedView: "CREATE MATERIALIZED VIEW",
    s.RefreshMaterializedView: "REFRESH MATERIALIZED VIEW",
}


def define(statement: s.Statement, definer: Definer) -> str:
    """Run one of `DEFINITIONS`, and return its tag. Blocks on the disk. Raises SqlError."""
    _DOERS[type(statement)](statement, definer)
    tag = _tag(statement)
    assert tag is not None, "it defines something"
    return tag


def refuse_in_read_only(statement: s.Statement) -> None:
    """Raise ReadOnlySqlTransaction for a statement that changes definitions (utility.c: PreventCommandIfReadOnly)."""
    tag = _tag(statement)
    if tag is not None and not isinstance(statement, s.Reindex):
        raise ReadOnlySqlTransaction(f"cannot execute {tag} in a read-only transaction")


def _tag(statement: s.Statement) -> str | None:
    """Return the command tag; None for a statement that is no definition."""
    match statement:
        case s.CreateTableAs(into=into):
            return "SELECT INTO" if into else "CREATE TABLE AS"
        case s.AlterTable(kind=kind):
            return f"ALTER {kind.upper()}"
        case _ if isinstance(statement, ROLE_STATEMENTS):
            return roles_tag(statement)
        case s.Drop() | DropFunctions() | DropPart() | DropObjects():
            return f"DROP {statement.kind.upper()}"
        case _:
            return _TAGS.get(type(statement))

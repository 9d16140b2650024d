"""GRANT and REVOKE of privileges on objects, ALTER DEFAULT PRIVILEGES, REASSIGN and DROP OWNED (gram.y: GrantStmt, RevokeStmt,
AlterDefaultPrivilegesStmt, ReassignOwnedStmt, DropOwnedStmt)."""

from __future__ import annotations

from typing import Final

from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.nodes.privileges import (
    AlterDefaultPrivileges,
    DropOwned,
    GrantKind,
    GrantPrivileges,
    Privilege,
    ReassignOwned,
)
from engine.sql.parser.nodes.statements import QualifiedName, RoleName, Statement
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.role_names import grantees, role_spec, role_specs
from wire.errors import SqlSyntaxError

_NAMED: Final[dict[str, GrantKind]] = {
    "table": "table", "sequence": "sequence", "schema": "schema", "database": "database", "type": "type", "domain": "domain"
}  # fmt: skip
_ALL_IN_SCHEMA: Final[dict[str, GrantKind]] = {
    "tables": "table", "sequences": "sequence", "functions": "function", "procedures": "function", "routines": "function"
}  # fmt: skip
_DEFAULTS: Final[dict[str, GrantKind]] = {
    "tables": "table", "sequences": "sequence", "functions": "function", "routines": "function", "schemas": "schema",
    "types": "type",
}  # fmt: skip
#: Kinds of objects that Sluice lacks.
_REFUSED: Final = (
    "foreign", "function", "language", "large", "parameter", "procedure", "routine", "tablespace",
)  # fmt: skip


def privileges_at(reader: StatementReader) -> bool:
    """Return whether a GRANT or REVOKE, after its verb, concerns objects rather than roles: ON follows the privileges."""
    ahead = 0
    while not reader.word_at("to", "from", ahead=ahead) and reader.peek(ahead).kind is not Kind.END:
        if reader.word_at("on", ahead=ahead):
            return True
        ahead += 1
    return False


def grant(reader: StatementReader) -> GrantPrivileges:
    """Read GRANT, after this word."""
    said, columns = _privileges(reader)
    reader.expect("on")
    kind, names, in_schemas = _target(reader)
    reader.expect("to")
    roles = grantees(reader)
    option = reader.take("with", "grant", "option")
    grantor = role_spec(reader) if reader.take("granted", "by") else None
    return GrantPrivileges(
        kind=kind, privileges=said, all_columns=columns, names=names, in_schemas=in_schemas, grantees=roles,
        option=option, grantor=grantor, text="",
    )  # fmt: skip


def revoke(reader: StatementReader) -> GrantPrivileges:
    """Read REVOKE, after this word."""
    option = reader.take("grant", "option", "for")
    said, columns = _privileges(reader)
    reader.expect("on")
    kind, names, in_schemas = _target(reader)
    reader.expect("from")
    roles = grantees(reader)
    grantor = role_spec(reader) if reader.take("granted", "by") else None
    return GrantPrivileges(
        kind=kind, privileges=said, all_columns=columns, names=names, in_schemas=in_schemas, grantees=roles,
        option=option, grantor=grantor, revoke=True, cascade=reader.behaviour(), text="",
    )  # fmt: skip


def _privileges(reader: StatementReader) -> tuple[tuple[Privilege, ...], tuple[str, ...]]:
    """Read the privileges, and the columns of ALL (columns)."""
    if reader.take("all"):
        reader.take("privileges")
        return (), _columns(reader)
    return tuple(reader.comma_list(lambda: _privilege(reader))), ()


def _privilege(reader: StatementReader) -> Privilege:
    if reader.word_at("select", "references", "create"):
        name = reader.next().text
    elif reader.take("alter", "system"):
        name = "alter system"
    else:
        name = reader.name()
    return Privilege(name=name, columns=_columns(reader))


def _columns(reader: StatementReader) -> tuple[str, ...]:
    return tuple(c.name for c in reader.names()) if reader.symbol_at("(") else ()


def _target(reader: StatementReader) -> tuple[GrantKind, tuple[QualifiedName, ...], bool]:
    if reader.word_at("all") and (kind := _ALL_IN_SCHEMA.get(reader.peek(1).text)) is not None:
        for word in ("all", reader.peek(1).text, "in", "schema"):
            reader.expect(word)
        return kind, _simple_names(reader), True
    if reader.word_at(*_REFUSED) and reader.peek(1).kind in (Kind.WORD, Kind.NAME):
        reader.raise_unsupported(f"privileges ON {reader.token.text.upper()}")
    named = _NAMED.get(reader.token.text) if reader.token.kind is Kind.WORD else None
    if named is not None and reader.peek(1).kind in (Kind.WORD, Kind.NAME):
        reader.next()
    kind = named or "table"
    if kind in ("schema", "database"):
        return kind, _simple_names(reader), False
    return kind, tuple(reader.comma_list(reader.qualified_name)), False


def _simple_names(reader: StatementReader) -> tuple[QualifiedName, ...]:
    return tuple(QualifiedName(schema=None, name=name) for name in reader.comma_list(reader.name))


def alter_default_privileges(reader: StatementReader) -> Statement:
    """Read ALTER DEFAULT PRIVILEGES, after these words."""
    owners: tuple[RoleName, ...] | None = None
    schemas: tuple[str, ...] | None = None
    redundant: Token | None = None
    while reader.word_at("for", "in"):
        token = reader.token
        if reader.take("for", "role") or reader.take("for", "user"):
            redundant = redundant or (token if owners is not None else None)
            owners = role_specs(reader)
        else:
            reader.expect("in")
            reader.expect("schema")
            redundant = redundant or (token if schemas is not None else None)
            schemas = tuple(reader.comma_list(reader.name))
    revokes = reader.take("revoke")
    if not revokes:
        reader.expect("grant")
    action = _default_action(reader, revokes)
    if redundant is not None:
        raise SqlSyntaxError("conflicting or redundant options", position=redundant.start + 1)
    return AlterDefaultPrivileges(roles=owners or (), schemas=schemas or (), action=action, text="")


def _default_action(reader: StatementReader, revokes: bool) -> GrantPrivileges:
    option = revokes and reader.take("grant", "option", "for")
    said, _ = _privileges(reader)
    reader.expect("on")
    kind = _DEFAULTS.get(reader.token.text)
    if kind is None:
        reader.fail()
    reader.next()
    reader.expect("from" if revokes else "to")
    roles = grantees(reader)
    option = option or (not revokes and reader.take("with", "grant", "option"))
    cascade = revokes and reader.behaviour()
    return GrantPrivileges(
        kind=kind, privileges=said, names=(), grantees=roles, revoke=revokes, option=option, cascade=cascade, text=""
    )


def _reassign(reader: StatementReader) -> Statement:
    reader.next()
    for word in ("owned", "by"):
        reader.expect(word)
    owners = role_specs(reader)
    reader.expect("to")
    return ReassignOwned(roles=owners, to=role_spec(reader), text="")


def drop_owned(reader: StatementReader) -> Statement:
    """Read DROP OWNED, after these words."""
    reader.expect("by")
    return DropOwned(roles=role_specs(reader), cascade=reader.behaviour(), text="")


READERS: Final = {"reassign": _reassign}

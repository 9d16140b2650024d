"""CREATE, ALTER and DROP of ROLE, USER and GROUP, and GRANT and REVOKE of roles (gram.y: CreateRoleStmt,
AlterRoleStmt, AlterRoleSetStmt, AlterGroupStmt, DropRoleStmt, GrantRoleStmt).
"""

from __future__ import annotations

from typing import Any, Final

from engine.common.keywords import RESERVED
from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.nodes.roles import (
    AlterRole,
    AlterRoleSetting,
    CreateRole,
    DropRole,
    GrantRole,
    RenameRole,
    RoleOptions,
)
from engine.sql.parser.nodes.statements import ResetVariable, RoleName, SetVariable, Statement
from engine.sql.parser.utility.privileges import grant, privileges_at, revoke
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.role_names import role_spec, role_specs
from engine.sql.parser.utility.settings import READERS as SETTINGS
from wire.errors import ReservedName, SqlSyntaxError

#: The keywords for a role in these statements.
KINDS: Final = ("role", "user", "group")
_FLAGS: Final = ("superuser", "inherit", "createrole", "createdb", "login", "replication", "bypassrls")
_NO_OPTIONS: Final = RoleOptions()


def create_role(reader: StatementReader) -> Statement:
    """Read CREATE ROLE, USER or GROUP, after CREATE."""
    kind = reader.next().text
    name = _new_name(reader)
    reader.take("with")
    options = _options(reader, creating=True)
    options.setdefault("login", kind == "user")
    return CreateRole(name=name, options=RoleOptions(**options), text="")


def alter_role(reader: StatementReader) -> Statement:
    """Read ALTER ROLE, USER or GROUP, after ALTER."""
    group = reader.next().text == "group"
    if not group and reader.take("all"):
        return _setting(reader, None, _in_database(reader))
    token = reader.token
    role = role_spec(reader)
    if reader.take("rename", "to"):
        _require_name(role, token)
        return RenameRole(name=role.name, to=_new_name(reader), text="")
    if group:
        return _alter_group(reader, role)
    database = _in_database(reader)
    if database or reader.word_at("set", "reset"):
        return _setting(reader, role, database)
    reader.take("with")
    return AlterRole(role=role, options=RoleOptions(**_options(reader, creating=False)), text="")


def _alter_group(reader: StatementReader, role: RoleName) -> Statement:
    revoke = reader.take("drop")
    if not revoke:
        reader.expect("add")
    reader.expect("user")
    if role.special:
        reader.raise_unsupported("ALTER GROUP of a role that is not named")
    return GrantRole(roles=(role.name,), members=role_specs(reader), revoke=revoke, group=True, text="")


def _in_database(reader: StatementReader) -> str:
    return reader.name() if reader.take("in", "database") else ""


def _setting(reader: StatementReader, role: RoleName | None, database: str) -> Statement:
    start = reader.token
    if not reader.word_at("set", "reset"):
        reader.fail()
    read = SETTINGS[start.text](reader)
    if isinstance(read, ResetVariable):
        return AlterRoleSetting(role=role, database=database, name=read.name, value=None, text="")
    assert isinstance(read, SetVariable)
    if read.local or read.also:
        reader.fail(start)
    return AlterRoleSetting(role=role, database=database, name=read.name, value=read.value, text="")


def drop_role(reader: StatementReader) -> Statement:
    """Read DROP ROLE, USER or GROUP, after DROP."""
    reader.next()
    exists = reader.take("if", "exists")
    return DropRole(roles=role_specs(reader), if_exists=exists, text="")


def _grant(reader: StatementReader) -> Statement:
    reader.next()
    if privileges_at(reader):
        return grant(reader)
    roles = tuple(reader.comma_list(reader.name))
    reader.expect("to")
    members = role_specs(reader)
    admin = reader.take("with", "admin", "option")
    return GrantRole(roles=roles, members=members, admin=admin, grantor=_grantor(reader), text="")


def _revoke(reader: StatementReader) -> Statement:
    reader.next()
    if privileges_at(reader):
        return revoke(reader)
    admin = reader.take("admin", "option", "for")
    roles = tuple(reader.comma_list(reader.name))
    reader.expect("from")
    members = role_specs(reader)
    grantor = _grantor(reader)
    reader.behaviour()
    return GrantRole(roles=roles, members=members, revoke=True, admin=admin, grantor=grantor, text="")


def _grantor(reader: StatementReader) -> RoleName | None:
    return role_spec(reader) if reader.take("granted", "by") else None


def _new_name(reader: StatementReader) -> str:
    """Read a RoleId."""
    token = reader.token
    role = role_spec(reader)
    _require_name(role, token)
    return role.name


def _require_name(role: RoleName, token: Token) -> None:
    if role.special == "public":
        raise ReservedName('role name "public" is reserved', position=token.start + 1)
    if role.special:
        raise ReservedName(f"{token.text.upper()} cannot be used as a role name here", position=token.start + 1)


def _options(reader: StatementReader, *, creating: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not reader.at_end() and not reader.symbol_at(";"):
        token = reader.token
        for name, value in _option(reader, token, creating=creating).items():
            if name in found:
                raise SqlSyntaxError("conflicting or redundant options", position=token.start + 1)
            found[name] = value
    return found


def _option(reader: StatementReader, token: Token, *, creating: bool) -> dict[str, Any]:
    """Read one of OptRoleList, or of AlterOptRoleList, as fields of `RoleOptions`."""
    if reader.take("encrypted"):
        reader.expect("password")
        return _password(reader)
    if reader.take("password"):
        return _password(reader)
    if reader.take("connection", "limit"):
        return {"connection_limit": reader.integer()}
    if reader.take("valid", "until"):
        return {"valid_until": reader.expect_kind(Kind.STRING).text}
    if creating and (reader.take("in", "role") or reader.take("in", "group")):
        return {"in_roles": role_specs(reader)}
    if creating and reader.take("admin"):
        return {"admins": role_specs(reader)}
    if reader.take("user") or (creating and reader.take("role")):
        return {"members": role_specs(reader)}
    if creating and reader.take("sysid"):
        reader.expect_kind(Kind.INTEGER)
        return {}
    return _flag(reader, token)


def _password(reader: StatementReader) -> dict[str, Any]:
    if reader.take("null"):
        return {"password": None, "password_said": True}
    return {"password": reader.expect_kind(Kind.STRING).text, "password_said": True}


def _flag(reader: StatementReader, token: Token) -> dict[str, Any]:
    if token.kind not in (Kind.WORD, Kind.NAME):
        reader.fail()
    word = token.text.removeprefix("no")
    if word not in _FLAGS:
        if token.text == "unencrypted":
            raise SqlSyntaxError(
                "UNENCRYPTED PASSWORD is no longer supported",
                hint="Remove UNENCRYPTED to store the password in encrypted form instead.",
                position=token.start + 1,
                sqlstate="0A000",
            )
        if token.kind is Kind.WORD and token.text in RESERVED:
            reader.fail()
        raise SqlSyntaxError(f'unrecognized role option "{token.text}"', position=token.start + 1)
    reader.next()
    return {word: word == token.text}


READERS: Final = {"grant": _grant, "revoke": _revoke}

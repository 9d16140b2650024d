"""Names of roles in statements (gram.y: RoleSpec, role_list)."""

from __future__ import annotations

from typing import Final

from engine.common.keywords import RESERVED
from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import RoleName
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import ReservedName

_SPECIAL: Final = {"current_role": "current", "current_user": "current", "session_user": "session"}


def role_specs(reader: StatementReader) -> tuple[RoleName, ...]:
    return tuple(reader.comma_list(lambda: role_spec(reader)))


def grantees(reader: StatementReader) -> tuple[RoleName, ...]:
    """Read a grantee_list; GROUP before a name has no meaning (gram.y)."""

    def grantee() -> RoleName:
        reader.take("group")
        return role_spec(reader)

    return tuple(reader.comma_list(grantee))


def role_spec(reader: StatementReader) -> RoleName:
    """Read a RoleSpec."""
    token = reader.token
    if token.kind is Kind.WORD and (special := _SPECIAL.get(token.text)) is not None:
        reader.next()
        return RoleName(special=special)  # type: ignore[arg-type]
    if token.kind is Kind.WORD and token.text in RESERVED and token.text != "none":
        reader.fail()
    if token.kind not in (Kind.WORD, Kind.NAME):
        reader.fail()
    reader.next()
    if token.text == "none":
        raise ReservedName('role name "none" is reserved', position=token.start + 1)
    return RoleName(special="public") if token.text == "public" else RoleName(name=token.text)

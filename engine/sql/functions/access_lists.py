"""Access control lists as values: aclexplode, which splits an item's text (`engine.pg_catalog.acl_text` writes it).

An item names roles, and the function returns their OIDs: the binder passes the roles with the call
(`engine.sql.binder.inlined`).

Source: PostgreSQL 15, acl.c (aclexplode, aclparse).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.catalog.model.acl import LETTERS, WORDS
from engine.common.sql_type import SqlType, of
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn, op
from wire.types import pg_types as t

#: Grantee, privileges and grantor; quotes within a quoted name are doubled.
_PATTERN: Final = r'^("(?:[^"]|"")*"|[^"=]*)=([A-Za-z*]*)/(.*)$'


def _part(number: int) -> str:
    return f"regexp_extract(e__, '{_PATTERN}', {number})"


def _role(number: int) -> str:
    """Return the OID of the role in a part of the item; a dropped role is written as its number."""
    name = _part(number)
    return f"coalesce($3[list_position($2, {name})], TRY_CAST({name} AS BIGINT), 0)"


_LISTED: Final = ", ".join(f"'{letter}'" for letter in LETTERS)
_WORDS: Final = ", ".join(f"'{word}'" for word in WORDS)
_ITEM: Final = (
    f"list_transform(list_filter([{_LISTED}], lambda r__: contains({_part(2)}, r__)), lambda r__: struct_pack("
    f"f0 := {_role(3)}, f1 := {_role(1)}, f2 := [{_WORDS}][list_position([{_LISTED}], r__)],"
    f" f3 := contains({_part(2)}, r__ || '*')))"
)


def _exploded_type(_types: Sequence[SqlType]) -> SqlType:
    fields = (("grantor", t.OID), ("grantee", t.OID), ("privilege_type", t.TEXT), ("is_grantable", t.BOOL))
    return SqlType(t.RECORD, fields=tuple((name, of(pg)) for name, pg in fields))


ROWS: Final[tuple[Function, ...]] = (
    op("=", (t.ACLITEM, t.ACLITEM), t.BOOL, "$1 = $2"),
    fn(
        "=aclexplode", (t.array_of(t.ACLITEM), t.array_of(t.TEXT), t.array_of(t.OID)), t.RECORD, returns_set=True,
        rule=_exploded_type, local=f"flatten(list_transform($1, lambda e__: {_ITEM}))", volatility="stable",
    ),
)  # fmt: skip

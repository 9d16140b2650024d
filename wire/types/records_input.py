"""Text to values of composite types: `(1,,"a b")`. `wire.types.input` gives the reader of each attribute.

The canonical value has the attributes' values under their field names in carriers
(`wire.types.pg_types.Attribute.field`). Constraints of domains are not checked: no composite type has an attribute of a
domain (`engine.statements.ddl.composite`).

Source: PostgreSQL 15, rowtypes.c (record_in).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from wire.errors import FeatureNotSupported, InvalidTextRepresentation, SqlError
from wire.types import pg_types as t

_SPACE: Final = " \t\n\r\v\f"
#: The text of one attribute: quoted parts, and unquoted characters. A quote without its end does not match.
_FIELD: Final = re.compile(r'(?:"(?:[^"\\]|\\.|"")*"|\\.|[^,)"\\])*', re.DOTALL)
_PIECE: Final = re.compile(r'"((?:[^"\\]|\\.|"")*)"|\\(.)|([^,)"\\]+)', re.DOTALL)
_ESCAPED: Final = re.compile(r'\\(.)|"(")', re.DOTALL)

#: A function that reads the text of an attribute; it is not called for a null.
ReadAttribute = Callable[[t.Attribute, str], Any]


def read_record(typ: t.PgType, text: str, read: ReadAttribute) -> dict[str, Any]:
    """Return the value that a row literal represents. Raises InvalidTextRepresentation."""
    body = text.lstrip(_SPACE)
    if not body.startswith("("):
        raise _malformed_literal(text, "Missing left parenthesis.")
    value: dict[str, Any] = {}
    at = 1
    for index, attribute in enumerate(typ.attributes):
        if index:
            if body[at : at + 1] != ",":
                raise _malformed_literal(text, "Too few columns.")
            at += 1
        match = _FIELD.match(body, at)
        assert match is not None
        if body[match.end() : match.end() + 1] not in (",", ")"):
            raise _malformed_literal(text, "Unexpected end of input.")
        at = match.end()
        value[attribute.field] = None if match.end() == match.start() else _read(attribute, _plain(match[0]), read)
    if body[at : at + 1] != ")":
        raise _malformed_literal(text, "Too many columns.")
    if body[at + 1 :].lstrip(_SPACE):
        raise _malformed_literal(text, "Junk after right parenthesis.")
    return value


def _read(attribute: t.Attribute, text: str, read: ReadAttribute) -> Any:
    value = read(attribute, text)
    if isinstance(value, str) and t.base_of(attribute.type) in t.REG_TYPES:
        raise FeatureNotSupported("not supported: the name of an object in a row literal")
    return value


def _plain(field: str) -> str:
    """Return a field without quotes and escapes."""
    return "".join(
        _ESCAPED.sub(lambda m: m[1] or m[2], quoted) if bare is None and escaped is None else escaped or bare
        for quoted, escaped, bare in (piece.groups() for piece in _PIECE.finditer(field))
    )


def _malformed_literal(text: str, detail: str) -> SqlError:
    return InvalidTextRepresentation(f'malformed record literal: "{text}"', detail=detail)

# ruff: noqa: SIM905 -- a paragraph of words reads better than a column of quotes
"""Resolution of a type's tree (`engine.sql.parser.grammar.types`) to its SqlType: names, modifiers and their limits.

It is used for casts, typed literals and column definitions. The rules are those of PostgreSQL's typmod input functions
(numerictypmodin, varchartypmodin, intervaltypmodin ...).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import MAX_DIMENSIONS, SqlType
from engine.sql.parser.lexical.positions import collated_at, cursor, position
from wire.errors import DatatypeMismatch, FeatureNotSupported, InvalidParameterValue, SqlSyntaxError, UndefinedObject
from wire.types import pg_types as t
from wire.types.interval_modifiers import interval_typmod
from wire.types.numbers_input import read_integer

_CHARACTERS_MAX: Final = 10_485_760
_BITS_MAX: Final = 83_886_080
_FRACTION_MAX: Final = 6

#: PostgreSQL's types that Sluice lacks.
_ABSENT: Final = frozenset(
    """
    box2d citext cstring gtsvector hstore pg_snapshot txid_snapshot
    """.split()
)

#: The types whose values COLLATE may follow.
COLLATABLE: Final = frozenset({t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME})

#: Finds a user-defined type by its schema, if one was written, and its name.
UserTypes = Callable[[str | None, str], t.PgType | None]


def resolve_type(
    node: exp.DataType,
    notice: Callable[[str], None] = lambda _message: None,
    users: UserTypes = lambda _schema, _name: None,
) -> SqlType:
    """Return the SqlType that a type's tree names. users: finds user-defined types.

    Raises UndefinedObject, FeatureNotSupported for PostgreSQL's types that Sluice lacks, SqlSyntaxError or
    InvalidParameterValue for an invalid modifier.
    """
    typ = _scalar(node, notice, users)
    collated = collated_at(node)
    if collated is not None and typ.pg not in COLLATABLE:
        shown = typ.pg.sql_name + ("[]" if node.args.get("array") else "")
        raise DatatypeMismatch(f"collations are not supported by type {shown}", position=cursor(collated))
    if not node.args.get("array"):
        return typ
    if typ.pg.array == 0:
        raise UndefinedObject(f"type {typ.pg.sql_name}[] does not exist", position=cursor(position(node)))
    dimensions = 1 if typ.pg is t.INTERVAL else min(node.args["array"], MAX_DIMENSIONS)
    return SqlType(t.array_of(typ.pg), typ.typmod, typ.precision, typ.scale, typ.display, dimensions=dimensions)


def _scalar(node: exp.DataType, notice: Callable[[str], None], users: UserTypes) -> SqlType:
    name = node.args["kind"].name
    schema = node.args.get("schema")
    modifiers = [_modifier(m) for m in node.expressions]
    if name == "float" and schema is None:
        return SqlType(_float(modifiers, node))
    pg = _find_type(name, schema) or users(schema, name)
    if pg is None:
        shown = (f"{schema}." if schema else "") + name + ("[]" if node.args.get("array") else "")
        if name in _ABSENT:
            raise FeatureNotSupported(f"not supported: type {shown}", position=cursor(position(node)))
        raise UndefinedObject(f'type "{shown}" does not exist', position=cursor(position(node)))
    if pg is t.INTERVAL:
        return SqlType(pg, _interval(node, modifiers, notice))
    if pg.domain is not None:
        return _below(pg, node)
    if not modifiers:
        return st.of(pg, INFORMATION_SCHEMA[name][1] if schema == "information_schema" and pg.domain is None else -1)
    return st.of(pg, _typmod(pg, modifiers, node, notice))


def domain_named(node: exp.DataType, users: UserTypes) -> t.PgType | None:
    """Return the domain that a type's tree names, or None for another type; `resolve_type` returns the domain's base
    type.
    """
    name, schema = node.args["kind"].name, node.args.get("schema")
    if node.args.get("array") or _find_type(name, schema) is not None:
        return None
    found = users(schema, name)
    return found if found is not None and found.domain is not None else None


def _below(domain: t.PgType, node: exp.DataType) -> SqlType:
    at = cursor(position(node))
    if node.args.get("array"):
        raise FeatureNotSupported(f"not supported: arrays of domain {domain.sql_name}", position=at)
    if node.expressions:
        raise SqlSyntaxError(f'type modifier is not allowed for type "{domain.name}"', position=at)
    return st.of(t.base_of(domain), t.base_typmod(domain))


#: information_schema's domains: their base type and its modifier.
INFORMATION_SCHEMA: Final = {
    "cardinal_number": (t.INT4, -1),
    "character_data": (t.VARCHAR, -1),
    "sql_identifier": (t.NAME, -1),
    "time_stamp": (t.TIMESTAMPTZ, 2),
    "yes_or_no": (t.VARCHAR, 7),
}


def _find_type(name: str, schema: str | None) -> t.PgType | None:
    if schema == "information_schema":
        return INFORMATION_SCHEMA[name][0] if name in INFORMATION_SCHEMA else None
    if schema not in (None, "pg_catalog"):
        return None
    found = t.BY_NAME.get(name)
    return None if found is None or (found.category == "P" and found not in (t.RECORD, t.VOID)) else found


def _modifier(node: exp.Expression) -> int:
    """Return a modifier's number, including its sign."""
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    if not isinstance(literal, exp.Literal) or not literal.name.isdecimal():
        raise SqlSyntaxError(
            "type modifiers must be simple constants or identifiers", position=cursor(position(literal))
        )
    return read_integer(t.INT4, f"-{literal.name}" if negative else literal.name)


def _float(modifiers: list[int], node: exp.DataType) -> t.PgType:
    """Return the type of float(n), where n counts binary digits."""
    if not modifiers:
        return t.FLOAT8
    at = cursor(position(node.expressions[0]))
    if modifiers[0] < 1:
        raise InvalidParameterValue("precision for type float must be at least 1 bit", position=at)
    if modifiers[0] > 53:
        raise InvalidParameterValue("precision for type float must be less than 54 bits", position=at)
    return t.FLOAT4 if modifiers[0] <= 24 else t.FLOAT8


def _typmod(pg: t.PgType, modifiers: list[int], node: exp.DataType, notice: Callable[[str], None]) -> int:
    at = cursor(position(node))
    if pg is t.NUMERIC:
        return _numeric(modifiers, at)
    if pg in (t.VARCHAR, t.BPCHAR):
        return _length("varchar" if pg is t.VARCHAR else "char", modifiers, at)
    if pg in (t.BIT, t.VARBIT):
        return _bits("bit" if pg is t.BIT else "varbit", modifiers, at)
    if pg in (t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ):
        name = "TIME" if pg in (t.TIME, t.TIMETZ) else "TIMESTAMP"
        zone = " WITH TIME ZONE" if pg in (t.TIMETZ, t.TIMESTAMPTZ) else ""
        return _fraction(name, zone, _single(modifiers, at), notice)
    raise SqlSyntaxError(f'type modifier is not allowed for type "{pg.name}"', position=at)


def _single(modifiers: list[int], at: int | None) -> int:
    if len(modifiers) != 1:
        raise InvalidParameterValue("invalid type modifier", position=at)
    return modifiers[0]


def _numeric(modifiers: list[int], at: int | None) -> int:
    if len(modifiers) > 2:
        raise InvalidParameterValue("invalid NUMERIC type modifier", position=at)
    precision, scale = modifiers[0], modifiers[1] if len(modifiers) == 2 else 0
    if not 1 <= precision <= 1000:
        raise InvalidParameterValue(f"NUMERIC precision {precision} must be between 1 and 1000", position=at)
    if not -1000 <= scale <= 1000:
        raise InvalidParameterValue(f"NUMERIC scale {scale} must be between -1000 and 1000", position=at)
    if scale > st.MAX_PRECISION:
        raise FeatureNotSupported(
            f"not supported: type numeric({precision},{scale})",
            hint=f"A numeric has up to {st.MAX_PRECISION} digits here.",
            position=at,
        )
    return t.numeric_typmod(precision, scale)


def _length(name: str, modifiers: list[int], at: int | None) -> int:
    length = _single(modifiers, at)
    if length < 1:
        raise InvalidParameterValue(f"length for type {name} must be at least 1", position=at)
    if length > _CHARACTERS_MAX:
        raise InvalidParameterValue(f"length for type {name} cannot exceed {_CHARACTERS_MAX}", position=at)
    return length + 4


def _bits(name: str, modifiers: list[int], at: int | None) -> int:
    length = _single(modifiers, at)
    if length < 1:
        raise InvalidParameterValue(f"length for type {name} must be at least 1", position=at)
    if length > _BITS_MAX:
        raise InvalidParameterValue(f"length for type {name} cannot exceed {_BITS_MAX}", position=at)
    return length


def _fraction(name: str, zone: str, digits: int, notice: Callable[[str], None]) -> int:
    if digits < 0:
        raise InvalidParameterValue(f"{name}({digits}){zone} precision must not be negative")
    if digits > _FRACTION_MAX:
        notice(f"{name}({digits}){zone} precision reduced to maximum allowed, {_FRACTION_MAX}")
        return _FRACTION_MAX
    return digits


def _interval(node: exp.DataType, modifiers: list[int], notice: Callable[[str], None]) -> int:
    """Return the modifier of INTERVAL fields(precision), -1 if it has neither (timestamp.c: intervaltypmodin)."""
    precision = _fraction("INTERVAL", "", modifiers[0], notice) if modifiers else None
    return interval_typmod(node.args.get("fields") or "", precision)

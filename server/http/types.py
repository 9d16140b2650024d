"""Trino's names of PostgreSQL's types, and the buenavista type family of their values.

A type that Trino lacks is a varchar with PostgreSQL's text. That includes intervals: Trino's two interval types hold
months or seconds, PostgreSQL's holds both.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from buenavista.core import BVType
from buenavista.http.schemas import ClientTypeSignature, ClientTypeSignatureParameter

from engine.common.sql_type import MAX_PRECISION, SqlType
from wire.types import pg_types as t

#: By PostgreSQL's name: Trino's name, its arguments, the family.
_TYPES: Final[dict[str, tuple[str, tuple[int, ...], BVType]]] = {
    "bool": ("boolean", (), BVType.BOOL),
    "int2": ("smallint", (), BVType.INTEGER),
    "int4": ("integer", (), BVType.INTEGER),
    "int8": ("bigint", (), BVType.BIGINT),
    "oid": ("bigint", (), BVType.BIGINT),
    "float4": ("real", (), BVType.FLOAT),
    "float8": ("double", (), BVType.FLOAT),
    "bytea": ("varbinary", (), BVType.BYTES),
    "date": ("date", (), BVType.DATE),
    "time": ("time", (6,), BVType.TIME),
    "timetz": ("time with time zone", (6,), BVType.TIME),
    "timestamp": ("timestamp", (6,), BVType.TIMESTAMP),
    "timestamptz": ("timestamp with time zone", (6,), BVType.TIMESTAMP),
    "uuid": ("uuid", (), BVType.TEXT),
    "json": ("json", (), BVType.JSON),
    "jsonb": ("json", (), BVType.JSON),
    "interval": ("varchar", (), BVType.INTERVAL),
}
#: The header that the type modifier of varchar and char counts in addition to the length.
_HEADER: Final = 4
#: The length in the signature of an unbounded varchar.
_UNBOUNDED: Final = 2**31 - 1


def names() -> dict[str, str]:
    """Return PostgreSQL's names of the types that are not varchars in Trino, with Trino's full names."""
    return {name: _type_text(raw, arguments) for name, (raw, arguments, _) in _TYPES.items() if raw != "varchar"}


def family(typ: t.PgType) -> BVType:
    if typ.is_array:
        return BVType.ARRAY
    if typ is t.NUMERIC:
        return BVType.DECIMAL
    return _TYPES[typ.name][2] if typ.name in _TYPES else BVType.TEXT


def trino_name(typ: SqlType, carrier: pa.DataType | None = None) -> str:
    """Return the Trino name of a type, such as `decimal(10,2)` or `array(integer)`. carrier: the Arrow type of the
    values, which has the number of an array's dimensions.
    """
    if typ.pg.is_array:
        depth = _dimensions(carrier)
        return "array(" * depth + trino_name(element(typ)) + ")" * depth
    raw, arguments = _raw(typ)
    return _type_text(raw, arguments)


def signature(typ: SqlType, carrier: pa.DataType | None = None) -> ClientTypeSignature:
    """Return the Trino type as a tree."""
    if typ.pg.is_array:
        tree = signature(element(typ))
        for _ in range(_dimensions(carrier)):
            tree = _tree("array", "TYPE", (tree,))
        return tree
    raw, arguments = _raw(typ)
    if raw == "varchar" and not arguments:
        arguments = (_UNBOUNDED,)
    return _tree(raw, "LONG", arguments)


def _tree(raw: str, kind: str, arguments: tuple[Any, ...]) -> ClientTypeSignature:
    parameters = [ClientTypeSignatureParameter(kind=kind, value=value) for value in arguments]
    return ClientTypeSignature(raw_type=raw, arguments=parameters)


def _raw(typ: SqlType) -> tuple[str, tuple[int, ...]]:
    match typ.pg:
        case t.NUMERIC:
            return "decimal", (typ.precision or MAX_PRECISION, typ.scale)
        case t.VARCHAR if typ.typmod > 0:
            return "varchar", (typ.typmod - _HEADER,)
        case t.BPCHAR if typ.typmod > 0:
            return "char", (typ.typmod - _HEADER,)
    raw, arguments, _ = _TYPES.get(typ.pg.name, ("varchar", (), BVType.TEXT))
    return raw, arguments


def _type_text(raw: str, arguments: tuple[int, ...]) -> str:
    if not arguments:
        return raw
    head, _, tail = raw.partition(" ")
    return f"{head}({','.join(map(str, arguments))})" + (f" {tail}" if tail else "")


def element(typ: SqlType) -> SqlType:
    """Return the type of an array's elements."""
    return SqlType(t.element_of(typ.pg), typ.typmod, typ.precision, typ.scale, typ.display, typ.minimum)


def _dimensions(carrier: pa.DataType | None) -> int:
    depth = 0
    while carrier is not None and pa.types.is_list(carrier):
        depth, carrier = depth + 1, carrier.value_type
    return max(depth, 1)

"""Canonical values (`engine.plan_ir.expr`) as literals of each engine: exact, and in the storage type of their type.

A literal never depends on the session's time zone, and never passes through a type that could round it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, element_type
from engine.common.value_sizes import are_long
from engine.contracts.query_id import EngineName
from engine.sql.trees.build import call, cast, integer, operand, string
from engine.sql.trees.storage_types import storage_type
from engine.sql.trees.unsupported import Unsupported
from wire.errors import NumericValueOutOfRange
from wire.types import pg_types as t

_EPOCH: Final = datetime(1970, 1, 1)
_DATE_INFINITY: Final = {2**31 - 1: "infinity", -(2**31): "-infinity"}
_TIMESTAMP_INFINITY: Final = {2**63 - 1: "infinity", -(2**63): "-infinity"}
#: The days and microseconds of years 1 to 9999, which both engines read as text.
_DAYS: Final = range(-719_162, 2_932_897)
_MICROS: Final = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
#: More digits than any numeric has that a client can send.
_PARAMETER_DIGITS: Final = 150_000
#: The number of items from which on an array of numbers is one text instead of a tree with a node per item.
_LONG_ARRAY: Final = 1000
_NUMBERS: Final = frozenset((t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8))
#: Decimals with more digits than this are written as text: a numeric literal may not have more than 38 digits in either
#: engine.
_LITERAL_DIGITS: Final = 18

_Maker = Callable[[Any, SqlType, EngineName], exp.Expression]


def literal(value: Any, typ: SqlType, engine: EngineName) -> exp.Expression:
    """Return a canonical value of `typ` as a tree in its storage type."""
    if value is None:
        return cast(exp.Null(), storage_type(typ, engine))
    if typ.pg.is_array:
        return _array(value, typ, engine)
    if typ.pg.is_row:
        return _row(value, typ, engine)
    return _MAKERS[typ.pg.carried or typ.pg](value, typ, engine)


def _as_storage(tree: exp.Expression, typ: SqlType, engine: EngineName) -> exp.Expression:
    return cast(tree, storage_type(typ, engine))


def _bool(value: bool, _typ: SqlType, _engine: EngineName) -> exp.Expression:
    return exp.Boolean(this=bool(value))


def _integer(value: int, typ: SqlType, engine: EngineName) -> exp.Expression:
    if abs(value) >= 2**63 or (typ.pg is t.INT4 and abs(value) >= 2**31):
        return _as_storage(string(str(value)), typ, engine)
    return integer(value) if typ.pg is t.INT4 else _as_storage(integer(value), typ, engine)


def _float(value: float, typ: SqlType, engine: EngineName) -> exp.Expression:
    if math.isnan(value):
        return _as_storage(string("NaN"), typ, engine)
    if math.isinf(value):
        return _as_storage(string("Infinity" if value > 0 else "-Infinity"), typ, engine)
    return _as_storage(string(repr(float(value))), typ, engine)


def _numeric(value: Decimal, typ: SqlType, engine: EngineName) -> exp.Expression:
    if typ.is_wide:
        return string(format(value, "f"))
    if not value.is_finite():
        raise Unsupported(engine, f"numeric {value}")
    if not fits(value, typ):
        raise NumericValueOutOfRange(f"numeric value {value} does not fit numeric({typ.precision},{typ.scale})")
    text, negative = format(value.copy_abs(), "f"), value.is_signed()
    if len(text) > _LITERAL_DIGITS:
        return _as_storage(string(("-" if negative else "") + text), typ, engine)
    magnitude: exp.Expression = exp.Literal.number(text)
    return _as_storage(exp.Neg(this=magnitude) if negative else magnitude, typ, engine)


def fits(value: Decimal, typ: SqlType) -> bool:
    """Return whether a finite value is one of the type, without rounding."""
    # Decimal's arithmetic (normalize, abs, unary minus) rounds to the context's 28 digits, so only copies are used
    # here.
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    significant = "".join(map(str, digits)).lstrip("0")
    if not significant:
        return True
    scale = max(len(significant.rstrip("0")) - len(significant) - exponent, 0)
    return scale <= typ.scale and len(significant) + exponent <= typ.precision - typ.scale


def _text(value: str, _typ: SqlType, _engine: EngineName) -> exp.Expression:
    return string(value)


def _bytea(value: bytes, _typ: SqlType, _engine: EngineName) -> exp.Expression:
    return call("UNHEX", string(value.hex()))


def _date(value: int, typ: SqlType, engine: EngineName) -> exp.Expression:
    if value in _DAYS:
        return _as_storage(string(date.fromordinal(value + 719_163).isoformat()), typ, engine)
    if engine == "spark" and value in _DATE_INFINITY:
        raise Unsupported(engine, "infinite dates")
    if engine == "spark":
        return call("DATE_FROM_UNIX_DATE", _integer(value, SqlType(t.INT4), engine))
    if value in _DATE_INFINITY:
        return _as_storage(string(_DATE_INFINITY[value]), typ, engine)
    epoch = _as_storage(string("1970-01-01"), typ, engine)
    return exp.Paren(this=exp.Add(this=epoch, expression=operand(integer(value))))


def _timestamp(value: int, typ: SqlType, engine: EngineName) -> exp.Expression:
    zoned = typ.pg is t.TIMESTAMPTZ
    if value in _MICROS:
        moment = _EPOCH + timedelta(microseconds=value)
        return _as_storage(string(moment.isoformat(" ") + ("+00:00" if zoned else "")), typ, engine)
    micros = _integer(value, SqlType(t.INT8), engine)
    if engine == "local":
        if value in _TIMESTAMP_INFINITY:
            return _as_storage(string(_TIMESTAMP_INFINITY[value]), typ, engine)
        return call("MAKE_TIMESTAMPTZ" if zoned else "MAKE_TIMESTAMP", micros)
    if value in _TIMESTAMP_INFINITY:
        raise Unsupported(engine, "infinite timestamps")
    if zoned:
        return call("TIMESTAMP_MICROS", micros)
    epoch = _as_storage(string("1970-01-01 00:00:00"), typ, engine)
    return call("TIMESTAMPADD", exp.Var(this="MICROSECOND"), micros, epoch)


def _time(value: int, typ: SqlType, engine: EngineName) -> exp.Expression:
    if engine == "spark":
        return _integer(value, SqlType(t.INT8), engine)
    seconds, micros = divmod(value, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return _as_storage(string(clock + (f".{micros:06}" if micros else "")), typ, engine)


def _timetz(value: dict[str, int], typ: SqlType, engine: EngineName) -> exp.Expression:
    micros = _integer(value["micros"], SqlType(t.INT8), engine)
    return struct(engine, {"micros": micros, "zone": integer(value["zone"])})


def _interval(value: Any, typ: SqlType, engine: EngineName) -> exp.Expression:
    months, days, nanos = value
    micros, rest = divmod(nanos, 1000)
    assert rest == 0, "intervals are multiples of a microsecond"
    if engine == "local":
        return _as_storage(string(f"{months} months {days} days {micros} microseconds"), typ, engine)
    int4, int8 = SqlType(t.INT4), SqlType(t.INT8)
    return struct(
        engine,
        {
            "months": _integer(months, int4, engine),
            "days": _integer(days, int4, engine),
            "micros": _integer(micros, int8, engine),
        },
    )


def _void(_value: Any, typ: SqlType, engine: EngineName) -> exp.Expression:
    return _as_storage(exp.Null(), typ, engine)


def _array(value: list[Any], typ: SqlType, engine: EngineName) -> exp.Expression:
    """Return a rectangular array; several dimensions are lists of lists."""
    depth = _depth(value)
    element = element_type(typ)
    long = engine == "local" and element.pg in _NUMBERS and are_long(value, _LONG_ARRAY)
    tree = _list_text(value) if long else _list(value, element, engine)
    return cast(tree, array_storage(storage_type(element, engine), max(depth, typ.dimensions)))


def _list_text(value: list[Any]) -> exp.Expression:
    """Return numbers as DuckDB's text of a list: Python writes it the same way, except for NULL."""
    return string(str(value).replace("None", "NULL"))


def _row(value: dict[str, Any], typ: SqlType, engine: EngineName) -> exp.Expression:
    if not typ.fields:
        raise Unsupported(engine, "rows without fields")
    # A parameter was read by the type as it was when the statement was prepared: attributes added since are null.
    fields = [(typ.pg.field(index), field) for index, (_, field) in enumerate(typ.fields)]
    return struct(engine, {name: literal(value.get(name), field, engine) for name, field in fields})


def _depth(value: Any) -> int:
    return 1 + (_depth(value[0]) if value else 0) if isinstance(value, list) else 0


def _list(value: list[Any], element: SqlType, engine: EngineName) -> exp.Expression:
    items = [_list(v, element, engine) if isinstance(v, list) else literal(v, element, engine) for v in value]
    return exp.Array(expressions=items)


def array_storage(element: exp.DataType, depth: int) -> exp.DataType:
    """Return the storage type of arrays of `depth` dimensions over `element`."""
    for _ in range(depth):
        element = exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[element], nested=True)
    return element


def struct(engine: EngineName, fields: dict[str, exp.Expression]) -> exp.Expression:
    """Return a struct of named fields."""
    if engine == "spark":
        return call("NAMED_STRUCT", *(part for name, tree in fields.items() for part in (string(name), tree)))
    pairs = [exp.PropertyEQ(this=exp.to_identifier(name), expression=tree) for name, tree in fields.items()]
    return call("STRUCT_PACK", *pairs)


_MAKERS: Final[dict[t.PgType, _Maker]] = {
    t.BOOL: _bool,
    **dict.fromkeys((t.INT2, t.INT4, t.INT8, *t.UNSIGNED), _integer),
    t.FLOAT4: _float,
    t.FLOAT8: _float,
    t.NUMERIC: _numeric,
    **dict.fromkeys(
        (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.UNKNOWN, t.JSON, t.JSONB, t.UUID, t.PG_NODE_TREE), _text
    ),
    t.BYTEA: _bytea,
    t.DATE: _date,
    t.TIME: _time,
    t.TIMETZ: _timetz,
    t.TIMESTAMP: _timestamp,
    t.TIMESTAMPTZ: _timestamp,
    t.INTERVAL: _interval,
    t.VOID: _void,
}

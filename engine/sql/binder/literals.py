"""Constants: number literals, untyped string literals read as the type that the context wants, casts of constants.

A constant that is cast while binding stays a constant, so that a literal beside a numeric column costs no digits of its
precision (`1 - l_discount` is numeric(1,0) minus numeric(15,2)) and filters on literals can be pushed into readers.
Text is read by `wire.types.input`, the same code that reads text parameters.

Folding never changes when an error is raised: a cast of a typed constant that fails is left for run time, since a CASE
may never evaluate it. Only an untyped literal is read at once and its error raised here, as PostgreSQL's parser does.

Source: PostgreSQL 15, make_const and coerce_type (the unknown literal); numeric.c for rounding.
"""

from __future__ import annotations

import decimal
import math
import re
import struct
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Const
from engine.sql.binder.wide_numerics import refusal
from engine.sql.parser.lexical.positions import cursor
from engine.sql.trees.literals import fits
from wire.common.digits import parse_digits
from wire.errors import SqlError
from wire.types import pg_types as t
from wire.types.bits import fit_length
from wire.types.carriers import NumericScale
from wire.types.input import parse_text
from wire.types.numbers_input import apply_numeric_typmod, read_numeric
from wire.types.output import format_value
from wire.types.text_settings import InputSettings
from wire.types.value_codecs import CODECS

#: Room for any constant that a decimal holds.
_EXACT: Final = decimal.Context(prec=st.MAX_PRECISION)
_INT_RANGE: Final = {t.INT2: 1 << 15, t.INT4: 1 << 31, t.INT8: 1 << 63}
_INTEGERS: Final = frozenset(_INT_RANGE)
_FLOATS: Final = frozenset({t.FLOAT4, t.FLOAT8})
_BITS: Final = (t.BIT, t.VARBIT)
_STRINGS: Final = frozenset({t.TEXT, t.VARCHAR, t.BPCHAR, t.UNKNOWN})
_DATETIMES: Final = frozenset({t.DATE, t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ})
#: Types whose modifier rounds or cuts in the same way whether a value is read or cast, and without errors.
_READ_WITH_MODIFIER: Final = frozenset({t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL})
#: Input that has another value in the next execution.
_RELATIVE: Final = re.compile(r"\b(now|today|tomorrow|yesterday)\b", re.IGNORECASE)


def null(typ: SqlType, at: int = -1) -> Const:
    return Const(typ, None, position=at)


def boolean(value: bool, at: int = -1) -> Const:
    return Const(st.of(t.BOOL), value, position=at)


def unknown_literal(value: str | None, at: int = -1) -> Const:
    """Return a string literal or NULL of type unknown, which its context determines."""
    return Const(st.of(t.UNKNOWN), value, position=at)


def int4(value: int) -> Const:
    return Const(st.of(t.INT4), value)


def int8(value: int) -> Const:
    return Const(st.of(t.INT8), value)


def text(value: str, at: int = -1) -> Const:
    return Const(st.of(t.TEXT), value, position=at)


def number(digits: str, at: int = -1) -> Const:
    """Return the constant of a number literal, with its minus sign if it has one: int4, int8 or numeric by its size
    (make_const).
    """
    if digits.lstrip("-").isdecimal():
        value = parse_digits(digits)
        for pg in (t.INT4, t.INT8):
            if -_INT_RANGE[pg] <= value < _INT_RANGE[pg]:
                return Const(st.of(pg), value, position=at)
    try:
        return numeric(read_numeric(digits), at)
    except SqlError as error:
        error.position = error.position or cursor(at)
        raise


def numeric(value: Decimal, at: int = -1) -> Const:
    """Return a numeric constant with exactly its own digits; see `engine.sql.binder.wide_numerics` for one with too
    many.
    """
    typ, kept = _own_digits(value)
    return Const(typ, kept, position=at)


def is_wide(value: Decimal) -> bool:
    """Return whether no engine's decimal holds a numeric: NaN, an infinity, or more than 38 digits."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        return True
    return max(len(value.as_tuple().digits) + max(exponent, 0), -exponent) > st.MAX_PRECISION


def _own_digits(value: Decimal) -> tuple[SqlType, Decimal]:
    if is_wide(value):
        return st.wide_numeric(), value
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    # PostgreSQL's numerics have no negative zero.
    value = value if value else value.copy_abs()
    if exponent > 0:
        value = value.quantize(Decimal(1), context=_EXACT)
    return st.numeric(len(value.as_tuple().digits), scale), value


def with_digits(expr: Const, typ: SqlType) -> Const:
    """Return a constant with the digits of `typ`. Raises FeatureNotSupported for a numeric that no engine's decimal
    holds.
    """
    if expr.type.is_wide and not typ.is_wide and not _fit(expr.value, typ):
        raise refusal("a column with", expr.position)
    return replace(expr, type=typ)


def _fit(value: Any, typ: SqlType) -> bool:
    return all(item.is_finite() and fits(item, typ) for item in flatten([value]))


def depends_on_now(literal: str, target: t.PgType) -> bool:
    """Return whether this literal has another value in another transaction."""
    base = t.element_of(target) if target.is_array else target
    return base in _DATETIMES and _RELATIVE.search(literal) is not None


def read_unknown(literal: Const, target: SqlType, settings: InputSettings) -> Const:
    """Read an untyped literal as a constant of `target`'s type; a string's length is not applied.

    Raises the type's input error (22P02, 22003, 22007 ...) at the literal's position.
    """
    pg = target.pg
    if literal.value is None:
        return null(st.of(pg), literal.position)
    if pg in _STRINGS:
        return replace(literal, type=SqlType(pg))
    typmod = target.typmod if _base(pg) in _READ_WITH_MODIFIER else -1
    try:
        value = parse_text(pg, literal.value, typmod=typmod, settings=settings)
    except SqlError as error:
        error.position = error.position or cursor(literal.position)
        raise
    if typmod >= 0:
        return Const(replace(st.of(pg, typmod), dimensions=dimensions_of(value)), value, position=literal.position)
    return constant(pg, value, literal.position)


def _base(pg: t.PgType) -> t.PgType:
    return t.element_of(pg) if pg.is_array else pg


def constant(pg: t.PgType, value: Any, at: int = -1) -> Const:
    """Return a constant of a canonical value. A numeric, or an array of them, has the digits of the value."""
    if pg is t.NUMERIC and value is not None:
        return numeric(value, at)
    if pg.is_array and t.element_of(pg) is t.NUMERIC:
        digits = [_own_digits(v)[0] for v in flatten(value) if v is not None]
        if any(x.is_wide for x in digits):
            return Const(replace(st.wide_numeric(), pg=pg, dimensions=dimensions_of(value)), value, position=at)
        typ = common_digits(pg, digits) if digits else replace(st.numeric(1, 0), pg=pg)
        return Const(replace(typ, dimensions=dimensions_of(value)), value, position=at)
    return Const(replace(st.of(pg), dimensions=dimensions_of(value)), value, position=at)


def dimensions_of(value: Any) -> int:
    """Return the number of dimensions of an array's canonical value; 1 for an empty array and for a value that is no
    array.
    """
    return 1 + dimensions_of(value[0]) if isinstance(value, list) and value and isinstance(value[0], list) else 1


def flatten(value: Any) -> list[Any]:
    """Return the elements of a (nested) list, in order."""
    if isinstance(value, list | tuple):
        return [x for item in value for x in flatten(item)]
    return [] if value is None else [value]


def common_digits(pg: t.PgType, types: list[SqlType]) -> SqlType:
    """Return `pg` (numeric or an array of it) with enough digits for each of `types`, clamped to what the engines
    hold.

    If not all digits fit, those after the point are kept at the cost of those before it: a silently lost fraction would
    be a wrong answer, while a value that is too large raises 22003.
    """
    scale = max(x.scale for x in types)
    whole = max(x.precision - x.scale for x in types)
    displays = {x.display for x in types}
    quotient = NumericScale.QUOTIENT in displays
    single = len(displays) == 1
    display = displays.pop() if single else NumericScale.QUOTIENT if quotient else NumericScale.TRIMMED
    minimum = max(x.minimum for x in types)
    typmods = {x.typmod for x in types}
    typmod = typmods.pop() if len(typmods) == 1 else -1
    return replace(st.numeric(whole + scale, scale, display, minimum=minimum, typmod=typmod), pg=pg)


def fold(value: Const, target: SqlType, settings: InputSettings) -> Const | None:
    """Cast a typed constant (explicitly) to `target`, including its modifier; None if that is left for run time."""
    if value.value is None:
        return null(target, value.position)
    try:
        folded = _fold(value.type.pg, value.value, target, settings)
    except SqlError:
        return None
    return None if folded is None else replace(folded, position=value.position)


def _fold(source: t.PgType, value: Any, target: SqlType, settings: InputSettings) -> Const | None:
    if source.is_array and target.pg.is_array:
        return _fold_array(t.element_of(source), value, target, settings)
    return _convert(source, value, target, settings)


def _fold_array(source: t.PgType, value: list[Any], target: SqlType, settings: InputSettings) -> Const | None:
    listed = _fold_items(source, value, st.element_type(target), settings)
    if listed is None:
        return None
    kept = replace(target, dimensions=dimensions_of(listed))
    return Const(kept, listed) if target.typmod >= 0 else constant(target.pg, listed)


def _fold_items(source: t.PgType, value: list[Any], element: SqlType, settings: InputSettings) -> list[Any] | None:
    listed: list[Any] = []
    for item in value:
        if isinstance(item, list):
            inner = _fold_items(source, item, element, settings)
            if inner is None:
                return None
            listed.append(inner)
            continue
        made = null(element) if item is None else _convert(source, item, element, settings)
        if made is None:
            return None
        listed.append(made.value)
    return listed


def _convert(source: t.PgType, value: Any, target: SqlType, settings: InputSettings) -> Const | None:
    pg = target.pg
    if pg in _STRINGS:
        as_text = _to_text(source, value)
        return None if as_text is None else _fit_string(as_text, target)
    if source in _STRINGS:
        return _from_text(value, target, settings)
    if source in _BITS and pg in _BITS:
        return Const(target, fit_length(pg, value, target.typmod))
    if pg is t.NUMERIC:
        exact = _exact(source, value)
        return None if exact is None else fit_numeric(exact, target)
    if pg in _INTEGERS or pg is t.OID:
        return _to_integer(source, value, target)
    if pg in _FLOATS:
        return _to_float(source, value, target)
    return None


def _to_text(source: t.PgType, value: Any) -> str | None:
    if source is t.BPCHAR:
        return str(value).rstrip(" ")
    if source in _STRINGS:
        return str(value)
    if source in _INTEGERS or source is t.NUMERIC:
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if source is t.BOOL:
        return "true" if value else "false"
    if source.category == "E" or (source in CODECS and source not in (t.INET, t.CIDR)):
        return format_value(source, value)
    if source is t.REGTYPE and value in t.BY_OID:
        return t.type_name(t.BY_OID[value])
    return None


def _fit_string(value: str, target: SqlType) -> Const:
    if target.typmod < 0:
        return Const(target, value)
    length = target.typmod - 4
    return Const(target, value[:length].ljust(length) if target.pg is t.BPCHAR else value[:length])


def _from_text(value: str, target: SqlType, settings: InputSettings) -> Const | None:
    if depends_on_now(value, target.pg):
        return None
    read = read_unknown(unknown_literal(value), target, settings)
    base = t.element_of(target.pg) if target.pg.is_array else target.pg
    if target.typmod < 0 or read.value is None or (base is not t.NUMERIC and base not in _BITS):
        return read
    # Numerics and bit strings are read without their modifier, which is applied here.
    return _fold(read.type.pg, read.value, target, settings)


def _exact(source: t.PgType, value: Any) -> Decimal | None:
    if source in _FLOATS and not math.isfinite(value):
        return Decimal(value)
    return Decimal(value) if source in _INTEGERS or source is t.NUMERIC else None


def fit_numeric(value: Decimal, target: SqlType) -> Const:
    """Round a numeric to the target's modifier, half away from zero. Raises NumericValueOutOfRange."""
    if target.typmod < 0:
        return numeric(value)
    rounded = apply_numeric_typmod(value, target.typmod)
    held = rounded.is_finite() and fits(rounded, target)
    return Const(target if held else st.wide_numeric(target.typmod), rounded)


def _to_integer(source: t.PgType, value: Any, target: SqlType) -> Const | None:
    if source is t.NUMERIC:
        if not value.is_finite():
            return None
        value = int(value.to_integral_value(rounding=decimal.ROUND_HALF_UP))
    elif source not in _INTEGERS:
        return None
    if target.pg is t.OID:
        return Const(target, value) if 0 <= value < 1 << 32 else None
    bound = _INT_RANGE[target.pg]
    return Const(target, value) if -bound <= value < bound else None


def _to_float(source: t.PgType, value: Any, target: SqlType) -> Const | None:
    if source not in _INTEGERS and source not in _FLOATS and source is not t.NUMERIC:
        return None
    number = float(value)
    if target.pg is t.FLOAT4:
        try:
            number = struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            return None
    infinite = value.is_infinite() if isinstance(value, Decimal) else math.isinf(value)
    overflows = math.isinf(number) and not infinite
    return None if overflows or (number == 0 and value != 0) else Const(target, number)

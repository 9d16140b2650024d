"""Coercion of expressions to the types that their context requires: implicit, assignment and explicit casts, and
common types.

The query binder also uses this module, for set operations, VALUES, LIMIT and USING. `casts` says which casts are
allowed, `literals` reads and folds constants, and the function table has the function that computes a cast. A cast that
PostgreSQL has and the function table lacks is 0A000.

Source: PostgreSQL 15, parse_coerce.c (coerce_to_target_type, coerce_type, select_common_type); chapter 10.4 and 10.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from engine.common import sql_type as st
from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import SqlType, element_type
from engine.plan_ir.expr import ArrayOf, Call, CastContext, Const, Expr, Function, ParamRef, Relabel, Row, with_type
from engine.sql.binder import literals, regnames
from engine.sql.binder.casts import POLYMORPHIC, TEXTUAL, Means, can_coerce, find_pathway, is_string
from engine.sql.binder.levels import is_set_returning
from engine.sql.binder.scope import BindContext
from engine.sql.binder.wide_numerics import refusal
from engine.sql.functions.lengths import WITHIN_BITS, WITHIN_LENGTH
from engine.sql.functions.registry import Registry
from engine.sql.functions.vectors import VECTORS
from engine.sql.parser.lexical.positions import cursor
from wire.errors import CannotCoerce, DatatypeMismatch, FeatureNotSupported, StringDataRightTruncation
from wire.types import pg_types as t
from wire.types.bits import check_length
from wire.types.carriers import NumericScale

_INTEGER_DIGITS: Final = {t.INT2: 5, t.INT4: 10, t.INT8: 19}
#: Constructs that pass on values of several expressions without comparing them.
_PASSED_ON: Final = frozenset({"ARRAY", "CASE", "COALESCE", "VALUES", "UNION"})
_OIDS: Final = frozenset(t.OID_TYPES)
#: Types whose modifier changes values (those with a length coercion function in pg_cast).
_SIZED: Final = frozenset(
    {t.BPCHAR, t.VARCHAR, t.NUMERIC, t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL, t.BIT, t.VARBIT}
)


class Coercer:
    """Casts for one statement: literals are read by its settings, and parameters take their type from their first use."""

    def __init__(self, context: BindContext, functions: Registry) -> None:
        self._context = context
        self._functions = functions

    # -- one expression to one type ------------------------------------------------------------------------------

    def coerce(self, expr: Expr, target: SqlType, context: CastContext, at: int = -1) -> Expr:
        """Cast `expr` to `target`, including its modifier.

        Raises CannotCoerce (42846) where `context` does not allow it, the literal's own input error, or
        FeatureNotSupported.
        """
        if not can_coerce(expr.type.pg, target.pg, context):
            raise CannotCoerce(
                f"cannot cast type {expr.type.pg.sql_name} to {target.pg.sql_name}",
                position=cursor(at if at >= 0 else expr.position),
            )
        if isinstance(expr, ParamRef) and expr.type.pg.is_array and target.dimensions > 1:
            # The parameter's value may not be known yet.
            expr = _with_dimensions(expr, target.dimensions)
        folded = self._fold_cast(expr, target) if context == "explicit" else None
        if folded is not None:
            return folded
        if target.pg is t.BIT and expr.type.pg in (t.INT4, t.INT8):
            # The cast itself needs the number of bits.
            return self._call_cast(expr, target.pg, target)
        if target.pg.category == "C" and isinstance(expr, Row):
            return self._row_as(expr, target.pg, context, at)
        typed = _read_for_modifier(self.coerce_type(expr, target.pg, context, target), target)
        return self._with_modifier(typed, target, context)

    def coerce_type(self, expr: Expr, pg: t.PgType, context: CastContext, target: SqlType | None = None) -> Expr:
        """Cast `expr` to type `pg` without a modifier; the cast must be allowed (`can_coerce`)."""
        check_for_interrupts()
        source = expr.type.pg
        if source is pg or pg is t.ANY or pg in POLYMORPHIC:
            return expr
        if source is t.UNKNOWN:
            return self._from_unknown(expr, target or SqlType(pg))
        if isinstance(expr, Const):
            folded = literals.fold(expr, _own_digits(expr.type, pg), self._context.input_settings)
            if folded is not None:
                return folded
            if context == "explicit" and isinstance(expr.value, str) and literals.depends_on_now(expr.value, pg):
                return self._from_unknown(literals.unknown_literal(expr.value), SqlType(pg))
        return self._cast(expr, pg, context)

    def settle(self, expr: Expr) -> Expr:
        """Return `expr`, cast to text if its type is unknown: for output columns, GROUP BY keys and sort keys."""
        if isinstance(expr, Row):
            return self._settle_row(expr)
        return self.coerce_type(expr, t.TEXT if expr.type.pg is t.UNKNOWN else expr.type.pg, "implicit")

    def _settle_row(self, row: Row) -> Row:
        if row.type.pg is not t.RECORD:
            return row  # Its items have been coerced to the types of the composite type's attributes.
        items = tuple(self.settle(item) for item in row.items)
        fields = tuple((name, item.type) for (name, _), item in zip(row.type.fields, items, strict=True))
        return replace(row, type=replace(row.type, fields=fields), items=items)

    def as_boolean(self, expr: Expr, clause: str) -> Expr:
        """Coerce `expr` to the condition of `clause` ("WHERE", "JOIN/ON", "CASE/WHEN" ...). Raises DatatypeMismatch."""
        return self.as_type(expr, t.BOOL, clause)

    def as_type(self, expr: Expr, pg: t.PgType, clause: str) -> Expr:
        """Coerce `expr` to `pg`, which `clause` ("LIMIT", "OFFSET" ...) requires. Raises DatatypeMismatch (42804)."""
        if can_coerce(expr.type.pg, pg, "assignment"):
            expr = self.coerce_type(expr, pg, "assignment")
        if expr.type.pg is not pg:
            raise DatatypeMismatch(
                f"argument of {clause} must be type {pg.sql_name}, not type {expr.type.pg.sql_name}",
                position=cursor(expr.position),
            )
        if any(is_set_returning(part) for part in expr.walk()):
            leftmost = min((p.position for p in expr.walk() if p.position >= 0), default=-1)
            raise DatatypeMismatch(f"argument of {clause} must not return a set", position=cursor(leftmost))
        return expr

    # -- several expressions to one type -------------------------------------------------------------------------

    def unify(self, exprs: Sequence[Expr], what: str) -> tuple[SqlType, list[Expr]]:
        """Coerce the expressions to their common type. `what` ("CASE", "UNION", "ARRAY" ...) begins the error
        messages.

        Raises DatatypeMismatch (42804) for types of different categories, CannotCoerce (42846).
        """
        pg = self.common_type(exprs, what)
        coerced = [self.to_common(e, pg, what) for e in exprs]
        typ = common(coerced, passed_on=what in _PASSED_ON)
        return typ, [self.relabel(e, typ) for e in coerced]

    def common_type(self, exprs: Sequence[Expr], what: str | None) -> t.PgType:
        """Return the common type (select_common_type). If `what` is None, types that do not match give unknown instead
        of an error.
        """
        found: t.PgType = exprs[0].type.pg
        for expr in exprs[1:]:
            other = expr.type.pg
            if other is t.UNKNOWN or other is found:
                continue
            if found is t.UNKNOWN:
                found = other
            elif other.category != found.category:
                if what is None:
                    return t.UNKNOWN
                message = f"{what} types {found.sql_name} and {other.sql_name} cannot be matched"
                raise DatatypeMismatch(message, position=cursor(expr.position))
            elif (
                not found.preferred
                and can_coerce(found, other, "implicit")
                and not can_coerce(other, found, "implicit")
            ):
                found = other
        return t.TEXT if found is t.UNKNOWN else found

    def to_common(self, expr: Expr, pg: t.PgType, what: str) -> Expr:
        """Coerce `expr` to the common type (coerce_to_common_type)."""
        if not can_coerce(expr.type.pg, pg, "implicit"):
            message = f"{what} could not convert type {expr.type.pg.sql_name} to {pg.sql_name}"
            raise CannotCoerce(message, position=cursor(expr.position))
        if pg is t.ANYARRAY and isinstance(expr, Const) and expr.value is None:
            # A column of the system catalog has this type, which elsewhere is only polymorphic.
            return literals.null(SqlType(pg), expr.position)
        return self.coerce_type(expr, pg, "implicit")

    def relabel(self, expr: Expr, typ: SqlType) -> Expr:
        """Return `expr`, which is of `typ.pg`, with `typ`'s digits: with a cast if the engines store it differently."""
        if expr.type == typ:
            return expr
        if typ.pg.is_array and expr.type.dimensions != typ.dimensions:
            expr = _with_dimensions(expr, typ.dimensions)
        if _digits(expr.type) == _digits(typ):
            return replace(with_type(expr, typ), position=expr.position)
        if isinstance(expr, Const):
            return literals.with_digits(expr, typ)
        if typ.is_wide and typ.pg is t.NUMERIC:
            return Relabel(typ, self._cast(expr, t.TEXT, "explicit"), position=expr.position)
        return self._call_cast(expr, typ.pg, typ)

    # -- means ---------------------------------------------------------------------------------------------------

    def _from_unknown(self, expr: Expr, target: SqlType) -> Expr:
        if isinstance(expr, ParamRef):
            known = self._context.parameters.fix(expr.index, SqlType(target.pg), expr.position)
            return replace(expr, type=replace(known, dimensions=max(known.dimensions, target.dimensions)))
        if not isinstance(expr, Const):
            raise FeatureNotSupported(
                f"not supported: an expression of type unknown as {target.pg.sql_name}", position=cursor(expr.position)
            )
        if isinstance(expr.value, str) and regnames.is_name(target.pg, expr.value):
            oid = regnames.read_name(target.pg, expr.value, self._context, expr.position)
            return literals.constant(target.pg, oid, expr.position)
        if isinstance(expr.value, str) and target.pg.is_array and t.element_of(target.pg) in regnames.OBJECTS:
            oids = regnames.read_names(target.pg, expr.value, self._context, expr.position)
            return literals.constant(target.pg, oids, expr.position)
        if isinstance(expr.value, str) and literals.depends_on_now(expr.value, target.pg):
            self._context.stable = False
        return literals.read_unknown(expr, target, self._context.literal_settings or self._context.input_settings)

    def _fold_cast(self, expr: Expr, target: SqlType) -> Expr | None:
        """Evaluate an explicit cast of a constant, including its modifier; None if that is left for run time."""
        if not isinstance(expr, Const):
            return None
        if expr.type.pg is t.UNKNOWN:
            if expr.value is None:
                return literals.null(target, expr.position)
            read = self._from_unknown(expr, target)
            assert isinstance(read, Const)
            expr = read
        if expr.type.pg is target.pg and expr.type.typmod == target.typmod:
            return expr
        if expr.type.pg is target.pg and target.typmod < 0:
            return with_type(expr, replace(expr.type, typmod=-1))
        return literals.fold(expr, target, self._context.input_settings)

    def _cast(self, expr: Expr, pg: t.PgType, context: CastContext) -> Expr:
        source = expr.type.pg
        means = find_pathway(source, pg, context)
        assert means is not None, f"no cast from {source.name} to {pg.name}"
        if pg.is_row and source.is_row:
            return self._row_as(expr, pg, context)
        target = _own_digits(expr.type, pg)
        if _same_storage(source, pg, means):
            return replace(with_type(expr, target), position=expr.position)
        return self._call_cast(expr, pg, target)

    def _row_as(self, expr: Expr, pg: t.PgType, context: CastContext, at: int = -1) -> Expr:
        """Cast a row constructor to a composite type, each item to its attribute's type (coerce_record_to_complex). A
        value of a composite type is accepted as a record.
        """
        if pg is t.RECORD:
            if isinstance(expr, Row):
                return replace(expr, type=SqlType(pg, fields=expr.type.fields))
            if context == "implicit":
                return expr
            raise FeatureNotSupported(
                f"not supported: cast from {expr.type.pg.sql_name} to record", position=cursor(expr.position)
            )
        if expr.type.pg is pg:
            return expr
        fields, place = SqlType(pg).fields, cursor(at if at >= 0 else expr.position)
        refused = f"cannot cast type record to {pg.sql_name}"
        if not isinstance(expr, Row):
            raise CannotCoerce(refused, position=place)
        if len(expr.items) != len(fields):
            which = "few" if len(expr.items) < len(fields) else "many"
            raise CannotCoerce(refused, detail=f"Input has too {which} columns.", position=place)
        items = []
        for number, (item, (_, typ)) in enumerate(zip(expr.items, fields, strict=True), 1):
            if not can_coerce(item.type.pg, typ.pg, context):
                detail = f"Cannot cast type {item.type.pg.sql_name} to {typ.pg.sql_name} in column {number}."
                raise CannotCoerce(refused, detail=detail, position=place)
            items.append(self.relabel(self.coerce(item, typ, context), typ))
        return Row(SqlType(pg), tuple(items), position=at if at >= 0 else expr.position)

    def _call_cast(self, expr: Expr, pg: t.PgType, target: SqlType) -> Expr:
        """Return a call of the function table's cast, by way of text if only the types' I/O functions can do it."""
        if pg.is_array and expr.type.pg.is_array:
            target = replace(target, dimensions=expr.type.dimensions)
        if isinstance(expr, ArrayOf) and pg.is_array:
            element = replace(target, dimensions=1) if target.dimensions > 1 else element_type(target)
            items = tuple(self._item(item, element) for item in expr.items)
            return ArrayOf(target, items, position=expr.position)
        if isinstance(expr, ParamRef) and expr.type.is_wide and target.typmod >= 0:
            # The parameter's value is rounded when it is bound (`sized_parameter`).
            expr = replace(expr, type=replace(st.of(t.NUMERIC), pg=expr.type.pg, dimensions=expr.type.dimensions))
        if expr.type.is_wide or target.is_wide:
            return self._cast_wide(expr, pg, target)
        row = self._row(expr.type.pg, pg)
        if row is not None:
            typ = target
            if target.typmod < 0 and row.rule is not None and expr.type.pg is not pg:
                typ = replace(row.rule([expr.type]), pg=pg, typmod=-1, dimensions=target.dimensions)
            return Call(typ, row, (expr,), position=expr.position)
        if is_string(pg) and t.TEXT not in (pg, expr.type.pg):
            return self._cast(self._cast(expr, t.TEXT, "explicit"), pg, "explicit")
        if is_string(expr.type.pg) and expr.type.pg is not t.TEXT and pg is not t.TEXT:
            return self._call_cast(self._cast(expr, t.TEXT, "explicit"), pg, target)
        if expr.type.pg is t.TEXT and pg.is_array and target.dimensions <= 1:
            [row] = self._functions.functions("=array_items")
            return self._cast(Call(SqlType(row.returns), row, (expr,), position=expr.position), pg, "explicit")
        raise FeatureNotSupported(
            f"not supported: cast from {expr.type.pg.sql_name} to {pg.sql_name}",
            position=cursor(expr.position),
        )

    def _item(self, item: Expr, element: SqlType) -> Expr:
        cast = self.coerce(item, element, "explicit")
        return self.relabel(cast, element) if cast.type.is_wide else cast

    def _cast_wide(self, expr: Expr, pg: t.PgType, target: SqlType) -> Expr:
        """Cast from or to a wide numeric by way of its text."""
        if expr.type.pg.is_array or pg.is_array:
            raise refusal("a cast of arrays with", expr.position)
        if isinstance(expr, Const) and expr.value is not None:
            text: Expr = literals.text(format(expr.value, "f"), expr.position)
        else:
            text = Relabel(SqlType(t.TEXT), expr, position=expr.position)
        if pg is t.TEXT:
            return text
        if is_string(pg):
            return self._cast(text, pg, "explicit")
        if pg not in (t.NUMERIC, t.FLOAT4, t.FLOAT8):
            raise _no_integer(expr, pg)
        return self._call_cast(text, pg, replace(target, typmod=-1) if pg is t.NUMERIC and target.is_wide else target)

    def _row(self, source: t.PgType, target: t.PgType) -> Function | None:
        found = self._functions.find_cast(source, target)
        if found is None and (source.is_array or target.is_array):
            found = self._functions.find_cast(
                t.ANYARRAY if source.is_array else source, t.ANYARRAY if target.is_array else target
            )
        if found is None and source.is_row:
            found = self._functions.find_cast(t.RECORD, target)
        return found

    def _with_modifier(self, expr: Expr, target: SqlType, context: CastContext) -> Expr:
        """Apply the target's length, precision or fields to an expression of its type (coerce_type_typmod)."""
        base = t.element_of(target.pg) if target.pg.is_array else target.pg
        if target.typmod < 0 or base not in _SIZED:
            return with_type(expr, replace(expr.type, typmod=-1)) if expr.type.typmod >= 0 else expr
        if expr.type.typmod == target.typmod:
            return expr
        if isinstance(expr, Const) and (context == "explicit" or base is t.NUMERIC):
            folded = literals.fold(expr, target, self._context.input_settings)
            if folded is not None:
                return folded
        if context != "explicit" and base in (t.VARCHAR, t.BPCHAR):
            return _assign_string(expr, target)
        if context != "explicit" and base in (t.BIT, t.VARBIT):
            return _assigned_bits(expr, target)
        return self._call_cast(expr, target.pg, target)


def _with_dimensions(expr: Expr, dimensions: int) -> Expr:
    """Set the number of dimensions of an array for which it is open: a null, an empty array, or a parameter, whose
    value decides it. Raises FeatureNotSupported for others.
    """
    if isinstance(expr, ParamRef) or (isinstance(expr, Const) and not expr.value):
        return replace(expr, type=replace(expr.type, dimensions=dimensions))
    raise FeatureNotSupported(
        f"not supported: arrays of {expr.type.dimensions} and of {dimensions} dimensions in one column",
        position=cursor(expr.position),
    )


def _assign_string(expr: Expr, target: SqlType) -> Expr:
    """Fit a string, or the strings of an array, into a column of limited length: only blanks may be cut off. Raises
    StringDataRightTruncation.
    """
    if not isinstance(expr, Const):
        kept = replace(target, dimensions=expr.type.dimensions)
        return Call(kept, WITHIN_LENGTH[target.pg], (expr,), position=expr.position)
    fitted = _fit_length(expr.value, element_type(target) if target.pg.is_array else target)
    return replace(expr, type=replace(target, dimensions=expr.type.dimensions), value=fitted)


def _fit_length(value: Any, typ: SqlType) -> Any:
    if isinstance(value, list):
        return [_fit_length(item, typ) for item in value]
    if value is None:
        return None
    length = typ.typmod - 4
    if len(str(value).rstrip(" ")) > length:
        raise StringDataRightTruncation(f"value too long for type {typ}")
    kept = str(value)[:length]
    return kept.ljust(length) if typ.pg is t.BPCHAR else kept


def _assigned_bits(expr: Expr, target: SqlType) -> Expr:
    """Fit a bit string into a column of limited length. Raises StringDataLengthMismatch, StringDataRightTruncation."""
    if isinstance(expr, Const):
        base = t.element_of(target.pg) if target.pg.is_array else target.pg
        for bits in literals.flatten(expr.value):
            check_length(base, bits, target.typmod)
        return replace(expr, type=replace(target, dimensions=expr.type.dimensions))
    if target.pg.is_array:
        raise FeatureNotSupported(f"not supported: assignment to {target}", position=cursor(expr.position))
    return Call(target, WITHIN_BITS[target.pg], (expr,), position=expr.position)


def common(exprs: Sequence[Expr], *, passed_on: bool = False) -> SqlType:
    """Return the SqlType that expressions of one type share: their modifier if all have the same, and enough digits
    for all.

    passed_on: whether the result is one of the expressions and they are not compared.

    PostgreSQL would print each numeric with its own number of digits, which a column of one decimal type cannot: values
    get the digits of the longest. Constants without a trailing zero are the exception: trimming prints those exactly.
    """
    first = exprs[0].type
    if first.pg.is_array:
        first = replace(first, dimensions=_common_dimensions(exprs))
    base = t.element_of(first.pg) if first.pg.is_array else first.pg
    if base is t.NUMERIC:
        # A null needs no digits.
        known = [e for e in exprs if not (isinstance(e, Const) and e.value is None)]
        if any(e.type.is_wide for e in known):
            return replace(_common_wide(known, passed_on=passed_on), pg=first.pg, dimensions=first.dimensions)
        types = [e.type for e in known] or [replace(st.numeric(1, 0), pg=first.pg)]
        digits = replace(literals.common_digits(first.pg, types), dimensions=first.dimensions)
        mixed = len({e.type.scale for e in known}) > 1
        return replace(digits, display=NumericScale.TRIMMED) if mixed and all(map(_is_trimmed, known)) else digits
    if base is t.RECORD:
        return _common_record(exprs)
    if all(e.type.typmod == first.typmod for e in exprs):
        return first
    return replace(first, typmod=-1)


def _no_integer(expr: Expr, pg: t.PgType) -> FeatureNotSupported:
    if isinstance(expr, Const) and not expr.value.is_finite() and pg in _INTEGER_DIGITS:
        return FeatureNotSupported(f"cannot convert {'NaN' if expr.value.is_nan() else 'infinity'} to {pg.sql_name}")
    return refusal(f"cast to {pg.sql_name} of", expr.position)


def _common_wide(exprs: Sequence[Expr], *, passed_on: bool) -> SqlType:
    """Return the common type of wide numerics, which cannot be compared or sorted."""
    if len(exprs) > 1 and not passed_on:
        raise refusal("a comparison with", next(e.position for e in exprs if e.type.is_wide))
    typmods = {expr.type.typmod for expr in exprs}
    return st.wide_numeric(typmods.pop() if len(typmods) == 1 else -1)


def _common_dimensions(exprs: Sequence[Expr]) -> int:
    """Return the number of dimensions that arrays share; nulls and empty arrays do not count. Raises
    FeatureNotSupported for different numbers.
    """
    known = {e.type.dimensions: e for e in exprs if not (isinstance(e, Const) and not e.value)}
    if len(known) > 1:
        (one, _), (other, expr) = list(known.items())[:2]
        raise FeatureNotSupported(
            f"not supported: arrays of {one} and of {other} dimensions in one column", position=cursor(expr.position)
        )
    return next(iter(known), 1)


def _common_record(exprs: Sequence[Expr]) -> SqlType:
    """Return the common type of records, or of arrays of them. The engines require the same fields; nulls do not
    count.
    """
    known = [e.type for e in exprs if not (isinstance(e, Const) and e.value is None)] or [exprs[0].type]
    if any(typ != known[0] for typ in known):
        raise FeatureNotSupported("not supported: records whose fields have several types, together")
    return known[0]


def _is_trimmed(expr: Expr) -> bool:
    """Whether a numeric constant, or each numeric in an array constant, has no trailing zero after the point."""
    return isinstance(expr, Const) and all(
        v.as_tuple().exponent == 0 or v.as_tuple().digits[-1] != 0 for v in literals.flatten([expr.value])
    )


def _same_storage(source: t.PgType, target: t.PgType, means: Means) -> bool:
    """Whether a cast changes the type only and not the stored value. Text and names stay the same; bpchar loses its
    trailing blanks, so it does not qualify.
    """
    if means is Means.ARRAY and source in VECTORS:
        return source.element == target.element
    if means is Means.RELABEL and (source.carried or target.carried):
        return (source.carried or source) is (target.carried or target)
    if means is Means.RELABEL:
        return {source, target} <= TEXTUAL or {source, target} <= _OIDS
    return source in (t.NAME, t.CHAR) and target in (t.TEXT, t.VARCHAR, t.BPCHAR)


def _digits(typ: SqlType) -> tuple[int, int]:
    return (typ.precision, typ.scale)


#: Digits before the point for which there is room when a text is read for a shorter numeric, so that a number that is
#: too large is reported as such.
_READ_INTEGERS: Final = 16


def _read_for_modifier(expr: Expr, target: SqlType) -> Expr:
    """Widen the scale of a cast from text to numeric that is then rounded to the target's digits. It reads as many
    fractional digits as there is room for, which are more than those of a numeric without a modifier.
    """
    if target.pg is not t.NUMERIC or target.typmod < 0 or target.is_wide:
        return expr
    if not isinstance(expr, Call) or expr.function.kind != "cast" or expr.args[0].type.pg is not t.TEXT:
        return expr
    integers = max(target.precision - target.scale + 1, _READ_INTEGERS)
    scale = max(st.MAX_PRECISION - integers, expr.type.scale)
    return replace(expr, type=replace(expr.type, scale=max(scale, target.scale)))


def _own_digits(source: SqlType, pg: t.PgType) -> SqlType:
    """Return `pg` without modifier, with the digits that a value of `source` can need."""
    base = t.element_of(pg) if pg.is_array else pg
    if base is not t.NUMERIC:
        fields = source.fields if pg in (t.RECORD, t.RECORDS) else ()
        return SqlType(pg, fields=fields, dimensions=source.dimensions if pg.is_array else 1)
    inner = t.element_of(source.pg) if source.pg.is_array else source.pg
    if inner is t.NUMERIC:
        return replace(source, pg=pg, typmod=-1)
    dimensions = source.dimensions if pg.is_array else 1
    if inner in _INTEGER_DIGITS:
        return replace(st.numeric(_INTEGER_DIGITS[inner], 0), pg=pg, dimensions=dimensions)
    precision, scale = st.UNKNOWN_DIGITS
    return replace(st.numeric(precision, scale, NumericScale.TRIMMED), pg=pg, dimensions=dimensions)

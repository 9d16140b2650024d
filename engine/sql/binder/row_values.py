"""Comparison of rows as values: composite types, whole rows, and records that a query returns.

Unlike the comparison of two row constructors (`operators_syntax.row_comparison`), it orders nulls among the fields: two
nulls are equal, and a null is greater than any other value. The result is null only where a row itself is null. The
comparison is expanded field by field, each through the operators of its type, so both engines give the same result.

Source: PostgreSQL 15, rowtypes.c (record_eq, record_cmp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.common import sql_type as st
from engine.plan_ir.expr import And, Case, Const, Expr, IsNull, Not, Or, ParamRef, Row
from engine.sql.binder import literals
from engine.sql.binder.blocks import row_items
from wire.dataclass import dataclass
from wire.errors import DatatypeMismatch
from wire.types import pg_types as t

_BOOL = st.of(t.BOOL)


@dataclass(frozen=True, slots=True)
class RowValues:
    """The comparison of row values; fields may be rows too. less: returns whether one field is less than the other,
    without regard to nulls. same: returns whether one field is not distinct from the other.
    """

    less: Callable[[Expr, Expr], Expr]
    same: Callable[[Expr, Expr], Expr]

    def compare(self, symbol: str, left: Expr, right: Expr, at: int) -> Expr:
        """Return `left symbol right`. Raises DatatypeMismatch."""
        if any(_is_nothing(side) for side in (left, right)):
            return literals.null(_BOOL, at)
        first, second = _fields(left, right)
        if symbol in ("=", "<>"):
            found = self._equal(first, second)
        else:
            pair = (first, second) if symbol in ("<", ">=") else (second, first)
            found = self._less(*pair)
        if symbol in ("<>", "<=", ">="):
            found = Not(_BOOL, found, position=at)
        unknown = [_null(side) for side in (left, right) if not isinstance(side, Row)]
        return Case(_BOOL, ((_any(unknown), literals.null(_BOOL)),), found, position=at) if unknown else found

    def not_distinct(self, left: Expr, right: Expr, at: int) -> Expr:
        """Return `left IS NOT DISTINCT FROM right`. Raises DatatypeMismatch."""
        equal = self._equal(*_fields(left, right))
        nulls = [_null(side) for side in (left, right) if not isinstance(side, Row)]
        if not nulls:
            return equal
        whens = [(_any(nulls), literals.boolean(False))]
        if len(nulls) == 2:
            whens.insert(0, (And(_BOOL, tuple(nulls)), literals.boolean(True)))
        return Case(_BOOL, tuple(whens), equal, position=at)

    def _equal(self, left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
        parts = tuple(self.same(a, b) for a, b in zip(left, right, strict=True))
        if not parts:
            return literals.boolean(True)
        return And(_BOOL, parts) if len(parts) > 1 else parts[0]

    def _less(self, left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
        if not left:
            return literals.boolean(False)
        (a, *rest), (b, *others) = left, right
        before = Case(
            _BOOL, ((_null(a), literals.boolean(False)), (_null(b), literals.boolean(True))), self.less(a, b)
        )  # fmt: skip
        if not rest:
            return before
        return Or(_BOOL, (before, And(_BOOL, (self.same(a, b), self._less(rest, others)))))


def _is_nothing(side: Expr) -> bool:
    """Whether a side can only be null: a null constant, or a parameter of type record, for which no other value can be
    passed.
    """
    if isinstance(side, ParamRef):
        return side.type.pg is t.RECORD
    return isinstance(side, Const) and side.value is None


def _null(value: Expr) -> Expr:
    return IsNull(_BOOL, value, whole=True)


def _any(tests: Sequence[Expr]) -> Expr:
    return Or(_BOOL, tuple(tests)) if len(tests) > 1 else tests[0]


def _fields(left: Expr, right: Expr) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    first, second = row_items(left), row_items(right)
    for number, (a, b) in enumerate(zip(first, second, strict=False), 1):
        if a.type.pg is not b.type.pg:
            kinds = f"{a.type.pg.sql_name} and {b.type.pg.sql_name}"
            raise DatatypeMismatch(f"cannot compare dissimilar column types {kinds} at record column {number}")
    if len(first) != len(second):
        raise DatatypeMismatch("cannot compare record types with different numbers of columns")
    return first, second

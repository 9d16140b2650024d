"""Operators and predicates: arithmetic, comparison (also of rows), AND OR NOT, IS, BETWEEN, IN a list, ANY and ALL
over arrays, LIKE and SIMILAR TO, AT TIME ZONE, EXTRACT.

These are handlers of `engine.sql.binder.expressions`; the forms over a query are in `subqueries`.

Predicates whose equality the engine decides (IN, IS DISTINCT FROM) compare stored values. Where that differs from
PostgreSQL's equality, the operands are converted first (bpchar loses its trailing blanks) or the predicate is expanded
with the function table's `=` (intervals, jsonb).

Source: PostgreSQL 15, parse_expr.c (transformAExprOp ... transformAExprBetween, make_row_comparison_op,
make_row_distinct_op, transformAExprIn), gram.y for the forms that are shorthand for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.plan_ir.expr import (
    And,
    ArrayOf,
    Call,
    Case,
    Coalesce,
    ColumnRef,
    Const,
    Expr,
    Function,
    InList,
    IsDistinct,
    IsNull,
    Not,
    Or,
    gather_items,
)
from engine.sql.binder import literals, object_names, parameter_lists
from engine.sql.binder.blocks import row_items
from engine.sql.binder.levels import is_set_returning
from engine.sql.binder.row_values import RowValues
from engine.sql.binder.scope import Scope
from engine.sql.binder.values import bind_row_items
from engine.sql.binder.wide_numerics import apply_operator
from engine.sql.functions.arrays import quantified_operator
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.regex import patterns
from wire.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    SqlError,
    SqlSyntaxError,
    UndefinedFunction,
    WrongObjectType,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder, Handler

SYMBOLS: Final[Mapping[type[exp.Expression], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Pow: "^",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_PATTERNS: Final[Mapping[type[exp.Expression], str]] = {exp.Like: "~~", exp.ILike: "~~*", exp.SimilarTo: "~"}
_COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_QUERIES: Final = (exp.Query, exp.Subquery, exp.Values)
#: Types whose stored values are equal exactly when PostgreSQL's `=` says so, on both engines.
_PLAIN_EQUALITY: Final = frozenset(
    {
        *(t.BOOL, t.INT2, t.INT4, t.INT8, *t.UNSIGNED, t.FLOAT4, t.FLOAT8),
        *(t.NUMERIC, t.TEXT, t.VARCHAR, t.NAME, t.CHAR, t.UUID, t.BYTEA, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ),
    }
)


# -- operators -------------------------------------------------------------------------------------------------------


def bind_binary(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    return _binary(binder, SYMBOLS[type(node)], node.this, node.expression, scope, position(node))


def bind_operator(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind any other operator, and OPERATOR(schema.symbol); without a left operand it is a prefix operator."""
    symbol, schema, at = str(node.args["operator"]), node.args.get("schema"), position(node)
    if schema is not None and str(getattr(schema, "name", schema)) != "pg_catalog":
        raise FeatureNotSupported(f"not supported: OPERATOR({schema}.{symbol})", position=cursor(at))
    symbol = "<>" if symbol == "!=" else symbol
    if node.args.get("this") is None:
        return compute(binder, symbol, [binder.bind(node.expression, scope)], at)
    return _binary(binder, symbol, node.this, node.expression, scope, at)


def bind_negation(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind unary minus. The negative of a number literal is a literal, so that -2147483648 is an integer; the negative
    of that is a literal again (gram.y: doNegate).
    """
    at = position(node)
    number, sign = node.this, "-"
    while isinstance(number, exp.Neg):
        number, sign = number.this, "" if sign else "-"
    if isinstance(number, exp.Literal) and not number.is_string:
        return literals.number(f"{sign}{number.this}", at)
    return compute(binder, "-", [binder.bind(node.this, scope)], at)


def _binary(
    binder: ExpressionBinder, symbol: str, left: exp.Expression, right: exp.Expression, scope: Scope, at: int
) -> Expr:
    if isinstance(right, exp.Any | exp.All):
        return bind_quantified(binder, symbol, left, right, scope, at)
    if isinstance(left, exp.Tuple) and isinstance(right, _QUERIES):
        return binder.bind_row_query(symbol, left, right, scope, at)
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
        return row_comparison(
            binder, symbol, bind_row_items(binder, left, scope), bind_row_items(binder, right, scope), at
        )
    a, b = binder.bind(left, scope), binder.bind(right, scope)
    if symbol == "||" and any(side.type.pg.category in "SX" for side in (a, b)):
        a, b = (object_names.with_object_names(binder, side, scope) for side in (a, b))
    return comparison(binder, symbol, a, b, at)


def compute(binder: ExpressionBinder, symbol: str, operands: Sequence[Expr], at: int) -> Expr:
    """Apply an operator; with a wide numeric operand, return the result if no engine is needed."""
    if any(operand.type.is_wide or operand.type.pg is t.UNKNOWN for operand in operands):
        choice = binder.choose_operator(symbol, tuple(o.type.pg for o in operands), at)
        found = apply_operator(symbol, binder.coerce_arguments(choice, operands, wide=True))
        if found is not None:
            return found
    return binder.operator(symbol, operands, at)


def comparison(binder: ExpressionBinder, symbol: str, left: Expr, right: Expr, at: int) -> Expr:
    """Return `left symbol right`; two rows are compared field by field."""
    if symbol != "||":  # || converts a row to text
        left, right = _row_typed(binder, left, right), _row_typed(binder, right, left)
    if left.type.pg.is_row and right.type.pg.is_row and symbol in _COMPARISONS:
        return _row_values(binder, at).compare(symbol, left, right, at)
    return compute(binder, symbol, [left, right], at)


def _row_typed(binder: ExpressionBinder, side: Expr, other: Expr) -> Expr:
    """Give a side without a type the other side's row type."""
    if not other.type.pg.is_row or side.type.pg is not t.UNKNOWN:
        return side
    if isinstance(side, Const) and side.value is not None:
        message = "input of anonymous composite types is not implemented"
        raise FeatureNotSupported(message, position=cursor(side.position))
    return binder.coercer.coerce_type(side, t.RECORD, "implicit")


def _row_values(binder: ExpressionBinder, at: int) -> RowValues:
    return RowValues(
        lambda a, b: comparison(binder, "<", a, b, at),
        lambda a, b: distinct(binder, a, b, True, at),
    )


def row_comparison(binder: ExpressionBinder, symbol: str, left: Sequence[Expr], right: Sequence[Expr], at: int) -> Expr:
    """Return (a, b) symbol (c, d): compared from left to right, and null if a null comes before the first difference."""
    _check_rows(left, right, at)
    if symbol not in _COMPARISONS:
        _refuse_row_operator(binder, symbol, left, right, at)
    pairs = list(zip(left, right, strict=True))
    forbid_sets([*left, *right], at)
    if len(pairs) == 1:
        return comparison(binder, symbol, *pairs[0], at)
    if symbol in ("=", "<>"):
        parts = tuple(comparison(binder, symbol, a, b, at) for a, b in pairs)
        return _and(parts, at) if symbol == "=" else _or(parts, at)
    return _lexicographic(binder, symbol, pairs, at)


def _lexicographic(binder: ExpressionBinder, symbol: str, pairs: Sequence[tuple[Expr, Expr]], at: int) -> Expr:
    (a, b), rest = pairs[0], pairs[1:]
    if not rest:
        return comparison(binder, symbol, a, b, at)
    strictly = comparison(binder, symbol[0], a, b, at)
    equal = comparison(binder, "=", a, b, at)
    return _or((strictly, _and((equal, _lexicographic(binder, symbol, rest, at)), at)), at)


def _check_rows(left: Sequence[Expr], right: Sequence[Expr], at: int) -> None:
    if len(left) != len(right):
        raise SqlSyntaxError("unequal number of entries in row expressions", position=cursor(at))
    if not left:
        raise FeatureNotSupported("cannot compare rows of zero length", position=cursor(at))


def forbid_sets(items: Sequence[Expr], at: int) -> None:
    """Raises DatatypeMismatch if an operand of a row comparison returns a set."""
    if any(is_set_returning(part) for item in items for part in item.walk()):
        raise DatatypeMismatch("row comparison operator must not return a set", position=cursor(at))


def _refuse_row_operator(
    binder: ExpressionBinder, symbol: str, left: Sequence[Expr], right: Sequence[Expr], at: int
) -> None:
    found = binder.operator(symbol, [left[0], right[0]], at)
    if found.type.pg is not t.BOOL:
        message = f"row comparison operator must yield type boolean, not type {found.type.pg.sql_name}"
        raise DatatypeMismatch(message, position=cursor(at))
    raise FeatureNotSupported(
        f"could not determine interpretation of row comparison operator {symbol}",
        hint="Row comparison operators must be associated with btree operator families.",
        position=cursor(at),
    )


def _and(args: Sequence[Expr], at: int) -> Expr:
    return And(st.of(t.BOOL), tuple(args), position=at) if len(args) > 1 else args[0]


def _or(args: Sequence[Expr], at: int) -> Expr:
    return Or(st.of(t.BOOL), tuple(args), position=at) if len(args) > 1 else args[0]


def negate(expr: Expr, at: int = -1) -> Expr:
    return Not(st.of(t.BOOL), expr, position=at)


# -- AND, OR, NOT ----------------------------------------------------------------------------------------------------


def bind_and(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    return _and(_flatten_operands(binder, node, scope, exp.And, "AND"), position(node))


def bind_or(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    return _or(_flatten_operands(binder, node, scope, exp.Or, "OR"), position(node))


def _flatten_operands(
    binder: ExpressionBinder, node: exp.Expression, scope: Scope, kind: type[exp.Connector], word: str
) -> list[Expr]:
    """Return the operands of a chain of one connective as a flat list, so that a chain of a thousand does not nest."""
    operands: list[exp.Expression] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, kind):
            pending += [current.expression, current.this]
        else:
            operands.append(current)
    return [binder.as_boolean(binder.bind(o, scope), word) for o in operands]


def bind_not(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    at = position(node)
    inner = node.this
    written_together = position(inner) == at
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and written_together:
        return is_null(binder.bind(inner.this, scope), True, at)
    if type(inner) in _PATTERNS and written_together:
        return _pattern(binder, inner, None, scope, at, negated=True)
    return negate(binder.as_boolean(binder.bind(inner, scope), "NOT"), at)


# -- IS --------------------------------------------------------------------------------------------------------------


def bind_is(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind IS NULL, IS TRUE, IS FALSE, IS UNKNOWN; the parser wraps `IS NOT` in a Not."""
    at, what = position(node), node.expression
    arg = binder.bind(node.this, scope)
    if isinstance(what, exp.Null):
        return is_null(arg, False, at)
    if isinstance(what, exp.Boolean):
        clause = "IS TRUE" if what.this else "IS FALSE"
        condition = binder.as_boolean(arg, clause)
        wanted = condition if what.this else negate(condition, at)
        return Coalesce(st.of(t.BOOL), (wanted, literals.boolean(False)), position=at)
    return IsNull(st.of(t.BOOL), binder.as_boolean(arg, "IS UNKNOWN"), position=at)


def is_null(arg: Expr, negated: bool, at: int) -> Expr:
    """Return IS [NOT] NULL. For a row it tests whether all fields are (not) null, so the two forms are not each
    other's negation.
    """
    if not arg.type.pg.is_row:
        return IsNull(st.of(t.BOOL), arg, negated, position=at)
    tests = [IsNull(st.of(t.BOOL), item, negated, whole=True, position=at) for item in row_items(arg)]
    return _and(tests, at) if tests else literals.boolean(True, at)


def bind_distinct(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind IS [NOT] DISTINCT FROM."""
    at, negated = position(node), isinstance(node, exp.NullSafeEQ)
    if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
        left = bind_row_items(binder, node.this, scope)
        right = bind_row_items(binder, node.expression, scope)
    else:
        a, b = binder.bind(node.this, scope), binder.bind(node.expression, scope)
        return distinct(binder, a, b, negated, at)
    _check_rows(left, right, at)
    parts = [distinct(binder, a, b, negated, at) for a, b in zip(left, right, strict=True)]
    return _and(parts, at) if negated else _or(parts, at)


def distinct(binder: ExpressionBinder, left: Expr, right: Expr, negated: bool, at: int) -> Expr:
    """Return left IS [NOT] DISTINCT FROM right, by the `=` operator of their types."""
    for null, other in ((left, right), (right, left)):
        if isinstance(null, Const) and null.value is None and null.type.pg is t.UNKNOWN:
            return is_null(binder.settle(other), not negated, at)
    if left.type.pg.is_row and right.type.pg.is_row:
        same = _row_values(binder, at).not_distinct(left, right, at)
        return same if negated else negate(same, at)
    equal = binder.operator("=", [left, right], at)
    sides = comparable(binder, equal.args)
    if sides is not None:
        return IsDistinct(st.of(t.BOOL), sides[0], sides[1], negated, position=at)
    a, b = equal.args
    both = _and((is_null(a, False, at), is_null(b, False, at)), at)
    whens = (
        (both, literals.boolean(True)),
        (_or((is_null(a, False, at), is_null(b, False, at)), at), literals.boolean(False)),
    )
    same = Case(st.of(t.BOOL), whens, equal, position=at)
    return same if negated else negate(same, at)


def comparable(binder: ExpressionBinder, exprs: Sequence[Expr]) -> list[Expr] | None:
    """Convert the operands of one equality to values whose stored equality is right; None if there is no such
    conversion.
    """
    pg = binder.coercer.common_type(exprs, None)
    if pg is t.BPCHAR:
        return [binder.coercer.coerce_type(e, t.TEXT, "implicit") for e in exprs]
    if pg not in _PLAIN_EQUALITY:
        return None
    return binder.unify(exprs, "IN")[1]


# -- BETWEEN and IN --------------------------------------------------------------------------------------------------


def bind_between(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    at = position(node)

    def within(low: str, high: str) -> Expr:
        # Each comparison binds its operands again: an untyped operand may get another type in each.
        below = _binary(binder, ">=", node.this, node.args[low], scope, at)
        above = _binary(binder, "<=", node.this, node.args[high], scope, at)
        return _and([binder.as_boolean(below, "AND"), binder.as_boolean(above, "AND")], at)

    if node.args.get("symmetric"):
        return _or([within("low", "high"), within("high", "low")], at)
    return within("low", "high")


def bind_in(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    at, query = position(node), node.args.get("query")
    if query is not None:
        return binder.bind_quantified_query("=", node.this, query, False, scope, at)
    if isinstance(node.this, exp.Tuple):
        return _or([_binary(binder, "=", node.this, item, scope, at) for item in node.expressions], at)
    left = binder.bind(node.this, scope)
    listed = _in_parameters(binder, left, node.expressions, scope, at)
    return in_list(binder, left, binder.bind_all(node.expressions, scope), at) if listed is None else listed


def _in_parameters(
    binder: ExpressionBinder, left: Expr, nodes: Sequence[exp.Expression], scope: Scope, at: int
) -> Expr | None:
    """Bind left IN (items) for a long list of parameters; None if each item must be bound separately."""
    found = parameter_lists.read_list(nodes, scope.parameters)
    if found is None:
        return None
    try:
        # The first sample is repeated, because a list of one item would become a comparison.
        test = in_list(binder, left, [*found.samples, found.samples[0]], at)
    except SqlError:
        return None
    if not isinstance(test, InList) or any(parameter_lists.uncast_integer(item) is None for item in test.items):
        return None
    typ = test.items[0].type
    items = found.become(typ) if all(item.type == typ for item in test.items) else None
    return None if items is None else replace(test, items=items)


def in_list(binder: ExpressionBinder, left: Expr, items: Sequence[Expr], at: int) -> Expr:
    """Return left IN (items): constants together under one common type, items with columns one by one."""
    together, apart = list[Expr](), list[Expr]()
    for item in items:
        (apart if any(isinstance(part, ColumnRef) for part in item.walk()) else together).append(item)
    pg = binder.coercer.common_type([left, *together], None) if len(together) > 1 else t.UNKNOWN
    if pg is t.UNKNOWN or pg.is_row or pg.is_array:
        return _or([comparison(binder, "=", left, i, at) for i in items], at)
    tests = [_in_common(binder, left, together, pg, at)]
    tests += [comparison(binder, "=", left, i, at) for i in apart]
    return _or(tests, at)


def _in_common(binder: ExpressionBinder, left: Expr, items: Sequence[Expr], pg: t.PgType, at: int) -> Expr:
    typed = [binder.coercer.to_common(i, pg, "IN") for i in items]
    choice = binder.choose_operator("=", (left.type.pg, pg), at)
    left = binder.coercer.coerce_type(left, choice.args[0], "implicit")
    typed = [binder.coercer.coerce_type(i, choice.args[1], "implicit") for i in typed]
    sides = comparable(binder, [left, *typed])
    if sides is None:
        return _or([binder.operator("=", [left, i], at) for i in typed], at)
    return InList(st.of(t.BOOL), sides[0], gather_items(tuple(sides[1:]), parameter_lists.MANY), position=at)


# -- ANY and ALL -----------------------------------------------------------------------------------------------------


def bind_quantified(
    binder: ExpressionBinder, symbol: str, left: exp.Expression, right: exp.Expression, scope: Scope, at: int
) -> Expr:
    """Bind left symbol ANY|ALL (array or query)."""
    every, operand = isinstance(right, exp.All), right.this
    if isinstance(operand, _QUERIES):
        return binder.bind_quantified_query(symbol, left, right.this, every, scope, at)
    return over_array(binder, symbol, binder.bind(left, scope), binder.bind(operand, scope), every, at)


def over_array(binder: ExpressionBinder, symbol: str, left: Expr, array: Expr, every: bool, at: int) -> Expr:
    """Return left symbol ANY|ALL (array) (make_scalar_array_op)."""
    if array.type.pg is t.UNKNOWN:
        element = t.UNKNOWN
    elif array.type.pg.is_array:
        element = t.element_of(array.type.pg)
    else:
        raise WrongObjectType("op ANY/ALL (array) requires array on right side", position=cursor(at))
    choice = binder.choose_operator(symbol, (left.type.pg, element), at)
    if choice.returns is not t.BOOL:
        raise WrongObjectType("op ANY/ALL (array) requires operator to yield boolean", position=cursor(at))
    left = binder.coercer.coerce_type(left, choice.args[0], "implicit")
    array = binder.coercer.coerce_type(array, t.array_of(choice.args[1]), "implicit")
    listed = _as_list(binder, symbol, left, array, every, at)
    if listed is not None:
        return listed
    return Call(st.of(t.BOOL), _quantify(choice.function, every), (left, array), position=at)


@cache
def _quantify(operator: Function, every: bool) -> Function:
    """Return the function of an operator and quantifier. It is the same object each time, so that equal expressions
    compare equal.
    """
    return quantified_operator(operator, every)


def _as_list(binder: ExpressionBinder, symbol: str, left: Expr, array: Expr, every: bool, at: int) -> Expr | None:
    """Return `= ANY` of known elements as IN, and `<> ALL` as NOT IN, which engines can use to prune."""
    items = array_items(array)
    if not items or (symbol, every) not in (("=", False), ("<>", True)):
        return None
    sides = comparable(binder, [left, *items])
    if sides is None:
        return None
    found = InList(st.of(t.BOOL), sides[0], gather_items(tuple(sides[1:]), parameter_lists.MANY), position=at)
    return negate(found, at) if every else found


def array_items(array: Expr) -> tuple[Expr, ...] | None:
    """Return the elements of an array whose elements are written in the statement; None for any other array."""
    if isinstance(array, ArrayOf):
        return array.items
    if isinstance(array, Const) and isinstance(array.value, list):
        if any(isinstance(v, list) for v in array.value):
            return None
        return tuple(literals.constant(t.element_of(array.type.pg), v, array.position) for v in array.value)
    return None


# -- patterns --------------------------------------------------------------------------------------------------------


def bind_pattern(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind LIKE, ILIKE, SIMILAR TO without ESCAPE."""
    return _pattern(binder, node, None, scope, position(node))


def bind_escape(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    return _pattern(binder, node.this, binder.bind(node.expression, scope), scope, position(node.this))


def _pattern(
    binder: ExpressionBinder, node: exp.Expression, escape: Expr | None, scope: Scope, at: int, *, negated: bool = False
) -> Expr:
    """Bind a pattern match. negated: for NOT LIKE; over an array or a query it tests that each element does not match."""
    symbol = _PATTERNS[type(node)]
    if isinstance(node.expression, exp.Any | exp.All):
        if symbol == "~" or escape is not None:
            raise FeatureNotSupported("not supported: SIMILAR TO ANY, LIKE ANY with ESCAPE", position=cursor(at))
        return bind_quantified(binder, f"!{symbol}" if negated else symbol, node.this, node.expression, scope, at)
    pattern = binder.bind(node.expression, scope)
    if symbol == "~":
        pattern = _rewrite_pattern(binder, "similar_to_escape", patterns.similar_to_escape, pattern, escape, at)
    elif escape is not None:
        pattern = _rewrite_pattern(binder, "like_escape", patterns.like_escape, pattern, escape, at)
    operands = [binder.bind(node.this, scope), pattern]
    if not negated:
        return binder.operator(symbol, operands, at)
    try:
        found = binder.operator(symbol, operands, at)
    except UndefinedFunction:
        return binder.operator(f"!{symbol}", operands, at)
    return negate(binder.as_boolean(found, "NOT"), at)


def _rewrite_pattern(
    binder: ExpressionBinder, name: str, rewrite: Callable[..., str], pattern: Expr, escape: Expr | None, at: int
) -> Expr:
    given = [pattern] if escape is None else [pattern, escape]
    strings = [g for g in given if isinstance(g, Const) and g.type.pg in (t.UNKNOWN, t.TEXT, t.VARCHAR)]
    if len(strings) < len(given):
        return binder.function(name, given, at)
    if any(s.value is None for s in strings):
        return literals.null(st.of(t.TEXT), pattern.position)
    try:
        return literals.text(rewrite(*(s.value for s in strings)), pattern.position)
    except SqlError as error:
        error.position = None
        raise


# -- time ------------------------------------------------------------------------------------------------------------


def bind_at_time_zone(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    args = [binder.bind(node.args["zone"], scope), binder.bind(node.this, scope)]
    return binder.function("timezone", args, position(node))


def bind_extract(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind EXTRACT(field FROM x) as extract('field', x)."""
    field = literals.unknown_literal(node.this.name, position(node.this))
    return binder.function("extract", [field, binder.bind(node.expression, scope)], position(node))


HANDLERS: Final[Mapping[type[exp.Expression], Handler]] = {
    **dict.fromkeys(SYMBOLS, bind_binary),
    exp.Operator: bind_operator,
    exp.Neg: bind_negation,
    exp.And: bind_and,
    exp.Or: bind_or,
    exp.Not: bind_not,
    exp.Is: bind_is,
    exp.NullSafeEQ: bind_distinct,
    exp.NullSafeNEQ: bind_distinct,
    exp.Between: bind_between,
    exp.In: bind_in,
    **dict.fromkeys(_PATTERNS, bind_pattern),
    exp.Escape: bind_escape,
    exp.AtTimeZone: bind_at_time_zone,
    exp.Extract: bind_extract,
}

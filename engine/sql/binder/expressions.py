"""The expression binder: it turns parse trees into typed `Expr`s by PostgreSQL's rules and chooses every function.

    binder = ExpressionBinder(context, EXPRESSION_HANDLERS)
    expr = binder.bind(tree, scope)                 # literals may still be of type unknown
    expr = binder.as_boolean(expr, "WHERE")         # or coerce, unify, settle, as the context requires

There is one binder per statement. It resolves names and nested queries through the `Scope`, and functions through the
`Registry`. The result has `AggregateCall`s, `WindowCall`s, `GroupingCall`s and set-returning `Call`s where they were
written; the query binder extracts them and checks that they are allowed there.

Sibling modules do the work, each with the handlers of some node classes: `values` (literals, columns, arrays, rows,
casts, CASE), `operators_syntax` (operators, comparisons, predicates), `calls` (functions, aggregates, windows),
`subqueries`. `handlers` combines them. This module has what they share: choosing a row of the function table and
coercing its arguments.

Source: PostgreSQL 15, parse_expr.c (transformExprRecurse), parse_oper.c (make_op), parse_func.c (ParseFuncOrColumn).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, CastContext, Const, Expr, ParamRef
from engine.sql.binder import literals, resolution
from engine.sql.binder.casts import POLYMORPHIC
from engine.sql.binder.coercion import Coercer, common
from engine.sql.binder.resolution import Choice
from engine.sql.binder.scope import BindContext, Scope
from engine.sql.binder.wide_numerics import refusal, refuse_wide
from engine.sql.functions.dimensions import result_dimensions
from engine.sql.functions.registry import Registry, registry
from engine.sql.functions.vectors import VECTORS, ZERO_BASED
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import AmbiguousFunction, FeatureNotSupported, UndefinedFunction
from wire.types import pg_types as t

Handler = Callable[["ExpressionBinder", exp.Expression, Scope], Expr]

#: Types without an operator class for `=`; those that also have no order.
_WITHOUT_EQUALITY: Final = frozenset(
    {t.JSON, t.JSONPATH, t.XML, t.POINT, t.LSEG, t.PATH, t.BOX, t.POLYGON, t.LINE, t.CIRCLE, t.REFCURSOR}
)
_UNORDERED: Final = _WITHOUT_EQUALITY | {t.XID, t.CID, t.ACLITEM}


@dataclass(frozen=True, slots=True)
class ExpressionHandlers:
    """The handler of each class of node, and the functions that sibling modules need of each other.

    The binder receives them as an argument, because each of them depends on the binder.

    apply_function: `calls.apply_function`. bind_array_query, bind_row_query, bind_quantified_query: those of
    `subqueries`.
    """

    by_class: Mapping[type[exp.Expression], Handler]
    apply_function: Callable[[ExpressionBinder, str, Sequence[Expr], int], Expr]
    bind_array_query: Callable[[exp.Expression, Scope, int], Expr]
    bind_row_query: Callable[[ExpressionBinder, str, exp.Tuple, exp.Expression, Scope, int], Expr]
    bind_quantified_query: Callable[[ExpressionBinder, str, exp.Expression, exp.Expression, bool, Scope, int], Expr]


class ExpressionBinder:
    """The binder of a statement's expressions; see the module's docstring. context: the statement's; functions: the
    function table, by default the process's.
    """

    def __init__(self, context: BindContext, handlers: ExpressionHandlers, functions: Registry | None = None) -> None:
        self.context = context
        self._handlers = handlers
        self.functions = functions or registry()
        self.coercer = Coercer(context, self.functions)

    # -- for both binders ----------------------------------------------------------------------------------------

    def bind(self, node: exp.Expression, scope: Scope) -> Expr:
        """Bind an expression. An untyped literal, NULL or parameter keeps type unknown until its context determines
        the type.
        """
        check_for_interrupts()
        handler = self._handlers.by_class.get(type(node))
        if handler is None:
            raise FeatureNotSupported(
                f"not supported: {type(node).__name__} expression", position=cursor(position(node))
            )
        bound = handler(self, node, scope)
        return bound if bound.position >= 0 else replace(bound, position=position(node))

    def bind_all(self, nodes: Sequence[exp.Expression], scope: Scope) -> list[Expr]:
        return [self.bind(n, scope) for n in nodes]

    def coerce(self, expr: Expr, target: SqlType, context: CastContext, at: int = -1) -> Expr:
        """Cast `expr` to `target`, including its modifier; see `Coercer.coerce`."""
        return self.coercer.coerce(expr, target, context, at)

    def unify(self, exprs: Sequence[Expr], what: str) -> tuple[SqlType, list[Expr]]:
        """Coerce expressions to one type (UNION, VALUES, CASE ...); see `Coercer.unify`."""
        return self.coercer.unify(exprs, what)

    def as_boolean(self, expr: Expr, clause: str) -> Expr:
        """Coerce a condition to boolean. Raises DatatypeMismatch: `argument of WHERE must be type boolean, not type
        integer`.
        """
        return self.coercer.as_boolean(expr, clause)

    def as_type(self, expr: Expr, pg: t.PgType, clause: str) -> Expr:
        """Coerce the argument of a clause that requires one type (LIMIT: int8). Raises DatatypeMismatch likewise."""
        return self.coercer.as_type(expr, pg, clause)

    def settle(self, expr: Expr) -> Expr:
        """Return `expr`, cast to text if its type is still unknown (output columns, sort and group keys)."""
        return self.coercer.settle(expr)

    def as_output(self, expr: Expr) -> Expr:
        """Return `expr` as a column of the statement's result: settled, and an object type (regtype ...) as its name."""
        if expr.type.pg in t.REG_TYPES:
            return self.coerce(expr, st.of(t.TEXT), "explicit")
        return self.settle(expr)

    def require_ordering(self, expr: Expr) -> None:
        """Raises UndefinedFunction (42883) for a type whose values have no order: ORDER BY, windows."""
        _refuse_order(expr)
        if expr.type.pg in _UNORDERED:
            raise UndefinedFunction(
                f"could not identify an ordering operator for type {expr.type.pg.sql_name}",
                hint="Use an explicit ordering operator or modify the query.",
                position=cursor(expr.position),
            )

    def require_equality(self, expr: Expr) -> None:
        """Raises UndefinedFunction (42883) for a type without `=`: GROUP BY, DISTINCT, set operations."""
        _refuse_order(expr)
        if expr.type.pg in _WITHOUT_EQUALITY:
            raise UndefinedFunction(
                f"could not identify an equality operator for type {expr.type.pg.sql_name}",
                position=cursor(expr.position),
            )

    def require_comparison(self, typ: t.PgType) -> None:
        """Raises UndefinedFunction (42883) for a type whose values have no order: GREATEST, LEAST."""
        if (t.element_of(typ) if typ.is_array else typ) in _UNORDERED:
            raise UndefinedFunction(f"could not identify a comparison function for type {typ.sql_name}")

    # -- for the siblings ----------------------------------------------------------------------------------------

    def operator(self, symbol: str, operands: Sequence[Expr], at: int) -> Call:
        """Choose and apply an operator; with one operand it is a prefix operator. Raises UndefinedFunction or
        AmbiguousFunction.
        """
        choice = self.choose_operator(symbol, tuple(o.type.pg for o in operands), at)
        return self.apply(choice, operands, at)

    def choose_operator(self, symbol: str, inputs: resolution.Types, at: int) -> Choice:
        rows = self.functions.operators(symbol, len(inputs))
        try:
            choice = resolution.choose_operator(rows, inputs)
        except AmbiguousFunction:
            raise resolution.ambiguous_operator(symbol, inputs, cursor(at)) from None
        if choice is None:
            raise resolution.undefined_operator(symbol, inputs, cursor(at))
        if self.functions.is_absent(choice.function):
            named = resolution.operator_signature(symbol, choice.function.args)
            raise FeatureNotSupported(f"not supported: operator {named}", position=cursor(at))
        return choice

    def function(self, name: str, args: Sequence[Expr], at: int) -> Expr:
        """Choose and apply a plain function of pg_catalog."""
        return self._handlers.apply_function(self, name, args, at)

    def bind_array_query(self, query: exp.Expression, scope: Scope, at: int) -> Expr:
        return self._handlers.bind_array_query(query, scope, at)

    def bind_row_query(self, symbol: str, left: exp.Tuple, query: exp.Expression, scope: Scope, at: int) -> Expr:
        return self._handlers.bind_row_query(self, symbol, left, query, scope, at)

    def bind_quantified_query(
        self, symbol: str, left: exp.Expression, query: exp.Expression, every: bool, scope: Scope, at: int
    ) -> Expr:
        return self._handlers.bind_quantified_query(self, symbol, left, query, every, scope, at)

    def apply(self, choice: Choice, args: Sequence[Expr], at: int) -> Call:
        """Return the call of a chosen row: its arguments are coerced and its result is typed."""
        coerced = self.coerce_arguments(choice, args)
        function = choice.function
        if any(arg.type.pg in VECTORS for arg in args):
            function = ZERO_BASED.get((function.name, len(args)), function)
        return Call(result_type(choice, coerced), function, tuple(coerced), position=leftmost(at, *args))

    def coerce_arguments(self, choice: Choice, args: Sequence[Expr], *, wide: bool = False) -> list[Expr]:
        """Coerce arguments to the types of a chosen row. wide: whether the caller handles wide numerics itself."""
        coerced = [self._argument(a, want) for a, want in zip(args, choice.args, strict=True)]
        if not wide:
            refuse_wide(choice.function.name, coerced)
        return self._align(choice, coerced)

    def _argument(self, arg: Expr, want: t.PgType) -> Expr:
        if want is t.ANY:
            return self._any(arg)
        return self.coercer.coerce_type(arg, want, "implicit")

    def _any(self, arg: Expr) -> Expr:
        """Return an argument for which any type is accepted: a literal becomes text, but a parameter stays
        undetermined.
        """
        if isinstance(arg, ParamRef) and arg.type.pg is t.UNKNOWN:
            self.context.parameters.leave_open(arg.index)
            return arg
        return self.settle(arg)

    def _align(self, choice: Choice, args: list[Expr]) -> list[Expr]:
        """Give numerics that stand for one polymorphic type the same digits, because the engines' storage depends on
        the digits.
        """
        declared = resolution.expand_signature(choice.function, len(args)) or ()
        shared = [i for i, d in enumerate(declared) if d in POLYMORPHIC and _base(args[i].type.pg) is t.NUMERIC]
        if len(shared) < 2:
            return args
        digits = common([args[i] for i in shared])
        return [
            self.coercer.relabel(a, replace(digits, pg=a.type.pg, typmod=a.type.typmod)) if i in shared else a
            for i, a in enumerate(args)
        ]


def _refuse_order(expr: Expr) -> None:
    """Raises FeatureNotSupported for wide numerics, which the engines do not sort correctly. A single constant is
    always in order.
    """
    if expr.type.is_wide and not isinstance(expr, Const | ParamRef):
        raise refusal("the order of", expr.position)


def result_type(choice: Choice, args: Sequence[Expr]) -> SqlType:
    """Return the type of a call: its digits come from the row's rule, or for a polymorphic result from its arguments."""
    row = choice.function
    dimensions = result_dimensions(row, [a.type for a in args])
    if not choice.returns.is_array:
        dimensions = 1
    if row.by_value is not None:
        return replace(row.by_value(args), pg=choice.returns, typmod=-1)
    if row.rule is not None:
        return replace(row.rule([a.type for a in args]), pg=choice.returns, typmod=-1, dimensions=dimensions)
    if row.returns in POLYMORPHIC:
        declared = resolution.expand_signature(row, len(args)) or ()
        like = [a.type for a, d in zip(args, declared, strict=True) if d in POLYMORPHIC]
        if _base(choice.returns) is t.NUMERIC:
            return replace(literals.common_digits(choice.returns, like), typmod=-1, dimensions=dimensions)
        fields = next((x.fields for x in like if x.fields), ())
        return SqlType(choice.returns, fields=fields, dimensions=dimensions)
    return st.of(choice.returns)


def leftmost(at: int, *exprs: Expr) -> int:
    """Return the position where an expression made of these begins (exprLocation). `at` is the offset of its own
    token.
    """
    return min((p for p in (at, *(e.position for e in exprs)) if p >= 0), default=-1)


def _base(pg: t.PgType) -> t.PgType:
    return t.element_of(pg) if pg.is_array else pg

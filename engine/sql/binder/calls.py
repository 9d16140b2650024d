"""Function calls: plain functions, casts written as functions, aggregates, ordered-set aggregates, window functions.

These are handlers of `engine.sql.binder.expressions`. `resolution` chooses the row of the function table; this module
handles the rest: `name(type)` as a cast, VARIADIC and named arguments, DISTINCT, ORDER BY, FILTER, WITHIN GROUP, OVER,
and calls that stand for a value fixed when execution begins.

Source: PostgreSQL 15, parse_func.c (ParseFuncOrColumn, func_get_detail), parse_agg.c, parse_clause.c
(transformFrameOffset), parse_expr.c (transformSQLValueFunction), chapter 4.2.7 and 4.2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NoReturn, cast

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.pg_catalog.system_function_sql import INFORMATION_SCHEMA
from engine.plan_ir.expr import (
    AggregateCall,
    Call,
    ColumnRef,
    Const,
    ContextRef,
    Expr,
    Frame,
    FrameBound,
    FrameUnit,
    Function,
    GroupingCall,
    OrderItem,
    ParamRef,
    Subquery,
    WindowCall,
)
from engine.sql.binder import hypothetical, inlined, literals, object_names, resolution
from engine.sql.binder.casts import cast_functions, find_pathway, is_string
from engine.sql.binder.levels import check_no_sets, is_set_returning, own_columns
from engine.sql.binder.operators_syntax import array_items
from engine.sql.binder.resolution import Choice
from engine.sql.binder.same_exprs import is_same
from engine.sql.binder.scope import Scope
from engine.sql.binder.values import bind_coalesce, bind_greatest, bind_nullif
from engine.sql.functions.signatures import PG_FUNCTIONS
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import (
    AmbiguousFunction,
    FeatureNotSupported,
    GroupingError,
    InvalidColumnReference,
    InvalidSchemaName,
    SqlSyntaxError,
    UndefinedFunction,
    WindowingError,
    WrongObjectType,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder, Handler

#: Parts of an expression without which its query would have other rows, or be allowed elsewhere.
_PLACED: Final = (AggregateCall, ColumnRef, GroupingCall, Subquery, WindowCall)
#: Functions whose value is fixed when execution begins, as `ContextRef`s.
_CONTEXT: Final[Mapping[str, tuple[str, t.PgType]]] = {
    "now": ("now", t.TIMESTAMPTZ),
    "transaction_timestamp": ("now", t.TIMESTAMPTZ),
    "statement_timestamp": ("statement_timestamp", t.TIMESTAMPTZ),
    "current_database": ("current_database", t.NAME),
    "current_schema": ("current_schema", t.NAME),
    "pg_backend_pid": ("pg_backend_pid", t.INT4),
    "pg_is_in_recovery": ("pg_is_in_recovery", t.BOOL),
}
#: The same for keywords that are called without parentheses.
_KEYWORDS: Final[Mapping[str, tuple[str, t.PgType]]] = {
    "current_timestamp": ("now", t.TIMESTAMPTZ),
    "current_date": ("now", t.DATE),
    "current_time": ("now", t.TIMETZ),
    "localtime": ("now", t.TIME),
    "localtimestamp": ("now", t.TIMESTAMP),
    "current_user": ("current_user", t.NAME),
    "current_role": ("current_user", t.NAME),
    "user": ("current_user", t.NAME),
    "session_user": ("session_user", t.NAME),
    "current_catalog": ("current_database", t.NAME),
    "current_schema": ("current_schema", t.NAME),
}
_AGGREGATES: Final = frozenset({"aggregate", "ordered_set"})
#: The type of a RANGE offset, by the type of the one ORDER BY column (pg_amproc: in_range).
_RANGE_OFFSETS: Final[Mapping[t.PgType, t.PgType]] = {
    t.INT2: t.INT8,
    t.INT4: t.INT8,
    t.INT8: t.INT8,
    t.FLOAT4: t.FLOAT8,
    t.FLOAT8: t.FLOAT8,
    t.NUMERIC: t.NUMERIC,
    **dict.fromkeys((t.DATE, t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL), t.INTERVAL),
}


@dataclass(frozen=True, slots=True)
class Written:
    """A call as written, separated from its clauses."""

    node: exp.Anonymous
    filter: exp.Expression | None = None
    within: exp.Order | None = None
    over: exp.Window | None = None

    @property
    def name(self) -> str:
        return str(self.node.this)

    @property
    def at(self) -> int:
        return position(self.node)

    @property
    def star(self) -> bool:
        return any(isinstance(a, exp.Star) for a in self.node.expressions)

    @property
    def order(self) -> exp.Order | None:
        return self.node.args.get("order")

    @property
    def distinct(self) -> bool:
        return bool(self.node.args.get("distinct"))

    @property
    def label(self) -> str:
        """The name as error messages show it: with its schema if one was written."""
        schema = self.node.args.get("schema")
        return self.name if schema is None else f"{_text(schema)}.{self.name}"


def _text(name: str | exp.Expression) -> str:
    return name if isinstance(name, str) else name.name


def _unwrap_call(node: exp.Expression) -> Written:
    over = filter_ = within = None
    if isinstance(node, exp.Window):
        over, node = node, node.this
    if isinstance(node, exp.Filter):
        filter_, node = node.expression.this, node.this
    if isinstance(node, exp.WithinGroup):
        within, node = node.expression, node.this
    assert isinstance(node, exp.Anonymous)
    return Written(node, filter_, within, over)


def bind_call(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    written = _unwrap_call(node)
    schema = written.node.args.get("schema")
    if schema is not None and _text(schema) != (
        "information_schema" if written.name in INFORMATION_SCHEMA else "pg_catalog"
    ):
        _refuse_schema(binder, written, _text(schema), scope)
    special = _SPECIAL.get(written.name) if schema is None else None
    if special is not None:
        _refuse_clauses(written)
        return special(binder, written.node, scope)
    if written.node.meta.get("keyword"):
        return _keyword(binder, written.node, scope)
    if written.name in _CONTEXT and not _plain_arguments(binder, written, scope):
        _refuse_clauses(written)
        name, typ = _CONTEXT[written.name]
        return ContextRef(st.of(typ), name, position=written.at)
    if schema is None and written.name in INFORMATION_SCHEMA:
        raise _undefined_function(binder, written, _plain_arguments(binder, written, scope))
    if (
        written.name == "format_type"
        and node.expressions
        and not node.meta.get("plain")
        and (known := binder.context.type_names())
    ):
        return binder.bind(_format_type(written.node, known), scope)
    if (call := inlined.call_of(written.node, scope)) is not None:
        _refuse_clauses(written)
        return binder.bind(call, scope)
    query = inlined.query_of(written.node, scope)
    if query is not None:
        _refuse_clauses(written)
        return binder.bind(exp.Subquery(this=query), scope)
    return _function(binder, written, scope)


def _refuse_schema(binder: ExpressionBinder, written: Written, schema: str, scope: Scope) -> NoReturn:
    at = cursor(written.at)
    if not binder.context.catalog.has_schema(schema):
        raise InvalidSchemaName(f'schema "{schema}" does not exist', position=at)
    args = _plain_arguments(binder, written, scope)
    raise resolution.undefined_function(written.label, [a.type.pg for a in args], at)


# -- values of the execution -----------------------------------------------------------------------------------------


def _keyword(binder: ExpressionBinder, node: exp.Anonymous, scope: Scope) -> Expr:
    """Bind CURRENT_DATE, LOCALTIME(3), CURRENT_USER and the like. Times are casts of the transaction's timestamp."""
    name, typ = _KEYWORDS[str(node.this)]
    at = position(node)
    typmod = _time_precision(binder, node.expressions[0], scope) if node.expressions else -1
    source = ContextRef(st.of(t.TIMESTAMPTZ if name == "now" else typ), name, position=at)
    return binder.coerce(source, SqlType(typ, typmod), "explicit", at) if name == "now" else source


def _time_precision(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> int:
    bound = binder.bind(node, scope)
    if not isinstance(bound, Const) or not isinstance(bound.value, int):
        raise SqlSyntaxError("the precision must be an integer constant", position=cursor(bound.position))
    return min(bound.value, 6)


# -- arguments -------------------------------------------------------------------------------------------------------


def _plain_arguments(binder: ExpressionBinder, written: Written, scope: Scope) -> list[Expr]:
    """Bind the positional arguments and expand VARIADIC ARRAY[...]. A parameter of type void is dropped: drivers pass
    one for a call's return value (parse_func.c: ParseFuncOrColumn).
    """
    args: list[Expr] = []
    for node in written.node.expressions:
        if isinstance(node, exp.Star):
            continue
        if isinstance(node, exp.Variadic):
            args += _spread_variadic(binder, written, node, scope)
        else:
            arg = binder.bind(node.expression if isinstance(node, exp.Kwarg) else node, scope)
            if not (isinstance(arg, ParamRef) and arg.type.pg is t.VOID):
                args.append(arg)
    return args


def _spread_variadic(binder: ExpressionBinder, written: Written, node: exp.Variadic, scope: Scope) -> tuple[Expr, ...]:
    array = binder.bind(node.this, scope)
    items = array_items(array)
    if items is None:
        raise FeatureNotSupported(
            f"not supported: {written.name} with VARIADIC and an array that is not written out",
            position=cursor(position(node)),
        )
    return items


def _positional(binder: ExpressionBinder, written: Written, args: list[Expr]) -> tuple[list[Function], list[Expr]]:
    """Return the function table's rows of this name, and the arguments in their declared order if some were passed by
    name.
    """
    rows = list(binder.functions.functions(written.name))
    names = [a.this.name if isinstance(a, exp.Kwarg) else None for a in written.node.expressions]
    if not any(names):
        return rows, args
    named = [r for r in rows if _takes(r, names)]
    if not named:
        raise _no_such_names(written, rows, names, args)
    return named[:1], _fill_defaults(named[0], names, args)


def _takes(row: Function, names: Sequence[str | None]) -> bool:
    """Return whether a row has arguments of these names, with none passed twice and none without a default left out."""
    if len(names) > len(row.args) or not all(n is None or n in row.names for n in names):
        return False
    given = [row.names.index(n) if n is not None else i for i, n in enumerate(names)]
    return len(set(given)) == len(given) and set(range(len(row.args) - row.optional)) <= set(given)


def _no_such_names(
    written: Written, rows: Sequence[Function], names: Sequence[str | None], args: Sequence[Expr]
) -> FeatureNotSupported | UndefinedFunction:
    at = cursor(written.at)
    if written.name in PG_FUNCTIONS and not all(row.names for row in rows):
        return FeatureNotSupported(f"not supported: named arguments of function {written.name}", position=at)
    listed = [
        a.type.pg.sql_name if n is None else f"{n} => {a.type.pg.sql_name}" for n, a in zip(names, args, strict=True)
    ]
    return UndefinedFunction(
        f"function {written.label}({', '.join(listed)}) does not exist",
        hint="No function matches the given name and argument types. You might need to add explicit type casts.",
        position=at,
    )


def _fill_defaults(row: Function, names: Sequence[str | None], args: Sequence[Expr]) -> list[Expr]:
    """Return the arguments by position; the row's defaults replace those that were left out."""
    given = {row.names.index(n) if n is not None else i: a for i, (n, a) in enumerate(zip(names, args, strict=True))}
    required = len(row.args) - row.optional
    return [
        given[i] if i in given else Const(st.of(row.args[i]), row.defaults[i - required]) for i in range(max(given) + 1)
    ]


# -- the choice ------------------------------------------------------------------------------------------------------


def apply_function(binder: ExpressionBinder, name: str, args: Sequence[Expr], at: int) -> Expr:
    """Apply a plain function by name. Special syntax (EXTRACT, AT TIME ZONE, subscripts ...) is bound with it."""
    written = Written(exp.Anonymous(this=name, schema="pg_catalog"))
    written.node.meta["start"] = at
    chosen = _choose(binder, written, list(binder.functions.functions(name)), list(args))
    return chosen if isinstance(chosen, Expr) else binder.apply(chosen, args, at)


def _choose(binder: ExpressionBinder, written: Written, rows: Sequence[Function], args: list[Expr]) -> Choice | Expr:
    """Choose an exact match, a cast written as a function, or the best candidate (func_get_detail)."""
    inputs = tuple(a.type.pg for a in args)
    exact = [r for r in rows if resolution.expand_signature(r, len(inputs)) == inputs]
    if not exact:
        converted = _as_cast(binder, written, args)
        if converted is not None:
            return converted
    choice = _choose_function(written, rows, inputs)
    if choice is None:
        raise _undefined_function(binder, written, args)
    if binder.functions.is_absent(choice.function):
        named = resolution.signature(written.name, choice.function.args)
        raise FeatureNotSupported(f"not supported: function {named}", position=cursor(written.at))
    return choice


def _as_cast(binder: ExpressionBinder, written: Written, args: Sequence[Expr]) -> Expr | None:
    """Bind `float8(x)` as a cast if it is one: the function's name is a type's name, as pg_type spells it."""
    target = t.BY_NAME.get(written.name)
    if target is None or len(args) != 1 or target.category in "PX" or target.is_array:
        return None
    (arg,) = args
    source = arg.type.pg
    if source.is_row:
        return None
    if source is t.UNKNOWN:
        direct = isinstance(arg, Const) or is_string(target)
    else:
        direct = find_pathway(source, target, "explicit") is not None
    if direct:
        return binder.coerce(arg, st.of(target), "explicit", written.at)
    # A parameter, or a type that must be coerced first: resolved like any function.
    choice = _choose_function(written, cast_functions(target), (source,))
    if choice is None:
        return None
    return binder.coerce(binder.coercer.coerce_type(arg, choice.args[0], "implicit"), st.of(target), "explicit")


def _choose_function(written: Written, rows: Sequence[Function], inputs: resolution.Types) -> Choice | None:
    try:
        return resolution.choose_function(tuple(rows), inputs)
    except AmbiguousFunction:
        raise resolution.ambiguous_function(written.label, inputs, cursor(written.at)) from None


def _undefined_function(
    binder: ExpressionBinder, written: Written, args: Sequence[Expr]
) -> FeatureNotSupported | UndefinedFunction:
    """Return the error for a missing function: 42883, or 0A000 if PostgreSQL has the function and Sluice has no form
    of it.
    """
    at = cursor(written.at)
    unlisted = written.name in PG_FUNCTIONS and not binder.functions.functions(written.name)
    if unlisted or (written.name in t.BY_NAME and len(args) > 1):
        return FeatureNotSupported(f"not supported: function {written.name}", position=at)
    return resolution.undefined_function(written.label, [a.type.pg for a in args], at)


def _function(binder: ExpressionBinder, written: Written, scope: Scope) -> Expr:
    args = _plain_arguments(binder, written, scope)
    if written.name in object_names.WRITING:
        args = [object_names.with_object_names(binder, arg, scope) for arg in args]
    rows, args = _positional(binder, written, args)
    ordered = _within_group(binder, written.within, scope) if written.within is not None else []
    if written.within is not None and written.name in hypothetical.NAMES:
        return _hypothetical(binder, written, args, _settle_order(binder, ordered), scope)
    if written.within is not None:
        rows = [r for r in rows if r.kind == "ordered_set"] or rows
    chosen = _choose(binder, written, rows, [*args, *(o.expr for o in ordered)])
    if isinstance(chosen, Expr):
        _refuse_clauses(written)
        return chosen
    kind = chosen.function.kind
    if kind in _AGGREGATES:
        return _aggregate(binder, written, chosen, args, ordered, scope)
    if written.within is not None:
        _wrong(written, f"WITHIN GROUP specified, but {written.name} is not an aggregate function")
    if kind == "window":
        return _window_function(binder, written, chosen, args, scope)
    _refuse_clauses(written)
    return binder.apply(chosen, [*_relations(binder, chosen.function, args, scope)], written.at)


def _relations(binder: ExpressionBinder, function: Function, args: Sequence[Expr], scope: Scope) -> Iterator[Expr]:
    """Yield the arguments. A text argument where the function takes a regclass becomes a lookup in the catalog, which
    is a query.
    """
    for number, arg in enumerate(args):
        wanted = function.args[number] if number < len(function.args) else None
        is_name = arg.type.pg.category == "S" and arg.type.pg is not t.UNKNOWN
        yield object_names.relation_of(binder, arg, scope) if wanted is t.REGCLASS and is_name else arg


def _refuse_clauses(written: Written) -> None:
    """Refuse clauses that only aggregates or window functions have."""
    name = written.name
    if written.star:
        _wrong(written, f"{name}(*) specified, but {name} is not an aggregate function")
    if written.distinct:
        _wrong(written, f"DISTINCT specified, but {name} is not an aggregate function")
    if written.within is not None:
        _wrong(written, f"WITHIN GROUP specified, but {name} is not an aggregate function")
    if written.order is not None:
        _wrong(written, f"ORDER BY specified, but {name} is not an aggregate function")
    if written.filter is not None:
        _wrong(written, f"FILTER specified, but {name} is not an aggregate function")
    if written.over is not None:
        _wrong(written, f"OVER specified, but {name} is not a window function nor an aggregate function")


def _wrong(written: Written, message: str) -> NoReturn:
    raise WrongObjectType(message, position=cursor(written.at))


# -- aggregates ------------------------------------------------------------------------------------------------------

#: Aggregates for which duplicates do not matter, so that DISTINCT can be dropped. Each instance then runs its own first
#: stage.
_IDEMPOTENT: Final = frozenset(("min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or"))


def _aggregate(
    binder: ExpressionBinder,
    written: Written,
    choice: Choice,
    args: list[Expr],
    within: list[OrderItem],
    scope: Scope,
) -> Expr:
    name = written.name
    if choice.function.kind == "ordered_set" and written.within is None:
        _wrong(written, f"WITHIN GROUP is required for ordered-set aggregate {name}")
    if choice.function.kind == "aggregate" and written.within is not None:
        _wrong(written, f"{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP")
    if not choice.args and not written.star:
        _wrong(written, f"{name}(*) must be used to call a parameterless aggregate function")
    coerced = binder.coerce_arguments(choice, [*args, *(o.expr for o in within)])
    direct, tail = coerced[: len(args)], coerced[len(args) :]
    order = [replace(o, expr=e) for o, e in zip(within, tail, strict=True)]
    for item in order:
        binder.require_ordering(item.expr)
    if written.order is not None:
        order = _order_items(binder, written.order, scope)
        if written.distinct:
            order = _among_arguments(order, [binder.settle(a) for a in args] + direct)
    if written.distinct:
        for arg in coerced:
            binder.require_equality(arg)
    condition = _condition(binder, written, scope)
    from engine.sql.binder.expressions import result_type

    call = AggregateCall(
        result_type(choice, coerced),
        choice.function,
        tuple(direct),
        written.distinct,
        tuple(order),
        condition,
        position=written.at,
    )
    _check_nesting(call, written)
    if written.over is not None:
        return _over_aggregate(binder, written, call, scope)
    return replace(call, distinct=call.distinct and call.function.name not in _IDEMPOTENT)


def _hypothetical(
    binder: ExpressionBinder, written: Written, args: list[Expr], ordered: list[OrderItem], scope: Scope
) -> Expr:
    if written.distinct:
        raise FeatureNotSupported("cannot use DISTINCT with WITHIN GROUP", position=cursor(written.at))
    if written.over is not None:
        at = cursor(written.at)
        raise FeatureNotSupported(f"OVER is not supported for ordered-set aggregate {written.name}", position=at)
    condition = _condition(binder, written, scope)
    found = hypothetical.bind(binder, written.name, args, ordered, condition, written.at)
    for part in found.walk():
        if isinstance(part, AggregateCall):
            _check_nesting(part, written)
    return found


def _condition(binder: ExpressionBinder, written: Written, scope: Scope) -> Expr | None:
    """Bind the condition of FILTER."""
    if written.filter is None:
        return None
    bound = binder.bind(written.filter, scope)
    check_no_sets(bound, "FILTER")
    condition = binder.as_boolean(bound, "FILTER")
    _check_filter(condition)
    return condition


def _among_arguments(order: Sequence[OrderItem], args: Sequence[Expr]) -> list[OrderItem]:
    """Return ORDER BY's items with each expression replaced by the equal argument."""
    found = []
    for item in order:
        same = next((arg for arg in args if is_same(item.expr, arg)), None)
        if same is None:
            raise InvalidColumnReference(
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                position=cursor(item.expr.position),
            )
        found.append(replace(item, expr=same))
    return found


def _check_filter(condition: Expr) -> None:
    for inner in condition.walk():
        if isinstance(inner, AggregateCall):
            message = "aggregate functions are not allowed in FILTER"
            raise GroupingError(message, position=cursor(inner.position))
        if isinstance(inner, WindowCall):
            message = "window functions are not allowed in FILTER"
            raise WindowingError(message, position=cursor(inner.position))


def _check_nesting(call: AggregateCall, written: Written) -> None:
    for child in call.children():
        for inner in child.walk():
            if isinstance(inner, WindowCall) and written.over is not None:
                raise WindowingError("window function calls cannot be nested", position=cursor(inner.position))
            if isinstance(inner, WindowCall):
                message = "aggregate function calls cannot contain window function calls"
                raise GroupingError(message, position=cursor(inner.position))


# -- windows ---------------------------------------------------------------------------------------------------------


def _over_aggregate(binder: ExpressionBinder, written: Written, call: AggregateCall, scope: Scope) -> Expr:
    at = cursor(written.at)
    if call.function.kind == "ordered_set":
        raise FeatureNotSupported(f"OVER is not supported for ordered-set aggregate {written.name}", position=at)
    if call.distinct:
        raise FeatureNotSupported("DISTINCT is not implemented for window functions", position=at)
    if call.order_by:
        raise FeatureNotSupported("aggregate ORDER BY is not implemented for window functions", position=at)
    return _window_call(binder, written, call, scope)


def _window_function(
    binder: ExpressionBinder, written: Written, choice: Choice, args: list[Expr], scope: Scope
) -> Expr:
    name, at = written.name, cursor(written.at)
    if written.over is None:
        _wrong(written, f"window function {name} requires an OVER clause")
    if written.star:
        _wrong(written, f"{name}(*) specified, but {name} is not an aggregate function")
    if written.distinct:
        raise FeatureNotSupported("DISTINCT is not implemented for window functions", position=at)
    if written.order is not None:
        raise FeatureNotSupported("aggregate ORDER BY is not implemented for window functions", position=at)
    if written.filter is not None:
        raise FeatureNotSupported("FILTER is not implemented for non-aggregate window functions", position=at)
    return _window_call(binder, written, binder.apply(choice, args, written.at), scope)


def _window_call(binder: ExpressionBinder, written: Written, call: Call | AggregateCall, scope: Scope) -> WindowCall:
    assert written.over is not None
    window = scope.resolve_window(written.over)
    for child in call.children():
        for inner in child.walk():
            if isinstance(inner, WindowCall):
                raise WindowingError("window function calls cannot be nested", position=cursor(inner.position))
    partition = tuple(binder.settle(binder.bind(p, scope)) for p in window.args.get("partition_by") or ())
    for key in partition:
        binder.require_equality(key)
    order = tuple(_order_items(binder, window.args.get("order"), scope))
    spec = window.args.get("spec")
    frame = _FrameBinder(binder, scope, order, position(window)).frame(spec) if spec is not None else None
    return WindowCall(call.type, call, partition, order, frame, position=written.at)


def _order_items(binder: ExpressionBinder, order: exp.Expression | None, scope: Scope) -> list[OrderItem]:
    return _settle_order(binder, _within_group(binder, order, scope))


def _within_group(binder: ExpressionBinder, order: exp.Expression | None, scope: Scope) -> list[OrderItem]:
    """Bind ORDER BY's items. In WITHIN GROUP they are arguments, so a literal may keep type unknown."""
    return [
        OrderItem(binder.bind(node.this, scope), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
        for node in (order.expressions if order is not None else ())
    ]


def _settle_order(binder: ExpressionBinder, items: Sequence[OrderItem]) -> list[OrderItem]:
    settled = [replace(item, expr=binder.settle(item.expr)) for item in items]
    for item in settled:
        binder.require_ordering(item.expr)
    return settled


@dataclass(frozen=True, slots=True)
class _FrameBinder:
    """The binder of a frame clause, with the scope of its offsets, the window's order, and the window's position."""

    binder: ExpressionBinder
    scope: Scope
    order: Sequence[OrderItem]
    at: int

    def frame(self, spec: exp.Expression) -> Frame:
        unit = FrameUnit(str(spec.args["kind"]).lower())
        start = self._frame_bound(unit, spec.args["start"], spec.args.get("start_side"))
        end = FrameBound("current row")
        if spec.args.get("end"):
            end = self._frame_bound(unit, spec.args["end"], spec.args.get("end_side"))
        if unit is FrameUnit.GROUPS and not self.order:
            raise WindowingError("GROUPS mode requires an ORDER BY clause", position=cursor(self.at))
        excluded = str(spec.args.get("exclude") or "").lower()
        assert excluded in ("", "current row", "group", "ties")
        return Frame(unit, start, end, cast("Literal['', 'current row', 'group', 'ties']", excluded))

    def _frame_bound(self, unit: FrameUnit, given: str | exp.Expression, side: str | None) -> FrameBound:
        if given == "CURRENT ROW":
            return FrameBound("current row")
        following = side == "FOLLOWING"
        if isinstance(given, str):
            return FrameBound("unbounded following" if following else "unbounded preceding")
        offset = self._offset(unit, self.binder.bind(given, self.scope))
        return FrameBound("following" if following else "preceding", offset)

    def _offset(self, unit: FrameUnit, offset: Expr) -> Expr:
        """Bind the offset of a frame bound (transformFrameOffset)."""
        bound = (
            self._coerce_range_offset(offset)
            if unit is FrameUnit.RANGE
            else self.binder.as_type(offset, t.INT8, unit.name)
        )
        for column, _ in own_columns(bound, self.scope):
            message = f"argument of {unit.name} must not contain variables"
            raise InvalidColumnReference(message, position=cursor(column.position))
        return bound

    def _coerce_range_offset(self, offset: Expr) -> Expr:
        """Coerce a RANGE offset to the type by which the one ORDER BY column is shifted (`_RANGE_OFFSETS`)."""
        prefix = "RANGE with offset PRECEDING/FOLLOWING"
        if len(self.order) != 1:
            raise WindowingError(f"{prefix} requires exactly one ORDER BY column", position=cursor(self.at))
        key, given = self.order[0].expr.type.pg, offset.type.pg
        wanted = _RANGE_OFFSETS.get(key)
        if wanted is None:
            message = f"{prefix} is not supported for column type {key.sql_name}"
            raise FeatureNotSupported(message, position=cursor(offset.position))
        if given.category != wanted.category and given is not t.UNKNOWN:
            message = f"{prefix} is not supported for column type {key.sql_name} and offset type {given.sql_name}"
            hint = "Cast the offset value to an appropriate type."
            raise FeatureNotSupported(message, hint=hint, position=cursor(offset.position))
        return self.binder.coercer.coerce_type(offset, wanted, "assignment")


# -- functions of the binder's own -----------------------------------------------------------------------------------


def bind_grouping(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    args = binder.bind_all(node.expressions, scope)
    if len(args) > 31:
        raise SqlSyntaxError("GROUPING must have fewer than 32 arguments", position=cursor(position(node)))
    return GroupingCall(st.of(t.INT4), tuple(args), position=position(node))


def bind_typeof(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind pg_typeof, whose result is known while binding. An argument that decides how many rows there are, or where
    the call may stand, is kept: an aggregate, a window or set-returning function, a column, a subquery.
    """
    args = binder.bind_all(node.expressions, scope)
    at = position(node)
    if len(args) != 1:
        raise resolution.undefined_function("pg_typeof", [a.type.pg for a in args], cursor(at))
    name = literals.constant(t.REGTYPE, args[0].type.pg.oid, at)
    if not any(isinstance(part, _PLACED) or is_set_returning(part) for part in args[0].walk()):
        return name
    return object_names.type_of(binder, args[0], name)


def _format_type(node: exp.Anonymous, known: Mapping[int, str]) -> exp.Expression:
    """Return a CASE for format_type: the names of user-defined types from the statement's catalog, otherwise the call
    itself, which knows PostgreSQL's types.
    """
    plain = node.copy()
    plain.meta["plain"] = True
    whens = [exp.If(this=exp.Literal.number(oid), true=exp.Literal.string(name)) for oid, name in known.items()]
    oid = exp.DataType(this=exp.DType.USERDEFINED, kind=exp.Identifier(this="oid", quoted=False))
    return exp.Case(this=exp.Cast(this=node.expressions[0].copy(), to=oid), ifs=whens, default=plain)


_SPECIAL: Final[Mapping[str, Callable[[ExpressionBinder, exp.Expression, Scope], Expr]]] = {
    "coalesce": bind_coalesce,
    "nullif": bind_nullif,
    "greatest": bind_greatest,
    "least": bind_greatest,
    "grouping": bind_grouping,
    "pg_typeof": bind_typeof,
}

HANDLERS: Final[Mapping[type[exp.Expression], Handler]] = {
    exp.Anonymous: bind_call,
    exp.Filter: bind_call,
    exp.WithinGroup: bind_call,
    exp.Window: bind_call,
}

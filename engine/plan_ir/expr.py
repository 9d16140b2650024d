"""Bound expressions: names resolved, every node typed by PostgreSQL's rules, every function chosen.

The binder produces these expressions, and the plan carries them. An expression tree is immutable and knows neither SQL
text nor engine; `engine.planner.codegen` turns it into a sqlglot tree for one engine with the templates of its
functions. A row of the function table (`Function`) and the base of the plan's nodes (`Node`) are here too, since an
expression holds both, and each of them holds expressions.

Columns are identified by number, unique within a statement: a reference from a correlated subquery to a column of an
outer query is just a `ColumnRef` whose column is not produced inside the subquery's plan.

**Canonical values.** A constant's value is what `pyarrow.scalar(value, carrier(type))` accepts: bool, int, float,
Decimal, str, bytes; int days since 1970 for date; int microseconds since 1970 for timestamp and timestamptz; int
microseconds for time; a dict(micros, zone) for timetz; `pyarrow.MonthDayNano` for interval; (nested) lists for arrays;
None for null. `wire.types.input` produces the same from text.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, fields, replace
from functools import cache
from typing import Any, Literal, overload

from sqlglot import exp

from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import SqlType
from wire.dataclass import dataclass
from wire.types import pg_types as t


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a logical stream. `id` is unique in the statement; `name` is for people."""

    id: int
    name: str = field(compare=False)
    type: SqlType = field(compare=False)
    nullable: bool = field(default=True, compare=False)

    @property
    def label(self) -> str:
        """The column's identifier in generated SQL."""
        return f"c{self.id}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a logical plan (`engine.plan_ir.logical`). `columns`: the output schema, in order."""

    columns: tuple[Column, ...]

    def inputs(self) -> tuple[Node, ...]:
        return ()

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first."""
        left: list[Node] = [self]
        while left:
            check_for_interrupts()
            node = left.pop()
            yield node
            left += reversed(node.inputs())


@dataclass(frozen=True, slots=True)
class Expr:
    """A typed expression. `position`: 0-based offset of its token in the statement's text, or -1; not compared, so that
    an expression equals itself written elsewhere (GROUP BY)."""

    type: SqlType
    position: int = field(default=-1, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Expr]:
        """Yield the direct operands, in order; a subquery's plan is not among them."""
        kind: Any = self.__class__
        for name in _expression_fields(kind):
            value = getattr(self, name)
            if isinstance(value, Expr):
                yield value
            elif isinstance(value, tuple):
                for item in value:
                    if isinstance(item, Expr):
                        yield item
                    elif isinstance(item, tuple):
                        yield from (x for x in item if isinstance(x, Expr))
                    elif isinstance(item, OrderItem):
                        yield item.expr
            elif isinstance(value, Frame):
                yield from (bound.offset for bound in (value.start, value.end) if bound.offset is not None)

    def walk(self) -> Iterator[Expr]:
        """Yield this expression and all below it, parents first; a subquery's plan is not entered."""
        left: list[Expr] = [self]
        while left:
            check_for_interrupts()
            expr = left.pop()
            yield expr
            left += reversed(list(expr.children()))


@cache
def _expression_fields(kind: type) -> tuple[str, ...]:
    """Return the fields of an expression class that may hold expressions. The result is cached, since it is needed
    several times for each part of a list of thousands.
    """
    return tuple(f.name for f in fields(kind) if f.name not in ("type", "position", "function"))


@dataclass(frozen=True, slots=True)
class OrderItem:
    expr: Expr
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A literal in its canonical value (see the module's docstring)."""

    value: Any


class Constants(Sequence[Const]):
    """Many constants of one type as one value, such as a long list of IN. Code that walks over a plan or rewrites it
    treats it as a leaf; code that needs the constants iterates over it.

    values: canonical. An item has no position.
    """

    __slots__ = ("type", "values")

    def __init__(self, type: SqlType, values: Sequence[Any]) -> None:  # noqa: A002 (the name that expressions have for it)
        self.type = type
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Const: ...
    @overload
    def __getitem__(self, index: slice) -> Constants: ...
    def __getitem__(self, index: int | slice) -> Const | Constants:
        if isinstance(index, slice):
            return Constants(self.type, self.values[index])
        return Const(self.type, self.values[index])

    def __iter__(self) -> Iterator[Const]:
        for value in self.values:
            check_for_interrupts()
            yield Const(self.type, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and (self.type, self.values) == (other.type, other.values)

    def __hash__(self) -> int:
        return hash((self.type, len(self.values)))

    def __repr__(self) -> str:
        return f"Constants({self.type!r}, {self.values!r})"


@dataclass(frozen=True, slots=True)
class ColumnRef(Expr):
    column: Column


@dataclass(frozen=True, slots=True)
class ParamRef(Expr):
    """$index (1-based). Its value is rendered as a literal when a portal is compiled."""

    index: int


class Parameters(Sequence[ParamRef]):
    """Many parameters of one type as one value, as `Constants` are: a client's list of IN.

    indexes: the index of each parameter, in order. An item has no position.
    """

    __slots__ = ("indexes", "type")

    def __init__(self, type: SqlType, indexes: Sequence[int]) -> None:  # noqa: A002 (the name that expressions have for it)
        self.type = type
        self.indexes = indexes

    def __len__(self) -> int:
        return len(self.indexes)

    @overload
    def __getitem__(self, index: int) -> ParamRef: ...
    @overload
    def __getitem__(self, index: slice) -> Parameters: ...
    def __getitem__(self, index: int | slice) -> ParamRef | Parameters:
        if isinstance(index, slice):
            return Parameters(self.type, self.indexes[index])
        return ParamRef(self.type, self.indexes[index])

    def __iter__(self) -> Iterator[ParamRef]:
        for index in self.indexes:
            check_for_interrupts()
            yield ParamRef(self.type, index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and (self.type, self.indexes) == (other.type, other.indexes)

    def __hash__(self) -> int:
        return hash((self.type, len(self.indexes)))

    def __repr__(self) -> str:
        return f"Parameters({self.type!r}, {self.indexes!r})"


def gather_items(items: Sequence[Expr], at_least: int) -> Sequence[Expr]:
    """Return the items as one value if there are at least `at_least`, and all are constants, or all parameters, of one
    type; else as they are.
    """
    if len(items) < at_least:
        return items
    typ, kind = items[0].type, type(items[0])
    if kind not in (Const, ParamRef):
        return items
    found: list[Any] = []
    for item in items:
        check_for_interrupts()
        if not isinstance(item, Const | ParamRef) or type(item) is not kind or item.type != typ:
            return items
        found.append(item.value if isinstance(item, Const) else item.index)
    return Constants(typ, tuple(found)) if kind is Const else Parameters(typ, tuple(found))


@dataclass(frozen=True, slots=True)
class ContextRef(Expr):
    """A value fixed when execution begins: `now` (transaction start), `statement_timestamp`, `current_user`,
    `current_database`, `current_schema`, `pg_backend_pid`, ... Rendered as a literal like a parameter."""

    name: str


FunctionKind = Literal["function", "operator", "cast", "aggregate", "ordered_set", "window"]
Volatility = Literal["immutable", "stable", "volatile"]
Builder = Callable[[Sequence[exp.Expression], "Call | AggregateCall"], exp.Expression]
Template = str | Builder
#: From the (coerced) arguments' types to the result's: digits of numerics, modifiers, polymorphic results.
TypeRule = Callable[[Sequence[SqlType]], SqlType]
#: The same from the arguments themselves, for results whose digits a constant's value decides (extract's field).
ValueRule = Callable[[Sequence["Expr"]], SqlType]
CastContext = Literal["implicit", "assignment", "explicit"]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """One signature.

    name: proname, or the operator's symbol (`+`; a prefix operator has one argument), or `cast`.
    args: declared argument types; may be polymorphic (ANYELEMENT, ANYARRAY, ANYNONARRAY; ANYCOMPATIBLE and its kin,
        whose arguments are brought to one common type; ANY).
    variadic: the last argument repeats (one or more times), as VARIADIC "any" or VARIADIC anyarray.
    returns: declared result type.
    rule: refines the result's SqlType; None: `returns`, resolved for polymorphism, digits unknown.
    by_value: like `rule`, from the coerced arguments; wins over `rule`.
    strict: null in, null out.
    returns_set: a set-returning function: its template gives an array of the set's rows, in order (null: no row), of
        structs f0, f1 ... when a row is a record; the compiler unnests that array.
    column: the name of a set-returning function's column (its one OUT parameter's name), if it is not the function's
        name.
    context: for casts, whether the cast may be applied implicitly, in assignments, or only explicitly.
    optional: how many trailing arguments have defaults (the template sees those given).
    names: the arguments' names, where calls may use named notation; `defaults` are then the canonical values of the
        optional ones.
    """

    name: str
    kind: FunctionKind
    args: tuple[t.PgType, ...]
    returns: t.PgType
    local: Template | None = None
    spark: Template | None = None
    rule: TypeRule | None = None
    by_value: ValueRule | None = None
    variadic: bool = False
    strict: bool = True
    volatility: Volatility = "immutable"
    returns_set: bool = False
    column: str = ""
    context: CastContext = "explicit"
    optional: int = 0
    names: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(a.name for a in self.args)})"


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar (or set-returning) function, operator or cast from the function table, arguments already coerced.

    Casts are calls too: their function is a cast row (`Function.kind == "cast"`), and `type` carries the target's
    modifier and digits.
    """

    function: Function
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Relabel(Expr):
    """`arg` as another type with the same storage: RelabelType of PostgreSQL's parse trees (`with_type`)."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class And(Expr):
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Expr):
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Expr):
    arg: Expr


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    """arg IS [NOT] NULL. For a row it tests all fields of the row, unless `whole`: then whether the row itself is null."""

    arg: Expr
    negated: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class IsDistinct(Expr):
    """left IS [NOT] DISTINCT FROM right, operands of one type."""

    left: Expr
    right: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InList(Expr):
    """arg IN (items), all of one type; NOT IN is Not(InList)."""

    arg: Expr
    items: Sequence[Expr]


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """CASE; a simple CASE has been rewritten to a searched one."""

    whens: tuple[tuple[Expr, Expr], ...]
    default: Expr | None


@dataclass(frozen=True, slots=True)
class Coalesce(Expr):
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ArrayOf(Expr):
    """ARRAY[...]: elements of one type (themselves arrays for several dimensions)."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Row(Expr):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class FieldRef(Expr):
    """A field of a record, by 0-based index."""

    arg: Expr
    index: int


class SubqueryKind(enum.Enum):
    SCALAR = "scalar"
    EXISTS = "exists"
    IN = "in"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class Subquery(Expr):
    """A subquery in an expression.

    IN: `tests` are the left operands, as many as the plan has columns and of the same types (x = ANY (...) is IN).
    Comparisons other than = with ANY / ALL: `quantifier` and the comparison `operator` are set, kind is IN.
    SCALAR: one column; more than one row is 21000 at run time.
    """

    kind: SubqueryKind
    plan: Node
    tests: tuple[Expr, ...] = ()
    operator: Function | None = None
    quantifier: Literal["any", "all"] = "any"


@dataclass(frozen=True, slots=True)
class AggregateCall(Expr):
    """An aggregate; only in an Aggregator's list (or, as a window function, in `WindowCall.call`).

    args: the arguments (for an ordered-set aggregate, the direct arguments).
    order_by: ORDER BY inside the call, or WITHIN GROUP's.
    """

    function: Function
    args: tuple[Expr, ...]
    distinct: bool = False
    order_by: tuple[OrderItem, ...] = ()
    filter: Expr | None = None


@dataclass(frozen=True, slots=True)
class GroupingCall(Expr):
    """GROUPING(args), as the expression binder leaves it; the query binder puts the Aggregator's column in its place."""

    args: tuple[Expr, ...]


class FrameUnit(enum.Enum):
    ROWS = "rows"
    RANGE = "range"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class FrameBound:
    """A bound of a window's frame. kind: unbounded preceding, preceding, current row, following or unbounded following;
    offset for preceding and following.
    """

    kind: Literal["unbounded preceding", "preceding", "current row", "following", "unbounded following"]
    offset: Expr | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    unit: FrameUnit
    start: FrameBound
    end: FrameBound
    exclude: Literal["", "current row", "group", "ties"] = ""


@dataclass(frozen=True, slots=True)
class WindowCall(Expr):
    """A window function (`Call` whose function's kind is "window") or an aggregate over a window."""

    call: Call | AggregateCall
    partition_by: tuple[Expr, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame | None


def with_type(expr: Expr, typ: SqlType) -> Expr:
    """Relabel `expr` to `typ`, for changes that need no work at run time (varchar to text). A call with a type modifier
    is kept below the relabelling, since the modifier is its effect: it truncates or rounds.
    """
    if isinstance(expr, Relabel):
        expr = expr.arg
    if isinstance(expr, Call) and expr.type.typmod not in (-1, typ.typmod):
        return Relabel(typ, expr, position=expr.position)
    return replace(expr, type=typ)


def sized_parameter(expr: Expr) -> ParamRef | None:
    """Return the parameter in `$1::numeric(p, s)`: when it is bound, the result of the cast is known as well."""
    if not (isinstance(expr, Call) and expr.function.kind == "cast" and expr.type.pg is t.NUMERIC and expr.args):
        return None
    arg = expr.args[0]
    return arg if isinstance(arg, ParamRef) and arg.type.pg is t.NUMERIC and expr.type.typmod >= 0 else None


def references_to(columns: Sequence[Column]) -> tuple[ColumnRef, ...]:
    """Return a reference to each of the columns."""
    return tuple(ColumnRef(column.type, column) for column in columns)

"""The columns that a fragment's edge carries for its router and its consumer: the receiver's number, and a key to merge
by.

The fragment's statement computes them, in the local engine; `engine.planner.distribute.dispatch` has them compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import AggregateCall, Builder, Call, Column, ColumnRef, Expr, Function, Node, references_to
from engine.plan_ir.logical import Evaluator, Limit, Ordering, Sort
from engine.plan_ir.physical import Fragment, HashRouter, Mutation, Ordered, PhysicalPlan, RangeRouter
from engine.plan_ir.rewrite import walk_all
from engine.planner.distribute.hashing import hash_class
from engine.sql.functions.building import parse, place
from engine.sql.functions.comparison_keys import equality_key, order_keys
from engine.sql.functions.moments import fields
from engine.sql.trees.build import call, cast, integer, string
from engine.sql.trees.literals import literal
from wire.dataclass import dataclass
from wire.types import pg_types as t

SORT_KEY: Final = "sort_key"
BUCKET: Final = "bucket"


@dataclass(frozen=True, slots=True)
class _Named(Column):
    """A column with a fixed name."""

    @property
    def label(self) -> str:
        return self.name


def outlet(plan: PhysicalPlan, fragment: Fragment) -> Node:
    """Return the fragment's plan with the columns that its edge carries, and those that its router and its consumer
    use.
    """
    assert fragment.output is not None
    edge = plan.edge(fragment.output)
    fresh = count(1 + max(c.id for node in walk_all(fragment.root) for c in node.columns))
    extra: list[tuple[Column, Expr]] = []
    if isinstance(edge.synchronizer, Ordered):
        extra.append((_Named(next(fresh), SORT_KEY, st.of(t.BYTEA)), _sort_key_call(edge.synchronizer.keys)))
    if isinstance(edge.router, (HashRouter, RangeRouter)) and fragment.engine == "local":
        number = _bucket_call(edge.router, plan.fragment(edge.target))
        extra.append((_Named(next(fresh), BUCKET, st.of(t.INT4)), number))
    if not extra and edge.columns == fragment.root.columns:
        return fragment.root
    assert not isinstance(fragment.root, Mutation), "intents go to one receiver, as they are"
    return _with_extra(fragment.root, edge.columns, extra)


def _with_extra(node: Node, carried: tuple[Column, ...], extra: Sequence[tuple[Column, Expr]]) -> Node:
    """Return `node` with these of its columns, then the extra ones, computed before they are sorted."""
    columns = (*carried, *(column for column, _ in extra))
    if isinstance(node, (Sort, Limit)):
        below = node.input.columns
        return replace(node, columns=columns, input=_with_extra(node.input, below, extra) if extra else node.input)
    emit = (*(ColumnRef(column.type, column) for column in carried), *(expr for _, expr in extra))
    return Evaluator(columns, node, emit)


def _function(name: str, columns: Sequence[Column], returns: t.PgType, build: Builder) -> Call:
    function = Function(name, "function", tuple(c.type.pg for c in columns), returns, build, strict=False)
    return Call(st.of(returns), function, references_to(columns))


def _bucket_call(router: HashRouter | RangeRouter, target: Fragment) -> Expr:
    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return bucket_number(router, args, target)

    return _function(BUCKET, router.keys, t.INT4, build)


def bucket_number(router: HashRouter | RangeRouter, keys: Sequence[exp.Expression], target: Fragment) -> exp.Expression:
    """Compute the receiver's number from the values of the router's keys."""
    if isinstance(router, RangeRouter):
        return _range_number(router, keys[0], [instance.member for instance in target.instances])
    hashed = call("HASH", *(_hash_form(tree, key.type) for tree, key in zip(keys, router.keys, strict=True)))
    return cast(exp.Mod(this=hashed, expression=integer(len(target.instances))), exp.DataType.build("INTEGER"))


def _range_number(router: RangeRouter, tree: exp.Expression, members: Sequence[str]) -> exp.Expression:
    """Compute the number of the first range whose end is greater than the value; the last range has no end."""
    key = router.ordering[0]
    numbers = [members.index(member) for member in router.members or members]
    typ = _BOUND_TYPES.get(key.column.type.pg, key.column.type)
    before = exp.GT if key.descending else exp.LT
    null = exp.Is(this=tree.copy(), expression=exp.Null())
    branches = [exp.If(this=null, true=integer(numbers[0 if key.nulls_first else -1]))]
    for bound, number in zip(router.bounds, numbers[:-1], strict=True):
        is_before = before(this=tree.copy(), expression=literal(bound, typ, "local"))
        branches.append(exp.If(this=is_before, true=integer(number)))
    return cast(exp.Case(ifs=branches, default=integer(numbers[-1])), exp.DataType.build("INTEGER"))


#: The types of the bounds, for keys whose own type may not have all values of the table that the bounds are from.
_BOUND_TYPES: Final[Mapping[t.PgType, SqlType]] = dict.fromkeys((t.INT2, t.INT4), st.of(t.INT8))


def _hash_form(tree: exp.Expression, typ: SqlType) -> exp.Expression:
    kind = hash_class(typ.pg)
    if kind == "exact":
        return cast(tree, exp.DataType.build("HUGEINT", dialect="duckdb"))
    if kind == "float":
        return cast(tree, exp.DataType.build("DOUBLE"))
    return equality_key(tree, typ, "local")


def _sort_key_call(keys: Ordering) -> Expr:
    columns = [key.column for key in keys]

    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        parts: list[exp.Expression] = []
        for arg, key in zip(args, keys, strict=True):
            direction = "DESC" if key.descending else "ASC"
            placed = f"{direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for tree in _sort_forms(arg, key.column.type):
                parts += [tree, string(placed)]
        # From a few bytes in all, DuckDB would make a number instead.
        parts += [string(""), string("ASC NULLS LAST")]
        return call("CREATE_SORT_KEY", *parts)

    return _function(SORT_KEY, columns, t.BYTEA, build)


def _sort_forms(tree: exp.Expression, typ: SqlType) -> list[exp.Expression]:
    if typ.pg is not t.INTERVAL:
        return order_keys(tree, typ, "local")
    parts = fields("local", tree)
    text = "(CAST($1 AS HUGEINT) * 30 + $2) * 86400000000 + $3"
    return [place(parse("local", text), [parts.months, parts.days, parts.micros])]

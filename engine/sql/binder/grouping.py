"""GROUP BY, HAVING and aggregates (parse_clause.c: transformGroupClause; parse_agg.c: parseCheckAggregates).

A grouped level has an AGGREGATOR over its FROM and WHERE. Every other clause is then rewritten: an expression that
equals a group key becomes the key's column, and an aggregate becomes its column. Any remaining column is PostgreSQL's
error 42803, unless the query groups by its table's primary key: the column then has one value per group and becomes a
further key that changes no group.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.plan_ir.expr import AggregateCall, Call, Column, ColumnRef, Const, Expr, GroupingCall, Node, WindowCall
from engine.plan_ir.logical import Aggregator
from engine.plan_ir.rewrite import map_operands
from engine.sql.binder import object_names, set_returning
from engine.sql.binder.blocks import emit_column, extend_columns, refer
from engine.sql.binder.known_exprs import KnownExprs
from engine.sql.binder.levels import (
    belongs_to,
    check_aggregate,
    check_no_windows,
    own_aggregates,
    own_columns,
    replace_parts,
)
from engine.sql.binder.same_exprs import is_same
from engine.sql.binder.scope import PrimaryKey, Scope
from engine.sql.binder.sorting import Target, find_target
from engine.sql.parser.lexical.positions import cursor, leftmost
from wire.errors import FeatureNotSupported, GroupingError, ProgramLimitExceeded
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_SETS_MAX: Final = 4096
#: Grouping sets, each by the indexes of its keys.
Sets = list[tuple[int, ...]]


@dataclass(slots=True)
class GroupBy:
    """A GROUP BY clause: its distinct keys, and its grouping sets unless there is only the set of all keys."""

    keys: list[Expr] = field(default_factory=list)
    sets: tuple[tuple[int, ...], ...] | None = None


def bind_group_by(binder: QueryBinder, group: exp.Group, targets: list[Target], scope: Scope) -> GroupBy:
    """Bind the keys, which are looked up in the select list as ORDER BY's are, and the grouping sets that they form."""
    clause = _Clause(binder, targets, scope)
    lists = [clause.sets_of(item) for item in group.expressions]
    sets: Sets = [()]
    for one in lists:
        sets = [_merge_indexes(a, b) for a, b in itertools.product(sets, one)]
        if len(sets) > _SETS_MAX:
            raise ProgramLimitExceeded(f"too many grouping sets present (maximum {_SETS_MAX})")
    if group.args.get("distinct"):
        sets = list({frozenset(s): s for s in sets}.values())
    if len(sets) > 1 and not any(sets):
        raise FeatureNotSupported("not supported: GROUP BY with several empty grouping sets and no other")
    plain = len(sets) == 1 and len(sets[0]) == len(clause.keys) and sets != [()]
    if not plain:
        clause.require_tellable()
    return GroupBy(clause.keys, None if plain else tuple(sets))


def _merge_indexes(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return (*left, *(i for i in right if i not in left))


class _Clause:
    """The state of a GROUP BY clause that is being bound."""

    def __init__(self, binder: QueryBinder, targets: list[Target], scope: Scope) -> None:
        self._binder = binder
        self._targets = targets
        self._scope = scope
        self.keys: list[Expr] = []
        self._known = KnownExprs()
        self._targets_of_keys: list[int] = []
        self._doubled = False

    def require_tellable(self) -> None:
        """Refuse grouping sets whose keys cannot be identified by their expression. Where a set leaves a key out, the
        key's own target is null, but an equal expression elsewhere is not; constants likewise.
        """
        if self._doubled:
            raise FeatureNotSupported("not supported: grouping sets of an expression that the select list has twice")
        if any(isinstance(key, Const) for key in self.keys):
            raise FeatureNotSupported("not supported: grouping sets of a constant")

    def sets_of(self, item: exp.Expression) -> Sets:
        """Return the grouping sets that one element stands for."""
        match item:
            case exp.Tuple() if not item.meta.get("row"):
                return [self._unit(item)]
            case exp.Rollup():
                units = [self._unit(e) for e in item.expressions]
                return [_concatenate(units[:n]) for n in range(len(units), -1, -1)]
            case exp.Cube():
                return self._cube([self._unit(e) for e in item.expressions])
            case exp.GroupingSets():
                return [s for e in item.expressions for s in self.sets_of(e)]
            case _:
                return [self._unit(item)]

    def _cube(self, units: Sets) -> Sets:
        """Return every subset of the units, the largest first as PostgreSQL expands them."""
        if len(units) > 12:
            raise ProgramLimitExceeded("CUBE is limited to 12 elements")
        every = range(len(units))
        chosen = (c for n in range(len(units), -1, -1) for c in itertools.combinations(every, n))
        return [_concatenate([units[i] for i in c]) for c in chosen]

    def _unit(self, item: exp.Expression) -> tuple[int, ...]:
        if isinstance(item, exp.Tuple) and not item.meta.get("row"):
            return _concatenate([self._unit(e) for e in item.expressions])
        return (self._key(item),)

    def _key(self, item: exp.Expression) -> int:
        before = len(self._targets)
        index = find_target(self._binder, item, self._targets, self._scope, "GROUP BY")
        expr = self._targets[index].expr
        del self._targets[before:]
        for aggregate in own_aggregates(expr, self._scope):
            what = "grouping operations" if isinstance(aggregate, GroupingCall) else "aggregate functions"
            raise GroupingError(f"{what} are not allowed in GROUP BY", position=cursor(aggregate.position))
        check_no_windows(expr, "GROUP BY")
        self._binder.expressions.require_equality(replace(expr, position=leftmost(item)))
        known = self._known.find(expr)
        if known is not None:
            self._doubled |= self._targets_of_keys[known] != index
            return known
        self._known.add(expr, len(self.keys))
        self.keys.append(expr)
        self._targets_of_keys.append(index)
        return len(self.keys) - 1


def _concatenate(units: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    found: tuple[int, ...] = ()
    for unit in units:
        found = _merge_indexes(found, unit)
    return found


def is_grouped(exprs: Sequence[Expr], scope: Scope) -> bool:
    return any(True for expr in exprs for _ in own_aggregates(expr, scope))


def add_aggregator(
    binder: QueryBinder, node: Node, group: GroupBy, exprs: Sequence[Expr], having: Expr | None, scope: Scope
) -> tuple[Node, list[Expr]]:
    """Put an AGGREGATOR over `node`. Returns it and `exprs` rewritten to refer to its columns. Raises GroupingError
    (42803).
    """
    node, keys_in = _with_keys(binder, node, group.keys)
    collected = _Collected(binder, group, keys_in, scope)
    above = [collected.rewrite(expr) for expr in exprs]
    test = collected.rewrite(having) if having is not None else None
    keys = (*collected.keys, *collected.told.values())
    told = range(len(collected.keys), len(keys))
    sets = None if group.sets is None else tuple((*s, *told) for s in group.sets)
    columns = (*keys, *collected.columns, *collected.grouping_columns)
    calls, groupings = tuple(collected.calls), tuple(collected.groupings)
    return Aggregator(columns, node, (*keys_in, *collected.told), calls, sets, groupings, test), above


def _with_keys(binder: QueryBinder, node: Node, keys: list[Expr]) -> tuple[Node, tuple[Column, ...]]:
    """Extend `node` by a column for each key. Set-returning functions in keys run before grouping."""
    exprs = keys
    if any(set_returning.has_sets(key) for key in keys):
        node, exprs = set_returning.expand_sets(binder.context, node, keys)
    return extend_columns(binder.context, node, exprs, "key")


class _Collected:
    """The aggregates of one level, collected while its clauses are rewritten."""

    def __init__(self, binder: QueryBinder, group: GroupBy, keys_in: Sequence[Column], scope: Scope) -> None:
        self._context = binder.context
        self._scope = scope
        self._exprs = group.keys
        self._primary_keys = _primary_keys(group, scope)
        self.keys = [emit_column(binder.context, c.name, key) for key, c in zip(group.keys, keys_in, strict=True)]
        self.calls: list[AggregateCall] = []
        self._known = KnownExprs()
        self.columns: list[Column] = []
        self.groupings: list[tuple[int, ...]] = []
        self.grouping_columns: list[Column] = []
        #: Columns that functionally depend on primary keys among the keys, by the columns below.
        self.told: dict[Column, Column] = {}

    def rewrite(self, expr: Expr) -> Expr:
        found = replace_parts(expr, self._change)
        self._check(found)
        return found

    def _change(self, part: Expr, depth: int) -> Expr | None:
        # In subqueries PostgreSQL finds no keys but columns. The name of an object is a subquery over its OID only here.
        findable = depth == 0 or isinstance(part, ColumnRef) or part.type.pg is t.OID
        if findable and not isinstance(part, Const):
            for expr, key in zip(self._exprs, self.keys, strict=True):
                if _same(part, expr):
                    return ColumnRef(part.type, key)
        match part:
            case ColumnRef():
                return self._dependent_column(part)
            case AggregateCall() if belongs_to(part, self._scope, depth):
                return self._aggregate(part)
            case GroupingCall() if belongs_to(part, self._scope, depth):
                return self._grouping(part)
            case WindowCall() if isinstance(part.call, AggregateCall):
                return self._window(part, depth)
            case _:
                return None

    def _dependent_column(self, part: ColumnRef) -> Expr | None:
        """Return a column that functionally depends on a primary key among the group keys, as a column above the
        aggregation; None for others.
        """
        for key in self._primary_keys:
            if part.column.id in key.of:
                self._context.primary_keys.add(key.constraint)
                if part.column not in self.told:
                    self.told[part.column] = emit_column(self._context, part.column.name, part)
                return ColumnRef(part.type, self.told[part.column])
        return None

    def _window(self, window: WindowCall, depth: int) -> Expr:
        """Rewrite the arguments of an aggregate over a window; the aggregate itself stays."""

        def change(part: Expr) -> Expr:
            if part is window.call:
                return map_operands(part, lambda operand: replace_parts(operand, self._change, depth))
            return replace_parts(part, self._change, depth)

        return map_operands(window, change)

    def _aggregate(self, call: AggregateCall) -> Expr:
        check_aggregate(call, self._scope)
        if call.function.kind == "ordered_set":
            for arg in call.args:
                detail = "Direct arguments of an ordered-set aggregate must use only grouped columns."
                self._check(replace_parts(arg, self._change), detail)
        known = self._known.find(call)
        if known is not None and not _is_volatile(call):
            return refer(self.columns[known])
        column = self._context.new_column(call.function.name, call.type)
        self._known.add(call, len(self.calls))
        self.calls.append(call)
        self.columns.append(column)
        return refer(column)

    def _grouping(self, call: GroupingCall) -> Expr:
        indexes = []
        for arg in call.args:
            index = next((n for n, key in enumerate(self._exprs) if is_same(arg, key)), None)
            if index is None:
                message = "arguments to GROUPING must be grouping expressions of the associated query level"
                raise GroupingError(message, position=cursor(arg.position))
            indexes.append(index)
        if tuple(indexes) not in self.groupings:
            self.groupings.append(tuple(indexes))
            self.grouping_columns.append(self._context.new_column("grouping", call.type))
        return refer(self.grouping_columns[self.groupings.index(tuple(indexes))])

    def _check(self, expr: Expr, detail: str | None = None) -> None:
        """Check that no ungrouped column is left (check_ungrouped_columns)."""
        for column, depth in own_columns(expr, self._scope):
            name = self._scope.describe(column.column)
            message = (
                f'subquery uses ungrouped column "{name}" from outer query'
                if depth
                else f'column "{name}" must appear in the GROUP BY clause or be used in an aggregate function'
            )
            raise GroupingError(message, detail=detail, position=cursor(column.position))


def _primary_keys(group: GroupBy, scope: Scope) -> list[PrimaryKey]:
    """Return the primary keys that every grouping set contains."""
    common = list(range(len(group.keys)))
    for one in group.sets or ():
        common = [index for index in common if index in one]
    ids = {key.column.id for index in common if isinstance(key := group.keys[index], ColumnRef)}
    return [source.key for source in scope.known if source.key is not None and source.key.columns <= ids]


def _same(part: Expr, key: Expr) -> bool:
    """Return whether an expression is the group key. It may have been relabelled, as varchar is to text, which costs
    nothing, as name is to text, or as regclass is to oid. A cast that differs in its type only is another cast.
    """
    if is_same(part, key):
        return True
    if isinstance(part, ColumnRef):
        return isinstance(key, ColumnRef) and part.column == key.column
    relabelled = (part.type.pg is t.OID and object_names.is_object(key.type.pg)) or (
        part.type.pg is t.TEXT and key.type.pg is t.NAME
    )
    if relabelled:
        return replace(part, type=key.type) == key
    if part.type.pg is not t.TEXT or key.type.pg is not t.VARCHAR:
        return False
    return not (isinstance(key, Call) and key.function.kind == "cast") and replace(part, type=key.type) == key


def _is_volatile(call: AggregateCall) -> bool:
    return any(isinstance(part, Call) and part.function.volatility == "volatile" for part in call.walk())

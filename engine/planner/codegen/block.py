"""A SELECT under construction.

Nodes of a plan are folded into one SELECT for as long as SQL's order of evaluation allows (FROM, WHERE, GROUP BY,
HAVING, window functions and select list, ORDER BY, LIMIT). Where it does not, the SELECT built so far becomes a derived
table. Columns are kept as trees and written when the SELECT is closed, and only those that are used.

Folding derives a table first wherever it would otherwise:
- compute an expression twice because two places refer to it (columns and casts of them are cheap, all else is not), above
  all a volatile one;
- move an expression above a LIMIT, or to the null-supplying side of an outer join;
- replace a column reference from inside a subquery by an expression, which the engines' decorrelation does not handle.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from engine.plan_ir.expr import Column, ColumnRef, Expr, Subquery
from engine.plan_ir.free_columns import references
from engine.planner.codegen.scope import Compilation, Scope
from engine.sql.trees.build import (
    QueryTree,
    call,
    column,
    conjunction,
    integer,
    label,
    ordered_term,
    table_alias,
    with_alias,
)


class Stage(enum.IntEnum):
    """The clauses of a SELECT that are set, and so those that may still be added."""

    SOURCE = 0
    FILTERED = 1
    GROUPED = 2
    PROJECTED = 3
    LIMITED = 4


def is_plain(tree: exp.Expression) -> bool:
    """Whether a tree is a column or a cast of one: cheap, and null where its table is."""
    while isinstance(tree, exp.Cast):
        tree = tree.this
    return isinstance(tree, exp.Column)


def is_cheap(tree: exp.Expression) -> bool:
    """Whether a tree may be repeated: a column, a literal, a parameter, or a cast of these."""
    while isinstance(tree, exp.Cast):
        tree = tree.this
    return isinstance(tree, (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Placeholder))


def _is_constant(tree: exp.Expression) -> bool:
    while isinstance(tree, (exp.Cast, exp.Neg, exp.Paren)):
        tree = tree.this
    return isinstance(tree, (exp.Literal, exp.Boolean, exp.Null))


def mark_aggregate(tree: exp.Expression) -> None:
    """Mark an expression that makes its SELECT an aggregation; copies keep the mark."""
    tree.meta["aggregate"] = True


def _aggregates(tree: exp.Expression) -> bool:
    """Return whether an expression contains one that is marked, outside of subqueries."""
    parts = tree.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(part.meta.get("aggregate") is True for part in parts)


@dataclass(slots=True)
class Block:
    """A SELECT under construction; see the module's docstring.

    scope: how each column is written in this SELECT.
    source: the first item of FROM, None for a SELECT without one.
    whole: a complete query instead (a set operation), with its columns; everything but `close` derives a table from it.
    is_total: whether it aggregates all rows to one, without GROUP BY.
    volatile: ids of columns that are computed anew at each reference.
    subqueries: the weight of the subqueries that DuckDB decorrelates together with this SELECT's
        (`engine.planner.codegen.many_subqueries`).
    """

    scope: Scope
    source: exp.Expression | None = None
    joins: list[exp.Join] = field(default_factory=list)
    where: list[exp.Expression] = field(default_factory=list)
    group: exp.Group | None = None
    having: list[exp.Expression] = field(default_factory=list)
    is_total: bool = False
    order: list[exp.Ordered] = field(default_factory=list)
    limit: exp.Expression | None = None
    offset: exp.Expression | None = None
    stage: Stage = Stage.SOURCE
    whole: QueryTree | None = None
    volatile: set[int] = field(default_factory=set)
    subqueries: int = 0

    @property
    def compilation(self) -> Compilation:
        return self.scope.compilation

    def close(self, columns: Sequence[Column], labels: Sequence[str] | None = None) -> QueryTree:
        """Return the finished query with `columns` in order, labelled by their ids or by `labels`."""
        names = [c.label for c in columns] if labels is None else list(labels)
        if self.whole is not None:
            if list(self.scope.columns) == [c.id for c in columns] and names == [c.label for c in columns]:
                return self.whole
            return self.as_derived_table().close(columns, labels)
        return self.close_trees([self._take_column(c) for c in columns], names)

    def _take_column(self, column: Column) -> exp.Expression:
        """Return a column's tree for the finished query without a copy where possible, since that is its last use:
        copies took half of the compilation's time.
        """
        tree = self.scope.columns.get(column.id)
        return self.scope.column(column) if tree is None else tree

    def close_trees(self, trees: Sequence[exp.Expression], labels: Sequence[str]) -> QueryTree:
        """Return the finished query with these expressions as its columns."""
        emitted = [with_alias(tree, name) for tree, name in zip(trees, labels, strict=True)]
        select = exp.Select(expressions=emitted or [with_alias(integer(1), "one")])
        if self.source is not None:
            select.set("from_", exp.From(this=self.source))
        select.set("joins", self.joins)
        if self.where:
            select.set("where", exp.Where(this=conjunction(self.where)))
        select.set("group", self.group)
        order = self._order_by(trees, labels)
        having = self.having
        if self.is_total and not having and not any(map(_aggregates, (*trees, *order))):
            # Nobody reads the aggregates, but there is one row all the same.
            having = [exp.GTE(this=call("COUNT", exp.Star()), expression=integer(0))]
        if having:
            select.set("having", exp.Having(this=conjunction(having)))
        if order:
            select.set("order", exp.Order(expressions=order))
        if self.limit is not None:
            select.set("limit", exp.Limit(expression=self.limit))
        if self.offset is not None:
            select.set("offset", exp.Offset(expression=self.offset))
        return select

    def as_derived_table(
        self,
        extra: Mapping[str, exp.Expression] | None = None,
        *,
        keep_order: bool = False,
        move_order: bool = False,
    ) -> Block:
        """Return a block that reads this SELECT as a derived table.

        extra: further expressions of this SELECT to include in the table, by label (`extra_column`).
        keep_order: order the new SELECT as this one is, by columns of the table. move_order: the same, and do not sort
            this SELECT, which may have no LIMIT.
        """
        assert not (move_order and self.stage is Stage.LIMITED)
        alias = self.compilation.alias()
        trees = {f"c{id_}": tree for id_, tree in self.scope.columns.items()} | dict(extra or {})
        order = self._exported_order(trees, alias) if keep_order or move_order else []
        if move_order:
            self.order = []
        query = self.whole
        if query is None:
            query = self.close_trees(list(trees.values()), list(trees))
        columns: dict[int, exp.Expression] = {id_: column(f"c{id_}", alias) for id_ in self.scope.columns}
        source = exp.Subquery(this=query, alias=table_alias(alias))
        scope = Scope(self.compilation, columns, self.scope.outer)
        return Block(scope, source, order=order, subqueries=self.subqueries)

    def extra_column(self, name: str) -> exp.Column:
        """Return an extra column of the derived table that this block has just begun to read."""
        assert self.source is not None
        return column(name, self.source.alias)

    def _exported_order(self, trees: dict[str, exp.Expression], alias: str) -> list[exp.Ordered]:
        """Return this SELECT's order in terms of the derived table; add keys that are missing to `trees`."""
        order = []
        for index, item in enumerate(self.order):
            name = next((name for name, tree in trees.items() if tree == item.this), f"k{index}")
            trees.setdefault(name, item.this.copy())
            order.append(ordered_term(column(name, alias), bool(item.args["desc"]), bool(item.args["nulls_first"])))
        return order

    def passes_on(self) -> bool:
        """Return whether some of its columns belong to outer queries, not to its FROM clause."""
        items = [] if self.source is None else [self.source, *(joined.this for joined in self.joins)]
        own = {item.alias_or_name for item in items}
        return any(c.table not in own for tree in self.scope.columns.values() for c in tree.find_all(exp.Column))

    def flat(self) -> Block:
        """Return a block that is a plain SELECT: this one, or one that reads its complete query."""
        return self if self.whole is None else self.as_derived_table()

    def at_most(self, stage: Stage) -> Block:
        """Return a block to which a clause later than `stage` may be added: this one, or one that reads it."""
        return self if self.stage <= stage and self.whole is None else self.as_derived_table(keep_order=True)

    def ready_for(self, exprs: Iterable[Expr]) -> Block:
        """Return a block in which these expressions may be written: this one, or one that reads it; see the module's
        rules.
        """
        direct: Counter[int] = Counter()
        nested: set[int] = set()
        for expr in exprs:
            for part in expr.walk():
                if isinstance(part, ColumnRef):
                    direct[part.column.id] += 1
                elif isinstance(part, Subquery):
                    nested.update(c.id for c in references(part))
        for id_, tree in self.scope.columns.items():
            uses = direct[id_]
            if id_ in nested and not is_plain(tree):
                return self.as_derived_table(keep_order=True)
            if uses and (id_ in self.volatile or (uses > 1 and not is_cheap(tree))):
                return self.as_derived_table(keep_order=True)
        if self.stage >= Stage.GROUPED and nested & self.scope.columns.keys():
            return self.as_derived_table(keep_order=True)
        return self

    def _order_by(self, trees: Sequence[exp.Expression], labels: Sequence[str]) -> list[exp.Ordered]:
        """Return the items of ORDER BY, written by their labels where they are in the select list, without constants,
        which would be the numbers of columns.
        """
        if not self.order:
            return []
        by_tree = dict(zip(trees, labels, strict=True))
        items = []
        for item in self.order:
            name = by_tree.get(item.this)
            if name is None and _is_constant(item.this):
                continue
            key = item.this if name is None else exp.Column(this=label(name))
            items.append(ordered_term(key, bool(item.args["desc"]), bool(item.args["nulls_first"])))
        return items

"""The result of binding a query (`Bound`), and small plan builders that all parts of the binder use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.plan_ir.expr import Column, ColumnRef, Const, Expr, FieldRef, Node, Row
from engine.plan_ir.logical import Evaluator, Limit, Ordering
from engine.sql.binder.scope import NOBODYS, BindContext, Rows, Sources
from wire.dataclass import dataclass

#: A bound FROM item: its plan, and the sources that it makes visible.
FromItem = tuple[Node, Sources]


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound query: its plan, the names of its visible columns, and its required order.

    The plan's columns are the visible ones, followed by those that only the order needs. rows: the relations that its
    rows belong to.
    """

    plan: Node
    names: tuple[str, ...]
    requirement: Ordering = ()
    rows: Rows = NOBODYS

    @property
    def columns(self) -> tuple[Column, ...]:
        """The visible columns."""
        return self.plan.columns[: len(self.names)]

    def subquery_plan(self) -> Node:
        """Return the plan of a subquery: visible columns only, with its order expressed by a Limit."""
        if not self.requirement and self.plan.columns == self.columns:
            return self.plan
        if isinstance(self.plan, Limit):
            return replace(self.plan, columns=self.columns)
        if not self.requirement:
            # The plan of DISTINCT ON also has its keys as columns.
            return Evaluator(self.columns, self.plan, pass_through(self.columns))
        return Limit(self.columns, self.plan, requirement=self.requirement)


def refer(column: Column) -> ColumnRef:
    return ColumnRef(column.type, column)


def pass_through(columns: Sequence[Column]) -> tuple[Expr, ...]:
    """Return references to the columns, to be emitted unchanged."""
    return tuple(refer(c) for c in columns)


def row_items(row: Expr) -> tuple[Expr, ...]:
    """Return the fields of a record as expressions."""
    if isinstance(row, Row):
        return row.items
    if isinstance(row, Const) and row.value is None:
        return tuple(Const(typ, None, position=row.position) for _name, typ in row.type.fields)
    return tuple(FieldRef(typ, row, i, position=row.position) for i, (_name, typ) in enumerate(row.type.fields))


def filter_rows(node: Node, condition: Expr) -> Node:
    """Return a plan of the rows for which `condition` holds."""
    return Evaluator(node.columns, node, pass_through(node.columns), condition)


def project(context: BindContext, node: Node, emit: Sequence[Expr], names: Sequence[str]) -> Evaluator:
    """Emit `emit` over `node` as new columns with their origins. A filter directly below is merged into the new node."""
    columns = tuple(emit_column(context, name, expr) for name, expr in zip(names, emit, strict=True))
    if isinstance(node, Evaluator) and node.filter is not None and node.emit == pass_through(node.columns):
        return Evaluator(columns, node.input, tuple(emit), node.filter)
    return Evaluator(columns, node, tuple(emit))


def emit_column(context: BindContext, name: str, expr: Expr) -> Column:
    """Return a new column that holds `expr`. A plain column reference passes on its origin, and its name if `name` is
    empty.
    """
    if not name and isinstance(expr, ColumnRef):
        name = expr.column.name
    column = context.new_column(name, expr.type)
    if isinstance(expr, ColumnRef) and (origin := context.origins.get(expr.column.id)) is not None:
        context.origins[column.id] = origin
    return column


def extend_columns(
    context: BindContext, node: Node, emit: Sequence[Expr], name: str
) -> tuple[Node, tuple[Column, ...]]:
    """Extend `node` by columns that hold `emit`; plain columns of the node are used as they are. Returns the node and
    the column of each expression.
    """
    here = {c.id for c in node.columns}
    found: list[Column] = []
    added: list[tuple[Column, Expr]] = []
    for expr in emit:
        if isinstance(expr, ColumnRef) and expr.column.id in here:
            found.append(expr.column)
            continue
        column = emit_column(context, name, expr)
        found.append(column)
        added.append((column, expr))
    if not added:
        return node, tuple(found)
    columns = (*node.columns, *(c for c, _ in added))
    return Evaluator(columns, node, (*pass_through(node.columns), *(e for _, e in added))), tuple(found)

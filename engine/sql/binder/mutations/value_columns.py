"""Long VALUES lists of an INSERT, bound by column instead of by row.

Each cell takes its type from its column, so thousands of parameters in one column are cast alike: they become one value
(`engine.sql.binder.parameter_lists`), under the casts that the column needs. Neighbour: `insert` binds the rows one by
one where a cell is more than a constant or a parameter, or where one of them is invalid, so that the error is that of
the first such cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.catalog.model.objects import TableColumn
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, Const, Constants, Expr, ParamRef, sized_parameter
from engine.sql.binder import parameter_lists
from engine.sql.binder.mutations.target import assign, default, is_default
from engine.sql.binder.scope import Scope
from engine.sql.parser.nodes.statements import Insert
from wire.dataclass import dataclass
from wire.errors import SqlError

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

#: Cells that can be bound in any order.
_SIMPLE: Final = (exp.Parameter, exp.Literal, exp.Null, exp.Boolean, exp.Var)


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A column of rows. cells: its values, of one type, in the order of the rows. casts: the casts that are applied to
    each, outermost first.
    """

    type: SqlType
    cells: Sequence[Expr]
    casts: tuple[Call, ...] = ()


def bind_columns(
    binder: QueryBinder,
    statement: Insert,
    columns: Sequence[TableColumn],
    rows: Sequence[exp.Expression],
    scope: Scope,
) -> Mapping[int, BoundColumn] | None:
    """Bind rows of equal width by their columns' numbers; None if they must be bound row by row."""
    if len(rows) < parameter_lists.MANY or any(statement.parts):
        return None
    width = len(rows[0].expressions)
    if width > len(columns) or (statement.columns is not None and width < len(columns)):
        return None
    if any(column.identity or column.generated or column.domain is not None for column in columns[:width]):
        return None
    cells = [cell for row in rows for cell in row.expressions]
    if not all(isinstance(cell, _SIMPLE) for cell in cells):
        return None
    parameters = [cell.name for cell in cells if isinstance(cell, exp.Parameter)]
    if not parameters or len(set(parameters)) < len(parameters):
        # A parameter takes its type from its first use.
        return None
    try:
        return {
            column.number: _bind_column(binder, column, cells[at::width], scope)
            for at, column in enumerate(columns[:width])
        }
    except SqlError:
        return None


def bind_default_column(binder: QueryBinder, column: TableColumn, rows: int) -> BoundColumn:
    """Bind a column to which the statement gives no value, for that many rows."""
    value = default(binder, column)
    if isinstance(value, Const):
        return BoundColumn(value.type, Constants(value.type, (value.value,) * rows))
    return BoundColumn(value.type, (value,) * rows)


def _bind_column(
    binder: QueryBinder, column: TableColumn, cells: Sequence[exp.Expression], scope: Scope
) -> BoundColumn:
    listed = parameter_lists.read_list(cells, scope.parameters)
    if listed is not None and (bound := _bind_list(binder, column, listed)) is not None:
        return bound
    return _with_common_casts(column, [_bind_cell(binder, column, cell, scope) for cell in cells])


def _bind_list(binder: QueryBinder, column: TableColumn, listed: parameter_lists.ParameterList) -> BoundColumn | None:
    leaves = [casts_around(assign(binder, sample, column))[1] for sample in listed.samples]
    if not all(isinstance(leaf, ParamRef) for leaf in leaves):
        return None
    typ = parameter_lists.widest([leaf.type for leaf in leaves])
    if typ is None:
        return None
    casts, _ = casts_around(assign(binder, replace(listed.samples[0], type=typ), column))
    items = listed.become(typ)
    return None if items is None else BoundColumn(typ, items, casts)


def _bind_cell(binder: QueryBinder, column: TableColumn, cell: exp.Expression, scope: Scope) -> Expr:
    return default(binder, column) if is_default(cell) else assign(binder, binder.expressions.bind(cell, scope), column)


def _with_common_casts(column: TableColumn, cells: Sequence[Expr]) -> BoundColumn:
    casts, inner = common_casts(cells)
    return BoundColumn(inner[0].type if casts else column.type, inner, casts)


# -- casts down a column ---------------------------------------------------------------------------------------------


def common_casts(cells: Sequence[Expr]) -> tuple[tuple[Call, ...], Sequence[Expr]]:
    """Return the casts around the cells of a column, outermost first, and the cells inside them, if all cells have the
    same casts around values of one type. Otherwise return no casts and the cells.
    """
    casts, inner = casts_around(cells[0])
    found = [casts_around(cell) for cell in cells]
    alike = all(
        leaf.type == inner.type and [(c.function, c.type) for c in around] == [(c.function, c.type) for c in casts]
        for around, leaf in found
    )
    if not alike or not isinstance(inner, Const | ParamRef):
        return (), cells
    return casts, [leaf for _, leaf in found]


def casts_around(cell: Expr) -> tuple[tuple[Call, ...], Expr]:
    """Return the casts around an expression, outermost first, and the expression inside them."""
    around: list[Call] = []
    # A numeric parameter keeps its cast, which rounds its value when it is bound: it may have more digits than an
    # engine holds.
    while isinstance(cell, Call) and cell.function.kind == "cast" and len(cell.args) == 1 and not sized_parameter(cell):
        around.append(cell)
        cell = cell.args[0]
    return tuple(around), cell


def with_casts(casts: Sequence[Call], inner: Expr) -> Expr:
    """Return an expression with these casts applied."""
    for cast in reversed(casts):
        inner = replace(cast, args=(inner,))
    return inner

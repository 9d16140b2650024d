"""INSERT: the rows of a VALUES list or of a query, assigned to the table's columns (analyze.c: transformInsertStmt,
transformInsertRow; rewriteValuesRTE).

Each cell of a VALUES list takes its type from its column, not from the cells above it. So does an untyped literal or a
parameter in the select list of a query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import Table, TableColumn
from engine.common.sql_type import of
from engine.plan_ir.columnar_rows import ColumnarRows, gather_rows
from engine.plan_ir.expr import Call, Column, Const, Expr, Node, ParamRef
from engine.plan_ir.logical import Evaluator, Mutate, Ordering, Values
from engine.plan_ir.select_list import has_one_row, in_renewed, requirements, select_list, with_select_list
from engine.sql.binder import set_returning
from engine.sql.binder.blocks import Bound, pass_through, refer
from engine.sql.binder.domains import is_constrained
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.conflict import on_conflict
from engine.sql.binder.mutations.generated import compute_generated, forbid_value
from engine.sql.binder.mutations.outcome import Change, complete_change
from engine.sql.binder.mutations.parts import Part, forbid_default, with_part
from engine.sql.binder.mutations.target import (
    Target,
    assign,
    default,
    forbid_identity,
    foreign_keys,
    is_default,
    keys,
    next_value,
    row_columns,
)
from engine.sql.binder.mutations.updatable_views import find_target
from engine.sql.binder.mutations.value_columns import (
    BoundColumn,
    bind_columns,
    bind_default_column,
    common_casts,
    with_casts,
)
from engine.sql.binder.scope import Scope
from engine.sql.deparse.stored_text import sequence_of
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes.statements import Insert, MergeWhen
from wire.dataclass import dataclass
from wire.errors import SqlSyntaxError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


@dataclass(frozen=True, slots=True)
class Source:
    """The rows to be inserted: a node whose `rows` are whole rows of the table, and their required order.

    filled: see `Mutate`. Values of sequences are assigned when rows are written, if the number of rows is not known
    before.
    """

    node: Node
    rows: tuple[Column, ...]
    requirement: Ordering = ()
    filled: tuple[tuple[Column, int], ...] = ()


def bind(binder: QueryBinder, statement: Insert, scope: Scope) -> tuple[Mutate, tuple[str, ...]]:
    target = find_target(binder, statement.target, "fill" if statement.filling else "insert")
    table = target.table
    source = bound_source(binder, statement, target, scope)
    change = Change(
        "insert",
        target,
        source.node,
        source.rows,
        statement.alias,
        keys=keys(table),
        foreign_keys=foreign_keys(table),
        filled=source.filled,
        requirement=source.requirement,
    )
    change = compute_generated(binder, change)
    if statement.conflict is not None:
        change = compute_generated(binder, on_conflict(binder, statement, statement.conflict, change, scope))
    return complete_change(binder, change, statement.returning, scope)


def bound_source(binder: QueryBinder, statement: Insert, target: Target, scope: Scope) -> Source:
    """Return the statement's rows with defaults."""
    table = target.table
    columns = target.columns if statement.columns is None else target.find_columns(statement.columns, statement.parts)
    tree = statement.source
    if tree is None:
        target.insert(())
        return _values(binder, table, [whole_row(binder, table, {})])
    if isinstance(tree, exp.Values) and not any(tree.args.get(key) for key in ("order", "limit", "offset", "with_")):
        return _bound_values(binder, statement, target, columns, tree, Scope(binder.context, binder, scope))
    return _bound_query(binder, statement, target, columns, tree, scope)


# -- VALUES -----------------------------------------------------------------------------------------------------------


def _values(binder: QueryBinder, table: Table, rows: list[tuple[Expr, ...]]) -> Source:
    """Return the rows. Casts that are the same throughout a column are applied above the rows, once in the statement's
    text.
    """
    columns = row_columns(binder, table)
    raw = [common_casts([row[i] for row in rows]) for i in range(len(columns))]
    if len(rows) == 1:
        return Source(Values(columns, tuple(rows)), columns)
    if not any(casts for casts, _ in raw):
        return Source(Values(columns, gather_rows([cells for _, cells in raw])), columns)
    below = tuple(binder.context.new_column(c.name, cells[0].type) for c, (_, cells) in zip(columns, raw, strict=True))
    values = Values(below, gather_rows([cells for _, cells in raw]))
    emit = tuple(with_casts(casts, refer(column)) for column, (casts, _) in zip(below, raw, strict=True))
    return Source(Evaluator(columns, values, emit), columns)


def _values_by_column(binder: QueryBinder, table: Table, given: Mapping[int, BoundColumn], rows: int) -> Source:
    """Return rows whose columns are each bound as a whole, by the columns' numbers; other columns have their defaults."""
    columns = row_columns(binder, table)
    bound = [
        given[column.number] if column.number in given else bind_default_column(binder, column, rows)
        for column in table.written_columns
    ]
    below = tuple(binder.context.new_column(c.name, b.type) for c, b in zip(columns, bound, strict=True))
    values = Values(below, ColumnarRows([b.cells for b in bound]))
    emit = tuple(with_casts(b.casts, refer(column)) for column, b in zip(below, bound, strict=True))
    return Source(Evaluator(columns, values, emit), columns)


def _bound_values(
    binder: QueryBinder,
    statement: Insert,
    target: Target,
    columns: Sequence[TableColumn],
    tree: exp.Values,
    scope: Scope,
) -> Source:
    table = target.table
    width = len(tree.expressions[0].expressions)
    for written in tree.expressions:
        if len(written.expressions) != width:
            at = cursor(position(written.expressions[0]))
            raise SqlSyntaxError("VALUES lists must all be the same length", position=at)
    by_column = bind_columns(binder, statement, columns, tree.expressions, scope)
    if by_column is not None:
        target.insert(columns[:width])
        return _values_by_column(binder, table, by_column, len(tree.expressions))
    rows = [cells(binder, statement, columns, row.expressions, scope) for row in tree.expressions]
    target.insert(columns[:width])
    if len(rows) == 1 and any(set_returning.has_sets(value) for value in rows[0].values()):
        return _expand_row(binder, table, rows[0])
    for row in rows:
        for value in row.values():
            check_plain(value, "VALUES", scope)
    return _values(binder, table, [whole_row(binder, table, row) for row in rows])


def cells(
    binder: QueryBinder,
    statement: Insert | MergeWhen,
    columns: Sequence[TableColumn],
    written: Sequence[exp.Expression],
    scope: Scope,
) -> dict[int, Expr]:
    """Bind one row of VALUES, by its columns' numbers."""
    parts = _parts(statement, columns)
    for cell, part in zip(written, parts, strict=False):
        if part is not None:
            forbid_default(cell, part)
    bound = [None if is_default(cell) else binder.expressions.bind(cell, scope) for cell in written]
    _check_width(
        statement,
        columns,
        [position(cell) if e is None else e.position for cell, e in zip(written, bound, strict=True)],
    )
    row: dict[int, Expr] = {}
    for column, part, value in zip(columns, parts, bound, strict=False):
        if value is None or (column.identity and statement.overriding == "user"):
            row[column.number] = default(binder, column)
        else:
            forbid_value(column, f'cannot insert a non-DEFAULT value into column "{column.name}"')
            forbid_identity(column, statement.overriding)
            row[column.number] = _assign_part(binder, row, column, part, value, scope)
    return row


def _parts(statement: Insert | MergeWhen, columns: Sequence[TableColumn]) -> Sequence[Part | None]:
    """Return the parts of columns in the list of columns; None for a whole column."""
    if statement.columns is None:
        return (None,) * len(columns)
    pairs = zip(statement.columns, statement.parts or ((),) * len(columns), strict=True)
    return [(name, inner) if inner else None for name, inner in pairs]


def _assign_part(
    binder: QueryBinder,
    row: Mapping[int, Expr],
    column: TableColumn,
    part: Part | None,
    value: Expr,
    scope: Scope,
) -> Expr:
    """Return the column's value. A part of a column is assigned into the value of the parts before it."""
    if part is None:
        return assign(binder, value, column)
    whole = row.get(column.number) or Const(column.type, None)
    return with_part(binder, column, whole, part, value, scope)


def _check_width(statement: Insert | MergeWhen, columns: Sequence[TableColumn], places: Sequence[int]) -> None:
    """Check that there are as many values as columns; without a list of columns there may be fewer."""
    if len(places) > len(columns):
        at = cursor(places[len(columns)])
        raise SqlSyntaxError("INSERT has more expressions than target columns", position=at)
    if statement.columns is not None and len(places) < len(columns):
        at = cursor(position(statement.columns[len(places)]))
        raise SqlSyntaxError("INSERT has more target columns than expressions", position=at)


def whole_row(binder: QueryBinder, table: Table, given: Mapping[int, Expr]) -> tuple[Expr, ...]:
    """Return a row of the table with the given values, by the columns' numbers, and defaults."""
    return tuple(given[c.number] if c.number in given else default(binder, c) for c in table.written_columns)


def _expand_row(binder: QueryBinder, table: Table, row: Mapping[int, Expr]) -> Source:
    """Return the rows of a single row with set-returning functions."""
    columns = row_columns(binder, table)
    filled = filled_columns(table, columns, row)
    whole = whole_row(binder, table, {**unfilled_columns(table, columns, filled), **row})
    node, exprs = set_returning.expand_sets(binder.context, Values((), ((),)), whole)
    return Source(Evaluator(columns, node, tuple(exprs)), columns, filled=filled)


def filled_columns(
    table: Table, columns: Sequence[Column], given: Mapping[int, Expr]
) -> tuple[tuple[Column, int], ...]:
    """Return the columns to which no value is given and whose default is the next value of a sequence, each with the
    sequence.
    """
    found = []
    for column, declared in zip(columns, table.written_columns, strict=True):
        checked = is_constrained(declared.domain)
        sequence = None if checked or declared.number in given else sequence_of(declared.default)
        if sequence is not None:
            found.append((column, sequence))
    return tuple(found)


def unfilled_columns(table: Table, columns: Sequence[Column], filled: Sequence[tuple[Column, int]]) -> dict[int, Expr]:
    """Return nulls for these columns, which get their values later."""
    later = {column for column, _ in filled}
    pairs = zip(columns, table.written_columns, strict=True)
    return {declared.number: Const(declared.type, None) for column, declared in pairs if column in later}


# -- a query ----------------------------------------------------------------------------------------------------------


def _bound_query(
    binder: QueryBinder,
    statement: Insert,
    target: Target,
    columns: Sequence[TableColumn],
    tree: exp.Expression,
    scope: Scope,
) -> Source:
    table = target.table
    parts = _parts(statement, columns)
    written = binder.bind(tree, scope, settle=False)
    # An untyped output takes the type of the part to which it is assigned.
    open_ = [e if isinstance(e, Const | ParamRef) and e.type.pg is t.UNKNOWN else None for e in _outputs(written)]
    bound = _with_column_types(binder, written, columns, parts)
    places = [e.position for e in _outputs(bound)]
    _check_width(statement, columns, places)
    target.insert(columns[: len(bound.names)])
    bound, numbered = _taken_as_written(binder, bound, columns, parts)
    given: dict[int, Expr] = {}
    for index, (column, output, place) in enumerate(zip(columns, bound.columns, places, strict=False)):
        if column.identity and statement.overriding == "user":
            continue
        if not statement.filling:
            forbid_value(column, f'cannot insert a non-DEFAULT value into column "{column.name}"')
        forbid_identity(column, statement.overriding)
        if column.number in numbered:
            given[column.number] = Const(column.type, None)
            continue
        shown = replace(refer(output), position=place)
        value = shown if parts[index] is None else open_[index] or shown
        given[column.number] = _assign_part(binder, given, column, parts[index], value, scope)
    rows = row_columns(binder, table)
    ordered_by = tuple(dict.fromkeys(key.column for key in bound.requirement))
    pairs = zip(rows, table.written_columns, strict=True)
    next_values = tuple((row, numbered[c.number]) for row, c in pairs if c.number in numbered and c.number in given)
    defaults = filled_columns(table, rows, given)
    given |= unfilled_columns(table, rows, defaults)
    emit = (*whole_row(binder, table, given), *pass_through(ordered_by))
    return Source(Evaluator((*rows, *ordered_by), bound.plan, emit), rows, bound.requirement, (*defaults, *next_values))


def _outputs(bound: Bound) -> tuple[Expr, ...]:
    """Return the expressions that the select list emits; for other queries their columns."""
    top = select_list(bound.plan)
    return pass_through(bound.columns) if top is None else _select_emit(bound, top)


def _select_emit(bound: Bound, top: Evaluator) -> tuple[Expr, ...]:
    by_id = {column.id: expr for column, expr in zip(top.columns, top.emit, strict=True)}
    return tuple(by_id[column.id] for column in bound.columns)


def _with_column_types(
    binder: QueryBinder, bound: Bound, columns: Sequence[TableColumn], parts: Sequence[Part | None]
) -> Bound:
    """Return the query with the untyped literals and parameters of its select list coerced to the columns' types."""
    top = select_list(bound.plan)
    if top is None:
        return bound
    wanted: dict[int, Expr] = {}
    outputs = list(zip(bound.columns, _select_emit(bound, top), strict=True))
    for column, part, (output, expr) in zip(columns, parts, outputs, strict=False):
        if expr.type.pg is t.UNKNOWN and part is None:
            wanted[output.id] = assign(binder, expr, column)
        elif isinstance(expr, Const | ParamRef) and expr.type.pg is t.UNKNOWN:
            wanted[output.id] = Const(of(t.TEXT), None)
    for output, expr in outputs[len(columns) :]:
        wanted[output.id] = binder.expressions.settle(expr)
    return _with_outputs(binder, bound, top, wanted)


def _with_outputs(binder: QueryBinder, bound: Bound, top: Evaluator, wanted: Mapping[int, Expr]) -> Bound:
    """Return the query with other expressions in its select list, by their columns' ids."""
    if not wanted:
        return bound
    emit = tuple(wanted.get(column.id, expr) for column, expr in zip(top.columns, top.emit, strict=True))
    renewed = {
        c.id: binder.context.new_column(c.name, e.type)
        for c, e in zip(top.columns, emit, strict=True)
        if c.type != e.type
    }
    columns = tuple(renewed.get(c.id, c) for c in top.columns)
    plan = with_select_list(bound.plan, replace(top, columns=columns, emit=emit), renewed)
    return Bound(plan, bound.names, in_renewed(bound.requirement, renewed))


# -- values of sequences ----------------------------------------------------------------------------------------------


def _taken_as_written(
    binder: QueryBinder, bound: Bound, columns: Sequence[TableColumn], parts: Sequence[Part | None]
) -> tuple[Bound, dict[int, int]]:
    """Return the query with null in place of each plain nextval('s') in its select list, and those columns, by number,
    with their sequences. Rows get these values when they are written, in their order.
    """
    top = select_list(bound.plan)
    if top is None or has_one_row(top) or any(map(_follows, top.emit)):
        return bound, {}
    keys = {key.column.id for order in (bound.requirement, *requirements(bound.plan)) for key in order}
    found, nulls = dict[int, int](), dict[int, Expr]()
    for column, part, output, expr in zip(columns, parts, bound.columns, _select_emit(bound, top), strict=False):
        sequence = next_value(expr, column)
        if sequence is None or part is not None or output.id in keys or is_constrained(column.domain):
            continue
        found[column.number], nulls[output.id] = sequence, Const(expr.type, None)
    return _with_outputs(binder, bound, top, nulls), found


def _follows(expr: Expr) -> bool:
    """Whether the expression reads values that other calls of the row have taken from sequences."""
    return any(isinstance(part, Call) and part.function.name in ("currval", "lastval") for part in expr.walk())

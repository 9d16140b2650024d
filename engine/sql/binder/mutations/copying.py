"""COPY FROM: an INSERT whose rows arrive as text (copyfrom.c: BeginCopyFrom).

A column's input function is bound as a cast from text, followed by the checks of an assignment: the modifier's length
and digits are checked, and nothing is cut off. Unlike INSERT, COPY may write an identity column that is GENERATED
ALWAYS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from sqlglot import exp

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.common.depth import bounded_depth
from engine.plan_ir.expr import Column, Expr, Node
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Evaluator, Mutate, OrderKey, TableReader
from engine.plan_ir.physical import Receive
from engine.sql.binder.blocks import pass_through, refer
from engine.sql.binder.handlers import query_binder
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.generated import compute_generated
from engine.sql.binder.mutations.insert import filled_columns, unfilled_columns, whole_row
from engine.sql.binder.mutations.outcome import Change, complete_change
from engine.sql.binder.mutations.target import (
    Target,
    assign,
    find_table,
    foreign_keys,
    keys,
    row_columns,
    within_domain,
)
from engine.sql.binder.queries import QueryBinder
from engine.sql.binder.scope import BindContext, Scope, Source
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidColumnReference, SqlError, UndefinedColumn
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings

#: The edge over which the texts arrive.
EDGE = 0


@dataclass(frozen=True, slots=True)
class BoundCopy:
    """A bound COPY FROM.

    plan: its input receives `received_columns`.
    targets: the columns that are copied, in their order. texts, values: each column as text and as a value.
    casts: the cast from the text to the value, or None if no engine has it. settings: the settings by which texts are
        read.
    number: with WHERE, or if no columns are copied, a further received column that numbers the rows. number_given: that
        column in the plan's input.
    """

    plan: Mutate
    targets: tuple[TableColumn, ...]
    texts: tuple[Column, ...]
    values: tuple[Column, ...]
    casts: tuple[Expr | None, ...]
    settings: InputSettings
    number: Column | None = None
    number_given: Column | None = None

    @property
    def received_columns(self) -> tuple[Column, ...]:
        return self.values if self.number is None else (*self.values, self.number)


def bind_copy(
    table: exp.Table, names: Sequence[exp.Identifier] | None, where: exp.Expression | None, context: BindContext
) -> BoundCopy:
    """Bind a COPY FROM whose rows arrive as text. Raises SqlError as INSERT does."""
    with bounded_depth():
        binder = query_binder(context)
        found, targets = _target(binder, table, names)
        texts = tuple(context.new_column(column.name, st.of(t.TEXT)) for column in targets)
        casts = tuple(_read(binder, text, column) for text, column in zip(texts, targets, strict=True))
        values = tuple(context.new_column(column.name, column.type) for column in targets)
        number = None if where is None and targets else context.new_column("number", st.of(t.INT8))
        received = Receive(values if number is None else (*values, number), EDGE)
        taken = (within_domain(binder, *pair) for pair in zip(pass_through(values), targets, strict=True))
        given = dict(zip((column.number for column in targets), taken, strict=True))
        plan, kept = _plan_insert(binder, found, received, given, number, where)
        return BoundCopy(plan, targets, texts, values, casts, context.input_settings, number, kept)


def bind_file_copy(
    table: exp.Table,
    names: Sequence[exp.Identifier] | None,
    source: Table,
    where: exp.Expression | None,
    context: BindContext,
) -> Mutate:
    """Bind a COPY FROM of files that have a schema of their own; columns are matched by name. Raises SqlError as
    INSERT does.
    """
    with bounded_depth():
        binder = query_binder(context)
        found, targets = _target(binder, table, names)
        there = {column.name: column for column in source.columns}
        if names is None:
            targets = tuple(column for column in targets if column.name in there)
            _require_no_others(found.table, source)
        for column in targets:
            if column.name not in there:
                raise UndefinedColumn(f'column "{column.name}" does not exist in "{source.name}"')
        read = tuple(context.new_column(column.name, there[column.name].type) for column in targets)
        values = (_assign(binder, column, value) for column, value in zip(targets, read, strict=True))
        given = dict(zip((column.number for column in targets), values, strict=True))
        files = TableReader(read, source, tuple(there[column.name].file_column for column in targets))
        plan, _ = _plan_insert(binder, found, files, given, None, where)
        return plan


def _require_no_others(table: Table, source: Table) -> None:
    """Refuse a file with columns that the table lacks: they would be lost silently."""
    known = {column.name for column in table.columns}
    for column in source.columns:
        if column.name not in known:
            raise UndefinedColumn(
                f'column "{column.name}" of "{source.name}" does not exist in relation "{table.name}"',
                hint="List the columns that are to be copied.",
            )


def _target(
    binder: QueryBinder, table: exp.Table, names: Sequence[exp.Identifier] | None
) -> tuple[Target, tuple[TableColumn, ...]]:
    try:
        found = find_table(binder, table, "copy")
        written = tuple(column for column in found.columns if not column.generated)
        columns = written if names is None else found.find_columns(names)
        for column in columns:
            require_copied(column)
        found.insert(columns)
        return found, columns
    except SqlError as error:
        error.position = None  # PostgreSQL reports these names without a position
        raise


def require_copied(column: TableColumn) -> None:
    """Raises InvalidColumnReference for a generated column."""
    if column.generated:
        raise InvalidColumnReference(
            f'column "{column.name}" is a generated column', detail="Generated columns cannot be used in COPY."
        )


def _plan_insert(
    binder: QueryBinder,
    target: Target,
    input_: Node,
    given: Mapping[int, Expr],
    number: Column | None,
    where: exp.Expression | None,
) -> tuple[Mutate, Column | None]:
    """Return the INSERT of the given columns, by their numbers, and the column of its input that numbers the rows."""
    table = target.table
    rows = row_columns(binder, table)
    filled = filled_columns(table, rows, given)
    columns, emit = rows, whole_row(binder, table, {**unfilled_columns(table, rows, filled), **given})
    kept = None
    if number is not None:
        kept = binder.context.new_column("number", number.type)
        columns, emit = (*rows, kept), (*emit, refer(number))
    node = Evaluator(columns, input_, emit)
    if where is not None:
        node = Evaluator(
            columns, node, pass_through(columns), _condition(binder, where, target.row(None, rows), filled)
        )
    requirement = () if kept is None else (OrderKey(kept),)
    change = Change(
        "insert", target, node, rows, keys=keys(table), foreign_keys=foreign_keys(table), filled=filled,
        requirement=requirement,
    )  # fmt: skip
    plan, _ = complete_change(binder, compute_generated(binder, change), (), Scope(binder.context, binder))
    return plan, kept


def _condition(binder: QueryBinder, where: exp.Expression, row: Source, filled: Sequence[tuple[Column, int]]) -> Expr:
    """Bind COPY FROM ... WHERE, over the row with its defaults."""
    if (query := where.find(exp.Subquery, exp.Select, exp.SetOperation)) is not None:
        at = cursor(position(cast("exp.Expression", query)))
        raise FeatureNotSupported("cannot use subquery in COPY FROM WHERE condition", position=at)
    scope = Scope(binder.context, binder)
    scope.add(row)
    scope.sources.append(row)
    bound = binder.expressions.bind(where, scope)
    check_plain(bound, "COPY FROM WHERE conditions", scope)
    condition = binder.expressions.as_boolean(bound, "WHERE")
    later = {column for column, _ in filled}
    if any(column in later for column in references(condition)):
        raise FeatureNotSupported("not supported: COPY FROM ... WHERE of a column that a sequence numbers")
    return condition


def _read(binder: QueryBinder, text: Column, column: TableColumn) -> Expr | None:
    try:
        return _from_text(binder, text, replace(column, domain=None))
    except FeatureNotSupported:
        return None


def _assign(binder: QueryBinder, column: TableColumn, value: Column) -> Expr:
    if value.type.pg is t.TEXT or (value.type.pg is t.array_of(t.TEXT) and column.type.pg.is_array):
        return _from_text(binder, value, column)
    return assign(binder, refer(value), column)


def _from_text(binder: QueryBinder, text: Column, column: TableColumn) -> Expr:
    base = t.element_of(column.type.pg) if column.type.pg.is_array else column.type.pg
    # An explicit cast to a type with a length would cut off strings that are too long.
    target = st.of(column.type.pg) if base in (t.VARCHAR, t.BPCHAR) else column.type
    return assign(binder, binder.expressions.coerce(refer(text), target, "explicit"), column)

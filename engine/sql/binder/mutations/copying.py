"""COPY FROM: an INSERT whose rows arrive as text (copyfrom.c: BeginCopyFrom).

What a column's input function does is a cast from text, and then what an assignment does: the modifier's length and digits are
checked and not cut. Unlike INSERT, COPY may write an identity column that is GENERATED ALWAYS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine.catalog.objects import TableColumn
from engine.plan.logical import Evaluator, Mutate
from engine.plan.physical import Receive
from engine.sql import types as st
from engine.sql.binder.blocks import refer
from engine.sql.binder.mutations.insert import filled_columns, unfilled, whole_row
from engine.sql.binder.mutations.outcome import Change, completed
from engine.sql.binder.mutations.target import assigned, find_columns, find_table, keys, row_columns, row_source
from engine.sql.binder.queries import QueryBinder
from engine.sql.depth import bounded
from engine.sql.expr import Column, Expr
from engine.sql.scope import BindContext, Scope
from wire import types as t
from wire.text_settings import InputSettings

#: The edge over which the texts come.
EDGE = 0


@dataclass(frozen=True, slots=True)
class BoundCopy:
    """plan: its input receives `texts`. targets: the columns that are copied, in their order, and the value of each in a row.
    settings: how texts are read."""

    plan: Mutate
    targets: tuple[TableColumn, ...]
    texts: tuple[Column, ...]
    values: tuple[Expr, ...]
    settings: InputSettings


def bind_copy(table: exp.Table, names: Sequence[exp.Identifier] | None, context: BindContext) -> BoundCopy:
    """Raises SqlError as INSERT does."""
    with bounded():
        binder = QueryBinder(context)
        found = find_table(binder, table, "copy")
        targets = found.columns if names is None else find_columns(found, names)
        texts = tuple(context.new_column(column.name, st.of(t.TEXT)) for column in targets)
        values = tuple(_read(binder, text, column) for text, column in zip(texts, targets, strict=True))
        given = {column.number: value for column, value in zip(targets, values, strict=True)}
        rows = row_columns(binder, found)
        filled = filled_columns(found, rows, given)
        emit = whole_row(binder, found, {**unfilled(found, rows, filled), **given})
        node = Evaluator(rows, Receive(texts, EDGE), emit)
        change = Change(
            "insert", found, node, rows, row_source(found, None, rows), keys=keys(found), filled=filled
        )  # fmt: skip
        plan, _ = completed(binder, change, (), Scope(context, binder))
        return BoundCopy(plan, tuple(targets), texts, values, context.input_settings)


def _read(binder: QueryBinder, text: Column, column: TableColumn) -> Expr:
    base = t.element_of(column.type.pg) if column.type.pg.is_array else column.type.pg
    if base in (t.VARCHAR, t.BPCHAR):
        # A cast that is written out would cut what is too long.
        value = binder.expressions.coerce(refer(text), st.of(column.type.pg), "explicit")
    else:
        value = binder.expressions.coerce(refer(text), column.type, "explicit")
    return assigned(binder, value, column)

"""ON UPDATE CASCADE: rows that name a key go with it to what it is now (ri_triggers.c: RI_FKey_cascade_upd).

Which key became which only the statement's own rows can tell, while they pass: files hold what was before and what is now, and not
which row was which. So an UPDATE that may change such a key keeps the values of both (`Mutate.before`), as it keeps the rows of
RETURNING. They are then a file that a statement of our own joins: it changes the rows that name the old keys, and is judged like
any other. PostgreSQL follows row by row; here all keys move at once, so that `SET id = id + 1` is followed as it was meant.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from engine.catalog.objects import Constraint, Table, TableColumn
from engine.mutation import files as names
from engine.mutation.named_tables import named
from engine.plan.logical import Mutate
from engine.plan.pruning import narrowed
from engine.sql.statements import Assignment, MutationStatement, Update
from engine.storage.staging import TableWriter
from engine.storage.staging_area import StagingArea, new_name

if TYPE_CHECKING:
    from engine.mutation.statement import SessionGround

_MOVED = "moved"
_OLD, _NEW = "old ", "new "


def is_followed(plan: Mutate, constraint: Constraint) -> bool:
    """Whether rows follow where the statement changes a key that a foreign key names."""
    assert constraint.references is not None
    numbers = {column.number for column in plan.table.columns if column.name in {name for name, _ in plan.before}}
    return constraint.references.on_update == "cascade" and set(constraint.references.columns) <= numbers


async def follow(
    plan: Mutate, child: Table, pairs: Sequence[tuple[str, str]], moved: Sequence[pa.RecordBatch], ground: SessionGround
) -> None:
    """pairs: the child's columns and those of the key. moved: of rows that changed the values of `plan.before`, and those after."""
    async with _as_table(plan, moved, ground) as table:
        await ground.carry_out(_statement(child, pairs), {_MOVED: table})


def _statement(child: Table, pairs: Sequence[tuple[str, str]]) -> MutationStatement:
    """UPDATE child SET a = moved."new k" FROM moved WHERE a = moved."old k" AND moved."new k" IS DISTINCT FROM moved."old k" """
    same = [exp.EQ(this=_column(a, child.name), expression=_column(_OLD + k, _MOVED)) for a, k in pairs]
    others: list[exp.Expression] = [
        exp.NullSafeNEQ(this=_column(_NEW + k, _MOVED), expression=_column(_OLD + k, _MOVED)) for _, k in pairs
    ]
    changed = reduce(lambda a, b: exp.Or(this=a, expression=b), others)
    values = (
        Assignment(columns=(exp.Identifier(this=a, quoted=True),), value=_column(_NEW + k, _MOVED)) for a, k in pairs
    )
    target = exp.Table(
        this=exp.Identifier(this=child.name, quoted=True), db=exp.Identifier(this=child.schema, quoted=True)
    )
    where = reduce(lambda a, b: exp.And(this=a, expression=b), [*same, changed])
    from_ = exp.From(expressions=[named(_MOVED, _MOVED)])
    return Update(target=target, returning=(), assignments=tuple(values), from_=from_, where=where, text="")


def _column(name: str, table: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True), table=exp.Identifier(this=table, quoted=True))


@asynccontextmanager
async def _as_table(plan: Mutate, moved: Sequence[pa.RecordBatch], ground: SessionGround) -> AsyncIterator[Table]:
    """The batches in a file beside the table's, as long as they are wanted."""
    area = StagingArea(Path(plan.table.path), new_name())
    await ground.in_writer_pool(area.make)
    try:
        yield await ground.in_writer_pool(lambda: _written(plan, moved, area))
    finally:
        await ground.in_writer_pool(area.abandon)


def _written(plan: Mutate, moved: Sequence[pa.RecordBatch], area: StagingArea) -> Table:
    table, storage = plan.table, plan.table.storage
    assert storage is not None, "a stored table"
    declared = [column for name, _ in plan.before if (column := table.column(name)) is not None]
    both = [(prefix, column) for prefix in (_OLD, _NEW) for column in declared]
    columns = tuple(TableColumn(prefix + c.name, c.type, number) for number, (prefix, c) in enumerate(both, 1))
    storage = replace(storage, partition_by=(), sort_by=(), added=(), removed=())
    writer = TableWriter(area.path, columns, storage)
    for batch in moved:
        writer.write(batch)
    made = replace(
        table, name=_MOVED, columns=columns, constraints=(), parts=(), statistics=None, storage=storage, guarantee=()
    )
    return narrowed(made, [names.absolute(table, f"{area.path.name}/{file.path}") for file in writer.finish()])

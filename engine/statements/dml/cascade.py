"""The old and new keys of an UPDATE's rows, for foreign keys that reference them with an action other than NO ACTION.

Which old key became which new key is known only while the statement's rows pass: files hold the old rows and the new
rows, but not which row became which. So an UPDATE that may change such a key keeps the values of both
(`Mutate.before`), as it keeps the rows of RETURNING. They then serve as a table that internal statements read:

- CASCADE changes the rows that reference the old keys, by a statement that is checked like any other. PostgreSQL
  cascades row by row; here all keys change at once, so that `SET id = id + 1` cascades as intended (ri_triggers.c:
  RI_FKey_cascade_upd);
- RESTRICT, SET NULL and SET DEFAULT act on every key that a row had and no longer has, even if another row has it now:
  only NO ACTION looks for such a row (ri_Check_Pk_Match).
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

from engine.catalog.model.objects import Constraint, Table, TableColumn
from engine.common.shielded import shielded
from engine.plan_ir.logical import Mutate
from engine.planner.optimizer.pruning import with_files
from engine.sql.parser.nodes.statements import Assignment, MutationStatement, Update
from engine.statements.shared import plan_files as names
from engine.statements.shared.named_tables import table_reference
from engine.storage.staging import TableWriter
from engine.storage.staging_area import StagingArea, new_name

if TYPE_CHECKING:
    from engine.statements.dml.key_context import KeyContext

MOVED = "moved"
_OLD, _NEW = "old ", "new "
#: The columns of a foreign key, each with the column that it references.
Pairs = Sequence[tuple[str, str]]


def is_told(plan: Mutate, constraint: Constraint) -> bool:
    """Return whether the foreign key's ON UPDATE action depends on the old and the new key of each row, and the
    statement keeps both.
    """
    assert constraint.references is not None
    numbers = {column.number for column in plan.table.columns if column.name in {name for name, _ in plan.before}}
    told = plan.kind == "update" and constraint.references.on_update != "no action"
    return told and set(constraint.references.columns) <= numbers


async def follow(plan: Mutate, child: Table, pairs: Pairs, moved: Sequence[pa.RecordBatch], ground: KeyContext) -> None:
    """Apply ON UPDATE CASCADE. moved: the rows whose `plan.before` changed, with the values before and after."""
    async with as_table(plan, moved, ground) as table:
        await ground.carry_out(_statement(child, pairs), {MOVED: table})


def left(pairs: Pairs) -> exp.Select:
    """SELECT "old k" AS k FROM moved WHERE "new k" IS DISTINCT FROM "old k": the keys that rows no longer have."""
    keys = [exp.Alias(this=_column(_OLD + k, MOVED), alias=exp.Identifier(this=k, quoted=True)) for _, k in pairs]
    from_ = exp.From(expressions=[table_reference(MOVED, MOVED)])
    return exp.Select(expressions=keys, from_=from_, where=exp.Where(this=_any_changed(pairs)))


def _any_changed(pairs: Pairs) -> exp.Expression:
    others: list[exp.Expression] = [
        exp.NullSafeNEQ(this=_column(_NEW + k, MOVED), expression=_column(_OLD + k, MOVED)) for _, k in pairs
    ]
    return reduce(lambda a, b: exp.Or(this=a, expression=b), others)


def _statement(child: Table, pairs: Pairs) -> MutationStatement:
    """UPDATE child SET a = moved."new k" FROM moved WHERE a = moved."old k" AND moved."new k" IS DISTINCT FROM moved."old k" """
    same = [exp.EQ(this=_column(a, child.name), expression=_column(_OLD + k, MOVED)) for a, k in pairs]
    values = (
        Assignment(columns=(exp.Identifier(this=a, quoted=True),), value=_column(_NEW + k, MOVED)) for a, k in pairs
    )
    target = exp.Table(
        this=exp.Identifier(this=child.name, quoted=True), db=exp.Identifier(this=child.schema, quoted=True)
    )
    where = reduce(lambda a, b: exp.And(this=a, expression=b), [*same, _any_changed(pairs)])
    from_ = exp.From(expressions=[table_reference(MOVED, MOVED)])
    return Update(target=target, returning=(), assignments=tuple(values), from_=from_, where=where, text="")


def _column(name: str, table: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True), table=exp.Identifier(this=table, quoted=True))


@asynccontextmanager
async def as_table(plan: Mutate, moved: Sequence[pa.RecordBatch], ground: KeyContext) -> AsyncIterator[Table]:
    """Provide the batches as a table: they are in a file beside the table's own until the context ends."""
    area = StagingArea(Path(plan.table.path), new_name())
    await ground.in_writer_pool(area.make)
    try:
        yield await ground.in_writer_pool(lambda: _write_moved_keys(plan, moved, area))
    finally:
        await shielded(ground.in_writer_pool(area.abandon))


def _write_moved_keys(plan: Mutate, moved: Sequence[pa.RecordBatch], area: StagingArea) -> Table:
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
        table, name=MOVED, columns=columns, constraints=(), parts=(), statistics=None, storage=storage, guarantee=()
    )
    return with_files(made, [names.absolute(table, f"{area.path.name}/{file.path}") for file in writer.finish()])

"""Checks of deferred constraints: DEFERRABLE ones that are checked later than their statement.

PostgreSQL queues an event for each row that may break such a constraint and looks at the rows again when the queue is
processed (trigger.c: AfterTriggerSetState; commands/constraint.c: unique_key_recheck). Here one event for each
statement is kept, and the constraint is then checked against the rows that the transaction sees: for a key, the
transaction's new files against the other files; for a foreign key, the whole table. That may check more rows than
needed, and never fewer: an event whose rows are gone again finds no violation.

Events are processed before the commit, in their order, or when SET CONSTRAINTS ... IMMEDIATE requests it. The checks
make the commit depend on the tables that they read, as they do at the end of a statement. CASCADE, SET NULL, SET
DEFAULT and RESTRICT are never deferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.catalog.model.objects import Constraint, Table
from engine.catalog.snapshot import TEMPORARY
from engine.sql.parser.nodes.statements import QualifiedName, SetConstraints
from engine.statements.dml.foreign_keys import judge_whole
from engine.statements.dml.unique import first_double, key_types
from engine.statements.shared import plan_files as names
from engine.statements.shared.deferral import Event
from engine.writers.violations import key_exists
from wire.errors import InvalidSchemaName, UndefinedObject, WrongObjectType

if TYPE_CHECKING:
    from engine.statements.dml.statement import SessionMutationContext


def named_constraints(statement: SetConstraints, tables: Sequence[Table], path: Sequence[str]) -> list[Constraint]:
    """Return the constraints that SET CONSTRAINTS names: for each name, all in the first schema that has one.

    Raises UndefinedObject, and WrongObjectType for a constraint that cannot be deferred.
    """
    found: list[Constraint] = []
    for name in statement.names:
        schemas = (TEMPORARY, *path) if name.schema is None else (name.schema,)
        meant = next((some for schema in schemas if (some := _in_schema(name, schema, tables))), None)
        if meant is None:
            if name.schema is not None and name.schema not in {table.schema for table in tables}:
                raise InvalidSchemaName(f'schema "{name.schema}" does not exist')
            raise UndefinedObject(f'constraint "{name.name}" does not exist')
        for constraint in meant:
            if statement.deferred and not constraint.deferrable:
                raise WrongObjectType(f'constraint "{name.name}" is not deferrable')
        found += meant
    return found


def _in_schema(name: QualifiedName, schema: str, tables: Sequence[Table]) -> list[Constraint]:
    of_schema = (table for table in tables if table.schema == schema)
    return [c for table in of_schema for c in table.constraints if c.name == name.name and not c.is_index]


async def judge(ground: SessionMutationContext, *, everything: bool) -> None:
    """Process the events of constraints that are no longer deferred, or all events. Raises UniqueViolation and
    ForeignKeyViolation.
    """
    deferral = ground.deferral
    for event in deferral.events:
        found = _constraint(ground.tables(), event.constraint)
        if found is not None and not everything and deferral.is_deferred(found[1]):
            continue
        if found is not None:
            await _judge(event, *found, ground)
        ground.deferral = ground.deferral.without(event)


async def judge_events(events: Sequence[Event], ground: SessionMutationContext) -> None:
    """Check the constraints of these events. Raises UniqueViolation and ForeignKeyViolation."""
    for event in dict.fromkeys(events):
        found = _constraint(ground.tables(), event.constraint)
        if found is not None:
            await _judge(event, *found, ground)


def _constraint(tables: Sequence[Table], oid: int) -> tuple[Table, Constraint] | None:
    return next(((table, c) for table in tables for c in table.constraints if c.oid == oid), None)


async def _judge(event: Event, table: Table, constraint: Constraint, ground: SessionMutationContext) -> None:
    if event.cause == "key":
        await _judge_key(table, constraint, ground)
    else:
        await judge_whole(table, constraint, ground, gone=event.cause == "gone")


async def _judge_key(table: Table, key: Constraint, ground: SessionMutationContext) -> None:
    table = await ground.refresh(table)
    own = {names.absolute(table, path) for path in ground.session.catalog.tables.own_files(table)}
    added = [file for file in table.files if file in own]
    kept = [file for file in table.files if file not in own]
    if not added:
        return
    query = await ground.in_writer_pool(lambda: first_double(table, key, added, kept))
    stream = await ground.ask(query)
    try:
        row = await stream.next_batch()
    finally:
        await stream.close()
    if row is not None and row.num_rows:
        raise key_exists(table, key, key_types(table, key), row, ground.output, ground.shown_columns(table))

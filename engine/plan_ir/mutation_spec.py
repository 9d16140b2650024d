"""Encoding of a MUTATE for participants, and decoding: `engine.plan_ir.spec.MutationSpec`.

Only the data that the sink uses travels (`engine.writers.sink`): the role of each of a row's columns, the table as far
as files and messages need it, and the sequences whose values are taken. The fragment's statement makes the rows; the
initiator handles keys, and decides which files are removed.
"""

from __future__ import annotations

import pyarrow as pa

from engine.catalog.model.objects import Constraint, Sequence, Storage, Table, TableColumn
from engine.common import sql_type as st
from engine.contracts.output_cast import carrier_of
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import Mutate, Values
from engine.plan_ir.physical import StagedChange
from engine.plan_ir.shown_columns import ShownColumns
from engine.plan_ir.spec import MutationSpec, SequenceSpec, WrittenColumn
from wire.types import pg_types as t
from wire.types.user_types import type_heard, type_told


def mutation_spec(change: StagedChange) -> MutationSpec:
    """Build the specification of a change that participants receive."""
    plan = change.rules
    table, storage = plan.table, plan.table.storage
    assert storage is not None, "a stored table"
    index = {column.id: number for number, column in enumerate(plan.input.columns)}

    def place(column: Column | None) -> int:
        return -1 if column is None else index[column.id]

    rows = pa.schema([pa.field(column.label, carrier_of(column.type)) for column in plan.input.columns])
    return MutationSpec(
        plan.kind,
        table.schema,
        table.name,
        tuple(
            WrittenColumn(c.name, type_told(c.type.pg), c.type.modifier, c.nullable, c.stored) for c in table.columns
        ),
        storage.location,
        change.area,
        storage.partition_by,
        storage.sort_by,
        rows.serialize().to_pybytes(),
        tuple(map(place, plan.rows)),
        tuple((check.name, place(column), check.kind == "view check") for check, column in plan.checks),
        place(plan.changed),
        place(plan.dropped),
        place(plan.twice),
        tuple(map(place, plan.again)),
        tuple((place(column), _sequence_spec(change.sequences[oid])) for column, oid in plan.filled),
        tuple(map(place, plan.columns)),
        tuple((place(shown), place(row)) for shown, row in plan.passed),
        change.output,
        change.alone,
        plan.parts,
        place(plan.fresh),
        None if plan.shown.readable is None else tuple(sorted(plan.shown.readable)),
        tuple(sorted(plan.shown.given)),
    )


def _sequence_spec(sequence: Sequence) -> SequenceSpec:
    return SequenceSpec(
        sequence.oid, sequence.name, sequence.increment, sequence.minimum, sequence.maximum, sequence.cache, sequence.cycle,
        sequence.counter, sequence.first,
    )  # fmt: skip


def sequences_of(spec: MutationSpec) -> dict[int, Sequence]:
    """Return the sequences whose values a participant takes, by OID."""
    return {
        told.oid: Sequence(
            told.oid, "", told.name, st.of(t.INT8), increment=told.increment, minimum=told.minimum, maximum=told.maximum,
            cache=told.cache, cycle=told.cycle, counter=told.counter, first=told.first,
        )
        for _, told in spec.filled
    }  # fmt: skip


def rules_of(spec: MutationSpec) -> Mutate:
    """Rebuild the MUTATE that a participant receives: as `StagedChange.rules`, for the code that writes."""
    columns = tuple(
        TableColumn(c.name, st.of(type_heard(c.type), c.typmod), number, nullable=c.nullable, stored=c.stored)
        for number, c in enumerate(spec.columns, 1)
    )
    storage = Storage(spec.location, 0, partition_by=spec.partition_by, sort_by=spec.sort_by)
    table = Table(0, spec.schema, spec.table, columns, "parquet", "", (), storage=storage)
    types = {place: column.type for place, column in zip(spec.rows, table.written_columns, strict=True)}
    given = tuple(
        Column(number, name, types.get(number, st.of(t.BOOL)))
        for number, name in enumerate(pa.ipc.read_schema(pa.py_buffer(spec.input)).names)
    )

    def column(place: int) -> Column | None:
        return None if place < 0 else given[place]

    return Mutate(
        tuple(given[place] for place in spec.returning),
        spec.kind,
        table,
        Values(given, ()),
        tuple(given[place] for place in spec.rows),
        tuple(
            (Constraint(0, name, "view check" if of_view else "check", ()), given[place])
            for name, place, of_view in spec.checks
        ),
        changed=column(spec.changed),
        dropped=column(spec.dropped),
        twice=column(spec.twice),
        again=tuple(given[place] for place in spec.again),
        filled=tuple((given[place], told.oid) for place, told in spec.filled),
        passed=tuple((given[shown], given[row]) for shown, row in spec.passed),
        parts=spec.parts,
        fresh=column(spec.fresh),
        shown=ShownColumns(None if spec.readable is None else frozenset(spec.readable), frozenset(spec.given)),
    )

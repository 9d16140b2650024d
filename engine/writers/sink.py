"""The sink of a MUTATE: it takes the batches of its input, checks and counts their rows, and writes those that are to
be stored.

NOT NULL is checked here and not in the input's query, because only here are the rows as they will be stored; CHECK was
computed with them, as further columns. Where a statement takes many values of a sequence, the sink inserts them, as
many at a time as a batch has rows.

The sink works on whole batches, on a thread that may block; it has one caller at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.catalog.model.objects import DataFile
from engine.contracts.memory_share import MemoryShare
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import Mutate
from engine.writers.parts import Writer
from engine.writers.violations import changed_twice, check_failed, null_in
from engine.writers.write_result import Written
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, NumericValueOutOfRange, SqlError
from wire.types.carriers import carrier
from wire.types.output import OutputSettings

#: Takes values of a sequence (by OID) for so many rows.
Take = Callable[[int, int], npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns of a batch, by their roles, as indexes."""

    rows: tuple[int, ...]
    checks: tuple[int, ...]
    changed: int | None
    dropped: int | None
    twice: int | None
    again: tuple[int, ...]
    numbered: int | None
    returning: tuple[int, ...]
    moved: tuple[int, ...]
    fresh: int | None

    @classmethod
    def of(cls, plan: Mutate) -> _Layout:
        index = {column.id: i for i, column in enumerate(plan.input.columns)}

        def one(column: Column | None) -> int | None:
            return None if column is None else index[column.id]

        return cls(
            tuple(index[c.id] for c in plan.rows),
            tuple(index[c.id] for _, c in plan.checks),
            one(plan.changed),
            one(plan.dropped),
            one(plan.twice),
            tuple(index[c.id] for c in plan.again),
            one(plan.numbered),
            tuple(index[c.id] for c in plan.columns),
            (*(index[c.id] for _, c in plan.before), *(index[c.id] for c in _now(plan))),
            one(plan.fresh),
        )


def _now(plan: Mutate) -> list[Column]:
    """Return the input's columns that have the new values of the columns in `Mutate.before`."""
    rows = {declared.name: column for declared, column in zip(plan.table.written_columns, plan.rows, strict=True)}
    return [rows[name] for name, _ in plan.before]


class RowSink:
    """The sink; see the module's docstring. follows: whether to keep old and new values of changed keys. count: the
    number of rows changed so far. memory: the share from which the rows kept for RETURNING and `follows` are taken.
    """

    def __init__(
        self,
        plan: Mutate,
        writer: Writer,
        take: Take,
        settings: OutputSettings,
        *,
        follows: bool = False,
        memory: MemoryShare | None = None,
    ) -> None:
        self._memory = memory
        self._kept_bytes = 0
        self.count = 0
        self._moved: list[pa.RecordBatch] = []
        self._follows = follows
        self._seen = 0
        self._returned: list[pa.RecordBatch] = []
        self._numbers: list[pa.Array] = []
        self._passed_over: set[int] = set()
        self._plan = plan
        self._writer = writer
        self._take = take
        self._settings = settings
        self._layout = _Layout.of(plan)

    def write(self, batch: pa.RecordBatch) -> None:
        """Process a batch of the input. Raises SqlError for the first row that violates a constraint."""
        layout = self._layout
        changed = None if layout.changed is None else batch.column(layout.changed)
        if layout.twice is not None and pc.any(batch.column(layout.twice)).as_py():
            raise changed_twice(self._plan.kind)
        self._passed_over.update(n for n, i in enumerate(layout.again) if pc.any(batch.column(i)).as_py())
        require_one_key(self._passed_over)
        filled = self._sequence_columns(batch)
        rows = _with(batch.select(layout.rows), filled)
        if self._plan.kind != "delete":
            self._judge(rows, [batch.column(i) for i in layout.checks], changed)
        self._seen += batch.num_rows
        self.count += batch.num_rows if changed is None else pc.sum(changed).as_py() or 0
        if layout.returning:
            self._return(batch, changed, filled)
        if self._follows:
            numbered = {layout.rows[index]: values for index, values in filled.items()}
            places = {i: numbered[at] for i, at in enumerate(layout.moved) if at in numbered}
            moved = _with(batch.select(layout.moved), places)
            self._moved.append(moved if changed is None else moved.filter(changed))
            self._keeps(self._moved[-1])
        if layout.dropped is not None:
            rows = rows.filter(pc.invert(batch.column(layout.dropped)))
        self._writer.write(rows)

    def summarize(self, files: Sequence[DataFile]) -> Written:
        """Return the result of all rows so far. files: the writer's."""
        return Written(
            self.count,
            tuple(files),
            tuple(self._in_order()),
            tuple(sorted(self._passed_over)),
            moved=tuple(self._moved),
        )

    def take_returned(self) -> list[pa.RecordBatch]:
        """Return RETURNING's rows so far, in the order in which they came, and hand them over to the caller."""
        taken, self._returned = self._returned, []
        return taken

    def _in_order(self) -> list[pa.RecordBatch]:
        """Return RETURNING's rows in the order of the input's row numbers, if it has any."""
        if not self._numbers or len(self._returned) == 0:
            return self._returned
        order = pc.sort_indices(pa.chunked_array(self._numbers))
        return pa.Table.from_batches(self._returned).take(order).combine_chunks().to_batches()  # type: ignore[no-any-return]

    # -- values of sequences -------------------------------------------------------------------------------------

    def _sequence_columns(self, batch: pa.RecordBatch) -> Mapping[int, pa.Array]:
        """Return the columns that take values of sequences, by their index in the row."""
        layout, found = self._layout, {}
        fresh = None if layout.fresh is None else batch.column(layout.fresh)
        count = batch.num_rows if fresh is None else pc.sum(fresh).as_py() or 0
        for column, sequence in self._plan.filled:
            index = self._plan.rows.index(column)
            values = _integers(column, self._take(sequence, count))
            there = batch.column(layout.rows[index])
            found[index] = values if fresh is None else pc.replace_with_mask(there, fresh, values)
        return found

    # -- constraints ---------------------------------------------------------------------------------------------

    def _judge(self, rows: pa.RecordBatch, kept: Sequence[pa.Array], changed: pa.Array | None) -> None:
        """Raise for the first row that violates a constraint. Within a row, NOT NULL comes first, WITH CHECK OPTION
        last.
        """
        broken: list[tuple[int, int, Callable[[int], SqlError]]] = []
        table = self._plan.table
        settings, shown = self._settings, self._plan.shown
        for i, column in enumerate(table.columns):
            values = rows.column(i)
            if not column.nullable and values.null_count:
                at = _first(pc.is_null(values), changed)
                broken.append((at, 0, partial(null_in, table, column, rows, settings=settings, shown=shown)))
        for (constraint, _), truth in zip(self._plan.checks, kept, strict=True):
            at = _first(pc.invert(truth), changed)
            order = 2 if constraint.kind == "view check" else 1
            broken.append((at, order, partial(check_failed, table, constraint, rows, settings=settings, shown=shown)))
        found = [(at, order, n) for n, (at, order, _) in enumerate(broken) if at >= 0]
        if found:
            at, _, n = min(found)
            error = broken[n][2](at)
            error.row = self._seen + at
            raise error

    # -- RETURNING -----------------------------------------------------------------------------------------------

    def _return(self, batch: pa.RecordBatch, changed: pa.Array | None, filled: Mapping[int, pa.Array]) -> None:
        returned = batch.select(self._layout.returning)
        if filled:
            shown = {self._plan.columns.index(column): self._plan.rows.index(row) for column, row in self._plan.passed}
            returned = _with(returned, {i: filled[row] for i, row in shown.items()})
        numbers = None if self._layout.numbered is None else batch.column(self._layout.numbered)
        if changed is not None:
            returned = returned.filter(changed)
            numbers = None if numbers is None else numbers.filter(changed)
        if returned.num_rows:
            self._returned.append(returned)
            self._keeps(returned)
            self._numbers += [] if numbers is None else [numbers]

    def _keeps(self, batch: pa.RecordBatch) -> None:
        if self._memory is not None:
            self._kept_bytes += batch.nbytes
            self._memory.require(self._kept_bytes)


def require_one_key(passed_over: Collection[int]) -> None:
    """Raise FeatureNotSupported if rows were passed over because of several keys (`Mutate.again`)."""
    if len(passed_over) > 1:
        raise FeatureNotSupported(
            "not supported: ON CONFLICT DO NOTHING of rows that conflict among themselves by several keys"
        )


def _with(batch: pa.RecordBatch, arrays: Mapping[int, pa.Array]) -> pa.RecordBatch:
    """Return the batch with some columns replaced."""
    if not arrays:
        return batch
    return pa.RecordBatch.from_arrays(
        [arrays.get(i, batch.column(i)) for i in range(batch.num_columns)], names=batch.schema.names
    )


def _integers(column: Column, values: npt.NDArray[np.int64]) -> pa.Array:
    try:
        return pa.array(values, pa.int64()).cast(carrier(column.type.pg, column.type.scale))
    except pa.ArrowInvalid:
        raise NumericValueOutOfRange(f"{column.type.pg.sql_name} out of range") from None


def _first(mask: pa.Array, changed: pa.Array | None) -> int:
    """Return the index of the first row where both masks hold; -1 if there is none."""
    both = mask if changed is None else pc.and_(mask, changed)
    return pc.index(both, True).as_py()  # type: ignore[no-any-return]

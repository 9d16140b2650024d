"""Point reads answered from columns in memory: `WHERE key = value` without a DuckDB statement.

Theory. To find the rows of one key, DuckDB plans the statement anew, opens the file, and decodes the pages of one row group: 1 to 3
milliseconds, most of it before the first value is looked at. A row group's column that is held as an Arrow array is searched in
tens of microseconds, in one or two if its values ascend, and the rows found are copied from the arrays of the other columns. So the
columns of row groups that such reads (`engine.planner.codegen.point_read`) need are held, up to `HELD_BYTES`; the ones used least
recently are evicted. The footers' bounds say in which row groups a value can be (`engine.planner.optimizer.footers`).

A read that needs a column which is not held runs in DuckDB. If it is the second one to need it, the column is decoded on a fragment
thread meanwhile. So no read waits for a column to be decoded, and what is read once is not held. A file that may be replaced under
its name is held by its size, times and inode, which are looked at for each read; one that changed a moment ago is not held, and
one that is not on a local disk is not looked at here.

Where the columns that reads need are larger than `HELD_BYTES`, each would be evicted before it was needed again, and decoding
would take more time than DuckDB's statements. So decoding is paid for: each read earns an amount of bytes that may be decoded, one
that was answered from memory more than one that was not (`_ANSWERED_BYTES`, `_MISSED_BYTES`).

The rows that a join by key needs are found in the same way, one table after the other, and DuckDB joins them
(`engine.planner.codegen.point_join`): it has the plan of that, over relations in memory, from the execution before.

A read searches `_SEARCHED_ROWS` rows at most, because the event loop's thread does it; columns in ascending order are not counted.
It gives few rows, or none: a query for many rows is DuckDB's.

Rejected: an index file beside each table, which a foreign table has no place for; hash tables of keys, which take several times
the column's memory; decoding single pages through the column index, which takes as long as DuckDB's plan.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.output_cast import carry_array
from engine.executors.local.row_group_columns import COLUMN_BYTES, Chunk, ColumnKey, HeldColumn, decode_columns
from engine.executors.local.settled_files import state_of
from engine.lakes.local_disks import are_local
from engine.plan_ir.physical import relation_of
from engine.planner.codegen.point_read import Equality, KeySource, PointRead, PointStep
from engine.planner.optimizer.column_bounds import AllOf, Comparison
from engine.planner.optimizer.footers import known_footers
from engine.storage.infinities import without_infinities

_log = logging.getLogger(__name__)
#: Bytes of all columns that are held.
HELD_BYTES: Final = 64 << 20
_COLUMNS_MOST: Final = 1 << 14
#: Columns that were needed, and are remembered to be held when they are needed again.
_NEEDED_MOST: Final = 1 << 14
#: Bytes that may be decoded for each read that was answered, and for each that was not: what DuckDB would have taken for the
#: read, and an eighth of it.
_ANSWERED_BYTES: Final = 1 << 20
_MISSED_BYTES: Final = 1 << 17
#: Row groups whose bounds a read looks at, row groups that it looks into, and columns of these.
_GROUPS_MOST: Final = 1 << 12
_CHUNKS_MOST: Final = 64
_COLUMNS_OF_READ: Final = 1 << 11
#: Rows of unordered columns that a read searches, and rows that it may give.
_SEARCHED_ROWS: Final = 1 << 18
_ROWS_MOST: Final = 1 << 11
#: Keys by which a step of a point join reads.
_KEYS_MOST: Final = 16

#: Places of rows in a row group.
_Places = slice | np.ndarray[Any, Any]
#: A row group's columns by their names, and the values that some of them are to equal.
_Columns = Mapping[str, HeldColumn]
_Wanted = Sequence[tuple[str, int | str]]


class PointReads:
    """See the module's docstring. `find` is called on the loop's thread.

    post: has a call run on a fragment thread. held_bytes: of all columns that are held.
    """

    def __init__(self, post: Callable[[Callable[[], object]], None], held_bytes: int = HELD_BYTES) -> None:
        self._post = post
        self._held: WeightedLruCache[ColumnKey, HeldColumn] = WeightedLruCache(
            _COLUMNS_MOST, held_bytes, lambda _, held: held.values.nbytes, largest=held_bytes
        )
        self._answered = 0
        self._lock = threading.Lock()
        #: Columns that were needed and are not held. True: they are being decoded, or cannot be held.
        self._needed: OrderedDict[ColumnKey, bool] = OrderedDict()
        #: Bytes that may be decoded, at most and now.
        self._credit_most = self._credit = 2 * held_bytes

    def find(self, read: PointRead, schema: pa.Schema, values: Mapping[str, Any]) -> Sequence[pa.RecordBatch] | None:
        """Return the rows of a point read as batches, none of them empty; None where DuckDB is to read them.

        schema: the carriers of the rows. values: of the fragment's parameters.
        """
        found = self._find(read, schema, values)
        self._answered += found is not None
        return found

    def find_joined(self, steps: Sequence[PointStep], values: Mapping[str, Any]) -> dict[str, pa.Table] | None:
        """Return the rows of each step of a point join, by the names of the relations that have them; None where DuckDB is
        to read them."""
        tables: list[pa.Table] = []
        for step in steps:
            reads = [step.read] if step.source is None else _reads_for(step.read, step.source, tables)
            if reads is None:
                return None
            batches: list[pa.RecordBatch] = []
            for read in reads:
                found = self._find(read, step.schema, values)
                if found is None:
                    return None
                batches += found
            tables.append(pa.Table.from_batches(map(without_infinities, batches), step.schema))
        self._answered += 1
        return {relation_of(number): rows for number, rows in enumerate(tables)}

    def _find(self, read: PointRead, schema: pa.Schema, values: Mapping[str, Any]) -> Sequence[pa.RecordBatch] | None:
        wanted = []
        for equality in read.equalities:
            value = equality.value_in(values)
            if value is None:
                # Nothing equals the null value.
                return []
            wanted.append((equality.column, value))
        chunks = _chunks_with(read, wanted)
        if chunks is None or len(chunks) * len(read.types) > _COLUMNS_OF_READ:
            return None
        groups, missing = [], []
        for chunk in chunks:
            keys = [ColumnKey(chunk, name, typ) for name, typ in read.types.items()]
            held = {key: self._held.find(key) for key in keys}
            missing += [key for key, column in held.items() if column is None]
            groups.append({key.name: column for key, column in held.items() if column is not None})
        if missing:
            self._note_needed(missing)
            return None
        found = _search(groups, wanted, read, schema)
        if found is not None:
            self._earn(_ANSWERED_BYTES)
        return found

    def statistics(self) -> dict[str, int]:
        """Count the reads that were answered, the columns that are held, and their bytes."""
        held = self._held.statistics()
        return {"point_reads": self._answered, "held_columns": held["entries"], "held_column_bytes": held["weight"]}

    def _earn(self, size: int) -> None:
        with self._lock:
            self._credit = min(self._credit + size, self._credit_most)

    def _note_needed(self, keys: Iterable[ColumnKey]) -> None:
        """Have those of these columns decoded that were needed before, as long as there is credit."""
        self._earn(_MISSED_BYTES)
        again = defaultdict(list)
        with self._lock:
            for key in keys:
                state = key.chunk.state
                is_settled = state is None or state.is_settled
                is_known = key in self._needed
                if self._needed.get(key) is False and is_settled and self._credit > 0:
                    again[key.chunk].append(key)
                    self._needed[key] = True
                elif not is_known:
                    self._needed[key] = False
                self._needed.move_to_end(key)
            while len(self._needed) > _NEEDED_MOST:
                self._needed.popitem(last=False)
        for chunk, columns in again.items():
            self._post(functools.partial(self._hold, chunk, columns))

    def _hold(self, chunk: Chunk, keys: Sequence[ColumnKey]) -> None:
        """Decode columns of a row group and hold them, as long as there is credit. Blocks."""
        left = dict.fromkeys(keys)
        try:
            for key, column in decode_columns(chunk, keys):
                if chunk.state is not None and state_of(chunk.file) != chunk.state:
                    return
                if column is not None:
                    self._held.put(key, column)
                del left[key]
                if not self._spend(key, column):
                    self._put_off(left)
                    return
        except (OSError, pa.ArrowException) as error:
            # DuckDB reads the file, and tells what is wrong with it.
            _log.debug("columns of %s cannot be held: %s", chunk, error)

    def _spend(self, key: ColumnKey, column: HeldColumn | None) -> bool:
        """Note that a column was decoded. column: None if it cannot be held. Returns whether there is credit left."""
        with self._lock:
            if column is not None:
                self._needed.pop(key, None)
            self._credit -= COLUMN_BYTES if column is None else column.values.nbytes
            return self._credit > 0

    def _put_off(self, keys: Iterable[ColumnKey]) -> None:
        """Leave columns to a later read: those of a wide table, or of many row groups, would occupy the fragment threads."""
        with self._lock:
            for key in keys:
                if key in self._needed:
                    self._needed[key] = False


def _reads_for(read: PointRead, source: KeySource, tables: Sequence[pa.Table]) -> list[PointRead] | None:
    """Return the reads of the rows whose key is in earlier ones; None where they are many."""
    keys = tables[source.step].column(source.position).unique().drop_null()
    if len(keys) > _KEYS_MOST:
        return None
    return [replace(read, equalities=(Equality(source.column, key),)) for key in keys.to_pylist()]


def _chunks_with(read: PointRead, wanted: _Wanted) -> Sequence[Chunk] | None:
    """Return the row groups that may have a row with these values, in order; None where they are many, or not known."""
    chunks: list[Chunk] = []
    looked_at = 0
    may_be_replaced = not read.table.has_log
    if may_be_replaced and not are_local(read.table.files):
        return None
    may_have = AllOf(tuple(Comparison(name, read.types[name], "=", value) for name, value in wanted))
    for file, stamp, groups in known_footers(read.table):
        state = state_of(file) if may_be_replaced else None
        if groups is None or (may_be_replaced and (state is None or stamp != (state.size, state.changed))):
            return None
        looked_at += len(groups)
        if looked_at > _GROUPS_MOST:
            return None
        chunks += [Chunk(file, state, number) for number, group in enumerate(groups) if may_have(group.facts)]
        if len(chunks) > _CHUNKS_MOST:
            return None
    return chunks


def _search(
    groups: Iterable[_Columns], wanted: _Wanted, read: PointRead, schema: pa.Schema
) -> list[pa.RecordBatch] | None:
    """Return the rows with these values as batches; None where they are many, or too many are to be looked at."""
    batches: list[pa.RecordBatch] = []
    searched, given = 0, 0
    for columns in groups:
        # What is found at once is looked for first.
        first, *others = sorted(wanted, key=lambda pair: _cost(columns[pair[0]]))
        searched += 0 if columns[first[0]].ascends else len(columns[first[0]].values)
        if searched > _SEARCHED_ROWS:
            return None
        places = columns[first[0]].find(first[1])
        if others:
            searched += _count(places) * len(others)
            if searched > _SEARCHED_ROWS:
                return None
            places = _filter(places, columns, others)
        if read.limit is not None:
            places = _first(places, read.limit - given)
        if (count := _count(places)) == 0:
            continue
        given += count
        if given > _ROWS_MOST:
            return None
        arrays = [
            carry_array(_pick(columns[name].values, places), typ)
            for name, typ in zip(read.columns, schema.types, strict=True)
        ]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return batches


def _cost(column: HeldColumn) -> int:
    if column.ascends:
        return 0
    return 1 if column.numbers is not None else 2


def _filter(places: _Places, columns: _Columns, wanted: _Wanted) -> _Places:
    """Return those of these places whose rows have these values too."""
    left = np.arange(places.start, places.stop) if isinstance(places, slice) else places
    for name, value in wanted:
        column = columns[name]
        values = column.values.take(pa.array(left))
        left = left[np.asarray(pc.indices_nonzero(pc.equal(values, pa.scalar(value, column.comparable_type))))]
    return left


def _count(places: _Places) -> int:
    return places.stop - places.start if isinstance(places, slice) else len(places)


def _first(places: _Places, most: int) -> _Places:
    if isinstance(places, slice):
        return slice(places.start, min(places.stop, places.start + most))
    return places[:most]


def _pick(values: pa.Array, places: _Places) -> pa.Array:
    if isinstance(places, slice):
        # A copy: whoever reads the rows slowly would keep the whole column in memory, beside those that are held.
        return pa.concat_arrays([values.slice(places.start, places.stop - places.start)])
    return values.take(pa.array(places))

"""Point reads answered from columns in memory: `WHERE key = value` without a DuckDB statement.

Theory. To find the rows of one key, DuckDB plans the statement anew, opens the file, and decodes the pages of one row group: 1 to 3
milliseconds, most of it before the first value is looked at. A row group's column that is held as an Arrow array is searched in
tens of microseconds, in one or two if its values ascend, and the rows found are copied from the arrays of the other columns. So the
columns of row groups that such reads (`engine.planner.codegen.point_read`) need are held, up to `HELD_BYTES`; the ones used least
recently are evicted. The footers' bounds say in which row groups a value can be (`engine.planner.optimizer.footers`).

A read that needs a column which is not held runs in DuckDB. If it is the second one to need it, the column is decoded on a fragment
thread meanwhile. So no read waits for a column to be decoded, and what is read once is not held. A file that may be replaced under
its name is held by its size, time and inode, which are looked at for each read; one that changed a moment ago is not held.

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
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.catalog.model.objects import Table
from engine.common.sql_type import SqlType
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.output_cast import carry_array
from engine.executors.local.settled_files import FileState, state_of
from engine.planner.codegen.point_read import PointRead
from engine.planner.optimizer.footers import RowGroup, known_footers
from wire.dataclass import dataclass
from wire.types import pg_types as t

_log = logging.getLogger(__name__)
#: Bytes of all columns that are held, and of one row group's column.
HELD_BYTES: Final = 64 << 20
_COLUMN_BYTES: Final = 16 << 20
_COLUMNS_MOST: Final = 1 << 14
#: Columns that were needed, and are remembered to be held when they are needed again.
_NEEDED_MOST: Final = 1 << 14
#: Row groups that a read looks into, rows of unordered columns that it searches, and rows that it may give.
_CHUNKS_MOST: Final = 64
_SEARCHED_ROWS: Final = 1 << 18
_ROWS_MOST: Final = 1 << 11
#: Rows that are decoded at a time.
_DECODED_ROWS: Final = 1 << 16
#: Arrow types of a file's columns whose values are those of a type's carrier, or are cast to it without loss.
_ARROW_TYPES: Final[Mapping[t.PgType, Callable[[pa.DataType], bool]]] = {
    t.BOOL: pa.types.is_boolean,
    t.INT2: lambda typ: typ in (pa.int8(), pa.int16()),
    t.INT4: lambda typ: typ in (pa.int8(), pa.int16(), pa.int32()),
    t.INT8: pa.types.is_signed_integer,
    t.FLOAT4: pa.types.is_float32,
    t.FLOAT8: pa.types.is_float64,
    t.TEXT: pa.types.is_string,
    t.VARCHAR: pa.types.is_string,
    t.DATE: pa.types.is_date32,
    t.NUMERIC: pa.types.is_decimal128,
}


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A row group of a file. state: of a file that may be replaced under its name. group: its number."""

    file: str
    state: FileState | None
    group: int


@dataclass(frozen=True, slots=True)
class _Held:
    """A row group's column. numbers: its values, where they are whole numbers without nulls; ascends: whether these ascend."""

    values: pa.Array
    numbers: np.ndarray[Any, Any] | None
    ascends: bool

    def find(self, value: int | str) -> slice | np.ndarray[Any, Any]:
        """Return the places of the rows whose value this is."""
        if self.numbers is None:
            return np.asarray(pc.indices_nonzero(pc.equal(self.values, pa.scalar(value, _wide(self.values.type)))))
        bounds = np.iinfo(self.numbers.dtype)
        if not bounds.min <= int(value) <= bounds.max:
            return slice(0, 0)
        number = self.numbers.dtype.type(value)
        if self.ascends:
            return slice(int(self.numbers.searchsorted(number)), int(self.numbers.searchsorted(number, "right")))
        return np.flatnonzero(self.numbers == number)


#: Places of rows in a row group.
_Places = slice | np.ndarray[Any, Any]
#: A row group's columns by their names, and the values that some of them are to equal.
_Columns = Mapping[str, _Held]
_Wanted = Sequence[tuple[str, int | str]]


class PointReads:
    """See the module's docstring. `find` is called on the loop's thread.

    post: has a call run on a fragment thread. held_bytes: of all columns that are held.
    """

    def __init__(self, post: Callable[[Callable[[], object]], None], held_bytes: int = HELD_BYTES) -> None:
        self._post = post
        self._held: WeightedLruCache[tuple[_Chunk, str], _Held] = WeightedLruCache(
            _COLUMNS_MOST, held_bytes, lambda _, held: held.values.nbytes, largest=held_bytes
        )
        self._answered = 0
        self._lock = threading.Lock()
        #: Columns that were needed and are not held. True: they are being decoded, or cannot be held.
        self._needed: OrderedDict[tuple[_Chunk, str], bool] = OrderedDict()

    def find(self, read: PointRead, schema: pa.Schema, values: Mapping[str, Any]) -> Sequence[pa.RecordBatch] | None:
        """Return the rows of a point read as batches, none of them empty; None where DuckDB is to read them.

        schema: the carriers of the rows. values: of the fragment's parameters.
        """
        wanted = []
        for equality in read.equalities:
            value = equality.value_in(values)
            if value is None:
                # Nothing equals the null value.
                self._answered += 1
                return []
            wanted.append((equality.column, value))
        chunks = _chunks_with(read.table, wanted)
        if chunks is None:
            return None
        names = dict.fromkeys((*read.columns, *(name for name, _ in wanted)))
        groups, missing = [], []
        for chunk in chunks:
            held = {name: self._held.find((chunk, name)) for name in names}
            missing += [(chunk, name) for name, column in held.items() if column is None]
            groups.append({name: column for name, column in held.items() if column is not None})
        if missing:
            self._note_needed(missing, read.table)
            return None
        found = _search(groups, wanted, read, schema)
        self._answered += found is not None
        return found

    def statistics(self) -> dict[str, int]:
        """Count the reads that were answered, the columns that are held, and their bytes."""
        held = self._held.statistics()
        return {"point_reads": self._answered, "held_columns": held["entries"], "held_column_bytes": held["weight"]}

    def _note_needed(self, columns: Iterable[tuple[_Chunk, str]], table: Table) -> None:
        """Have those of these columns decoded that were needed before."""
        again = defaultdict(list)
        with self._lock:
            for key in columns:
                is_settled = key[0].state is None or key[0].state.is_settled
                if self._needed.get(key) is False and is_settled:
                    again[key[0]].append(key[1])
                self._needed[key] = key in self._needed and is_settled
                self._needed.move_to_end(key)
            while len(self._needed) > _NEEDED_MOST:
                self._needed.popitem(last=False)
        for chunk, names in again.items():
            self._post(functools.partial(self._hold, chunk, names, table))

    def _hold(self, chunk: _Chunk, names: Sequence[str], table: Table) -> None:
        """Decode columns of a row group and hold them. Blocks."""
        try:
            decoded = _decode(chunk, names, table)
        except (OSError, pa.ArrowException) as error:
            # DuckDB reads the file, and tells what is wrong with it.
            _log.debug("columns %s of %s cannot be held: %s", names, chunk, error)
            return
        if chunk.state is not None and state_of(chunk.file) != chunk.state:
            return
        with self._lock:
            for name, column in decoded.items():
                self._held.get((chunk, name), functools.partial(_same, column))
                self._needed.pop((chunk, name), None)


def _same(column: _Held) -> _Held:
    return column


def _chunks_with(table: Table, wanted: _Wanted) -> Sequence[_Chunk] | None:
    """Return the row groups that may have a row with these values, in order; None where they are many, or not known."""
    chunks: list[_Chunk] = []
    may_be_replaced = table.storage is None and not table.lake
    for file, stamp, groups in known_footers(table):
        state = state_of(file) if may_be_replaced else None
        if groups is None or (may_be_replaced and (state is None or stamp != (state.size, state.changed))):
            return None
        chunks += [_Chunk(file, state, number) for number, group in enumerate(groups) if _may_have(group, wanted)]
        if len(chunks) > _CHUNKS_MOST:
            return None
    return chunks


def _may_have(group: RowGroup, wanted: _Wanted) -> bool:
    """Whether a row group may have a row with these values, by the bounds of whole numbers. Those of texts may be cut short."""
    for name, value in wanted:
        _, bounds = group.columns.get(name, (0, None))
        if bounds is None or not isinstance(value, int):
            continue
        low, high = bounds
        if isinstance(low, int) and isinstance(high, int) and not low <= value <= high:
            return False
    return True


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
            if _count(places) > _SEARCHED_ROWS:
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


def _cost(column: _Held) -> int:
    if column.ascends:
        return 0
    return 1 if column.numbers is not None else 2


def _filter(places: _Places, columns: _Columns, wanted: _Wanted) -> _Places:
    """Return those of these places whose rows have these values too."""
    left = np.arange(places.start, places.stop) if isinstance(places, slice) else places
    for name, value in wanted:
        values = columns[name].values.take(pa.array(left))
        left = left[np.asarray(pc.indices_nonzero(pc.equal(values, pa.scalar(value, _wide(values.type)))))]
    return left


def _wide(typ: pa.DataType) -> pa.DataType:
    """The type that holds any value which a column of this type is compared with."""
    return pa.int64() if pa.types.is_integer(typ) else typ


def _count(places: _Places) -> int:
    return places.stop - places.start if isinstance(places, slice) else len(places)


def _first(places: _Places, most: int) -> _Places:
    if isinstance(places, slice):
        return slice(places.start, min(places.stop, places.start + most))
    return places[:most]


def _pick(values: pa.Array, places: _Places) -> pa.Array:
    if isinstance(places, slice):
        return values.slice(places.start, places.stop - places.start)
    return values.take(pa.array(places))


def _decode(chunk: _Chunk, names: Sequence[str], table: Table) -> Mapping[str, _Held]:
    """Read columns of a row group that can be held.

    Raises OSError and ArrowException; ArrowInvalid for columns that the file lacks or has in another form.
    """
    with pa.OSFile(chunk.file) as opened, pq.ParquetFile(opened) as file:
        schema = file.schema_arrow
        for name in names:
            column = table.column(name)
            if column is None or not _is_as_carried(schema, name, column.type):
                raise pa.ArrowInvalid(f'column "{name}" is not in the file as it is given to clients')
        batches = []
        room = _COLUMN_BYTES
        for batch in file.iter_batches(_DECODED_ROWS, [chunk.group], list(names), use_threads=False):
            room -= max(column.nbytes for column in batch.columns)
            if room < 0:
                raise pa.ArrowInvalid("a column of the row group is too large to be held")
            batches.append(batch)
    rows = pa.Table.from_batches(batches)
    rows.validate(full=True)
    return {name: _hold_values(rows.column(name)) for name in names}


def _is_as_carried(schema: pa.Schema, name: str, typ: SqlType) -> bool:
    """Whether the file has one column of this name, with values as they are carried."""
    found = schema.get_all_field_indices(name)
    if len(found) != 1:
        return False
    stored = schema.field(found[0]).type
    return _ARROW_TYPES[typ.pg](stored) and (typ.pg is not t.NUMERIC or stored.scale == typ.scale)


def _hold_values(column: pa.ChunkedArray) -> _Held:
    values = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if values.null_count or not pa.types.is_integer(values.type):
        return _Held(values, None, ascends=False)
    numbers = values.to_numpy()
    return _Held(values, numbers, ascends=bool(np.all(numbers[1:] >= numbers[:-1])))

"""A cache of small files as tables in memory, so that a dashboard's repeated queries do not open, decode and plan
files each time.

A short query over a Parquet file of a few rows spends most of its time on the file: opening it, reading the footer,
decompressing, and handing the scan to other threads. So small files that have been read before are loaded into tables
of the single-threaded DuckDB (`engine.executors.local.executor`). A statement runs there if everything that it reads is
there: files as such tables, and inputs that have arrived (`engine.executors.local.inputs`) if they are small. All other
statements, and every first execution, read the files.

A table in memory stands for one table function of a statement (`read_parquet([...], options)`) over files of given
sizes, modification times and inodes. These are checked at each execution; if they have changed, a new table is made. If
a column cannot be read, nothing is cached and the statement reads the file, because it may not need that column.

The memory of a table is measured as the growth of DuckDB's tables once it has been made. File sizes say little about
it: Parquet with few distinct values is a hundredth of the size, and may be a millionth. So values are counted, and texts
measured, before a table is made. A table that would take most of the room is not made, or dropped at once, and is not
tried again while its files are the same.

Rejected: results alone, which are kept too (`engine.executors.local.result_cache`), but are of no use to the next
statement; DuckDB's caches of Parquet metadata and file contents (they save a tenth of a millisecond out of more than
two); a view for each reader that the statement names (it would be bound twice, and statements over large files would
pay for it).
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from itertools import count
from typing import Any, Final

import duckdb
import pyarrow as pa
from sqlglot import exp

from engine.executors.local.database import LocalDatabase
from engine.executors.local.settled_files import FileState, state_of
from engine.executors.local.statements import Reader, over_tables, readers_of
from engine.lakes.local_disks import look_up
from engine.planner.codegen.files import plain_path
from engine.sql.trees.dialects import to_sql
from wire.dataclass import dataclass

#: Limits: bytes on disk and number of one reader's files; bytes in memory of its table, and of all cached tables.
_READER_BYTES: Final = 4 << 20
_FILES: Final = 16
_TABLE_BYTES: Final = 32 << 20
_KEPT_BYTES: Final = 64 << 20
#: Bytes of a value of fixed length, at most, and rows of a batch of what is asked about a file.
_VALUE_BYTES: Final = 16
_BATCH_ROWS: Final = 2048
#: The limit of the total bytes of inputs.
INPUT_BYTES: Final = 1 << 20
_SEEN: Final = 512
_Stamps = tuple[FileState, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A table in memory, with its size in bytes."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement in the form that runs in the single-threaded database. kept: the tables that it reads there, until
    `release`.
    """

    statement: str
    parameters: Mapping[str, Any]
    kept: tuple[_Kept, ...] = ()


class SmallFiles:
    """The cache of small files; see the module's docstring. Its methods may be called from any thread; `place` blocks
    while it loads a file.

    database: the database that has the tables and runs the placed statements; its owner closes it.
    """

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._numbers = count(1)
        #: Readers that were requested before, and whether loading them is worth another try.
        self._seen: OrderedDict[Hashable, bool] = OrderedDict()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._users: Counter[str] = Counter()

    def place(
        self,
        text: str,
        parameters: Mapping[str, Any],
        inputs: Iterable[pa.Table],
        tree: exp.Expression | None = None,
    ) -> Placed | None:
        """Rewrite a statement to read tables in memory; None if it must read its files. The caller must `release` the
        result. tree: the tree from which the text was printed; None if the caller does not have it.
        """
        held = list(inputs)
        if sum(rows.nbytes for rows in held) > INPUT_BYTES:
            return None
        readers = readers_of(text, tree)
        if readers is None or not (held or readers):
            return None
        named = [reader.files or tuple(parameters[reader.parameter]) for reader in readers]
        look_up(plain_path(file) for files in named for file in files)
        kept: list[_Kept] = []
        for reader, files in zip(readers, named, strict=True):
            table = self._table(reader, files)
            if table is None:
                self._give_up(kept)
                return None
            kept.append(table)
        taken = {reader.parameter for reader in readers}
        rest = {name: value for name, value in parameters.items() if name not in taken}
        names = tuple(table.name for table in kept)
        return Placed(over_tables(text, names, tree) if names else text, rest, tuple(kept))

    def release(self, placed: Placed) -> None:
        """Release the tables that a finished statement has read."""
        self._give_up(placed.kept)

    def statistics(self) -> dict[str, int]:
        with self._lock:
            return {"small_tables": len(self._kept), "small_table_bytes": sum(k.bytes for k in self._kept.values())}

    def _table(self, reader: Reader, files: tuple[str, ...]) -> _Kept | None:
        """Return the table that stands for the reader's files in their current state, and mark it as used; None if
        there is none.
        """
        stamps = _stamps(files)
        if stamps is None or not all(stamp.is_settled for stamp in stamps):
            return None
        call, text = _name_files(reader, files)
        key = (text, stamps)
        with self._lock:
            if (found := self._use(key)) is not None:
                return found
            is_worthwhile = self._seen[key] if key in self._seen else self._note_seen(key)
        # One thread loads; others read their files meanwhile, and so does every thread while a disk does not answer.
        if not is_worthwhile or not self._loading.acquire(blocking=False):
            return None
        try:
            with self._lock:
                # Another thread may have loaded it since.
                found = self._use(key)
            return self._load(key, call, files, stamps) if found is None else found
        finally:
            self._loading.release()

    def _use(self, key: Hashable) -> _Kept | None:
        """Return the kept table, and mark it as used; None if there is none. Called with the lock."""
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            self._users[found.name] += 1
        return found

    def _load(self, key: Hashable, call: exp.Anonymous, files: tuple[str, ...], stamps: _Stamps) -> _Kept | None:
        """Load the rows that the call reads into a table, mark it as used, and evict the least recently used ones."""
        rows = exp.select("*").from_(exp.Table(this=call.copy()))
        try:
            table = self._make(rows, sum(stamp.size for stamp in stamps)) if self._is_small(rows) else None
        except duckdb.Error:
            # The statement reports the error, if it is affected.
            with self._lock:
                self._seen.pop(key, None)
            return None
        if table is None or table.bytes > _TABLE_BYTES or _stamps(files) != stamps:
            with self._lock:
                self._seen[key] = table is not None and table.bytes <= _TABLE_BYTES
            if table is not None:
                self._drop(table)
            return None
        with self._lock:
            self._kept[key] = table
            self._users[table.name] = 1
            self._make_room()
        return table

    def _is_small(self, rows: exp.Select) -> bool:
        """Return whether a table of these rows takes little memory, however little they take in their files: what is
        compressed there, or stored once for many rows, is not so here. No more rows than a small table has are read.
        """
        columns = list(self._fetch(rows.limit(0)).schema)
        most = _TABLE_BYTES // (_VALUE_BYTES * len(columns))
        first = rows.limit(most + 1)
        count = exp.select(exp.Count(this=exp.Star())).from_(first.subquery())
        [found] = self._fetch(count)[0].to_pylist()
        if found > most:
            return False
        long = [exp.column(column.name, quoted=True) for column in columns if not _is_fixed(column.type)]
        if not long:
            return True
        lengths = [exp.Sum(this=exp.Length(this=exp.cast(column, "varchar"))) for column in long]
        [measured] = self._fetch(exp.select(*lengths).from_(first.subquery())).to_pylist()
        return bool(sum(filter(None, measured.values())) <= _TABLE_BYTES)

    def _make(self, rows: exp.Select, file_bytes: int) -> _Kept:
        name = f"small_{next(self._numbers)}"
        before = self._table_bytes()
        self._change(exp.Create(this=exp.to_table(name), kind="TABLE", expression=rows))
        # Other statements may have dropped their stored inputs meanwhile; the table takes at least the size of its files.
        return _Kept(name, max(self._table_bytes() - before, file_bytes))

    def _note_seen(self, key: Hashable) -> bool:
        """Note that a reader is requested for the first time. It is not loaded yet."""
        self._seen[key] = True
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return False

    def _make_room(self) -> None:
        held = sum(table.bytes for table in self._kept.values())
        for key, table in list(self._kept.items()):
            if held <= _KEPT_BYTES:
                return
            if not self._users[table.name]:
                self._drop(table)
                del self._kept[key], self._users[table.name]
                held -= table.bytes

    def _drop(self, table: _Kept) -> None:
        self._change(exp.Drop(kind="TABLE", tables=[exp.to_table(table.name)]))

    def _table_bytes(self) -> int:
        """Return the memory that the database's tables take."""
        cursor = self._database.borrow("UTC")
        try:
            return cursor.table_bytes()
        finally:
            self._database.give_back(cursor, healthy=True)

    def _fetch(self, query: exp.Query) -> pa.Table:
        """Return the rows of a query."""
        cursor = self._database.borrow("UTC")
        try:
            return cursor.run(query.sql("duckdb"), (), _BATCH_ROWS).read_all()
        finally:
            self._database.give_back(cursor, healthy=True)

    def _change(self, statement: exp.Expression) -> None:
        cursor = self._database.borrow("UTC")
        try:
            cursor.change(statement)
        finally:
            self._database.give_back(cursor, healthy=True)

    def _give_up(self, kept: Iterable[_Kept]) -> None:
        with self._lock:
            for table in kept:
                self._users[table.name] -= 1


def _is_fixed(typ: pa.DataType) -> bool:
    """Return whether the values of a type take few bytes, the same for each."""
    return bool(pa.types.is_primitive(typ) or pa.types.is_decimal(typ))


def _stamps(files: tuple[str, ...]) -> _Stamps | None:
    """Return the state of each file; None if they are too many, too large, or missing."""
    if len(files) > _FILES:
        return None
    found = [state for file in files if (state := state_of(plain_path(file))) is not None]
    if len(found) < len(files) or sum(state.size for state in found) > _READER_BYTES:
        return None
    return tuple(found)


@lru_cache(_SEEN)
def _name_files(reader: Reader, files: tuple[str, ...]) -> tuple[exp.Anonymous, str]:
    """Return the reader's call with its files as literals, and its text."""
    named = reader.call.copy()
    assert isinstance(named, exp.Anonymous)
    named.expressions[0].replace(exp.Array(expressions=[exp.Literal.string(file) for file in files]))
    return named, to_sql(named, "local")

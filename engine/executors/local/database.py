"""The member's DuckDB database, and the cursors that streams borrow from it.

The database is in memory and holds no table of its own. Statements read files in place, and they read the rows of the
system catalog from Arrow tables that come with the fragment. Settings are locked once the database is open: only a
cursor's time zone, its profiling and the size of its streaming buffer can still be changed. Extensions are neither
downloaded nor loaded, variables of the Python program are not visible, and a query that exceeds the memory limit spills
to the member's own folder.

A cursor runs one statement at a time, and DuckDB accepts no other until the result has been released. Cursors are
pooled by time zone. Each caches the plans of its last statements over tables in memory and inputs, because parsing,
binding and optimizing a short statement costs as much as running it, and many times as much for a final stage over a
few rows. Statements over files are planned each time, because a plan records the files as they were when it was made.

DuckDB's relations are not used to run anything: they bind a statement one time more than needed, and they cannot run a
prepared statement as a stream. `_submit`, which they call internally, does both. There is no public name either for
registering a source of rows. The version of DuckDB is pinned.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

import duckdb
import pyarrow as pa
from duckdb._sources.pyarrow import PyArrowTableSource
from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common.duckdb_confinement import CONFINED
from engine.executors.engine_config import EngineConfig
from engine.executors.local import own_functions
from engine.executors.local.cursor_work import CURSOR_VARIABLE, CursorWork
from engine.executors.local.zone_names import zone_name
from engine.sql.trees.storage_types import relation_name
from wire.dataclass import dataclass
from wire.errors import InvalidParameterValue

_IDLE_PER_ZONE: Final = 8
_ZONES: Final = 32
_PLANS: Final = 64
#: The size of DuckDB's vector: smaller batches would not save work.
_VECTOR: Final = 2048
#: The maximal number of names that stay registered: relations of the system catalog, sequences, inputs.
_NAMES: Final = 256
#: DuckDB's read-ahead for each statement. By default it would be 10 MiB.
_READ_AHEAD_BYTES: Final = 2 << 20
#: Texts of more than some kilobytes are in blocks of their own.
_TABLE_BYTES: Final = (
    exp.select("coalesce(sum(memory_usage_bytes), 0)")
    .from_(exp.Table(this=exp.func("duckdb_memory", dialect="duckdb")))
    .where("tag IN ('IN_MEMORY_TABLE', 'OVERFLOW_STRINGS')")
    .sql("duckdb")
)
_PART: Final = "sluice_part"
#: The maximal bytes of an input whose name stays registered.
_HELD_BYTES: Final = 1 << 20
_log = logging.getLogger(__name__)


class _Held(PyArrowTableSource):
    """Rows under a name that stays registered from one statement to the next. Registering it again would cost a short
    statement a millisecond, and would invalidate its plan. DuckDB requests the stream each time that it scans the name,
    and the number of rows when it makes a plan.
    """

    def __init__(self, rows: pa.Table) -> None:
        super().__init__(rows)
        #: The rows between statements.
        self.none = rows.schema.empty_table()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows. DuckDB accepts an object with this method for registration; it then calls `stream`."""
        return self.obj.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A prepared statement: the SQL that executes it, and the SQL that deallocates it."""

    execute: str
    deallocate: str


class LocalCursor:
    """One connection of the database, in one time zone. Only one thread may use it at a time, except for `interrupt`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, time_zone: str) -> None:
        self.time_zone = time_zone
        self._connection = connection
        self._plans: OrderedDict[Hashable, _Plan | None] = OrderedDict()
        self._numbers = count(1)
        self._inputs: dict[str, tuple[Literal["held", "view", "table"], pa.Schema]] = {}
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._work = CursorWork()
        connection.execute(_command("SET", f"VARIABLE {CURSOR_VARIABLE} = {self._work.number}"))

    def run(
        self,
        statement: str,
        tables: Sequence[Table | SystemTable],
        batch_rows: int,
        parameters: Mapping[str, Any] | None = None,
        *,
        in_memory: bool = False,
    ) -> Any:
        """Begin to run a statement. Returns an Arrow reader.

        tables: the tables of the catalog that it reads. in_memory: whether it reads only inputs and tables of this
        database whose names are never reused, so that its plan may be cached.
        """
        self._work.begin()
        for table in tables:
            if isinstance(table, SystemTable):
                self._hold(relation_name(table), table.rows)
        values = dict(parameters) if parameters else None
        text = self._plan_or_statement(statement) if in_memory and values is None else statement
        return self._submit(text, values, batch_rows).arrow_reader()

    def profile(self) -> None:
        """Have DuckDB profile the operators of the statements that follow. The cursor must not be reused for other
        statements afterwards.
        """
        self._connection.execute("SET enable_profiling = 'no_output'")

    def read_profile(self) -> str:
        """Return the profile of the statement that has ended, as DuckDB's JSON."""
        return str(self._connection.get_profiling_information("json"))

    def _plan_or_statement(self, statement: str) -> str:
        """Return the SQL to run for a statement: the statement itself the first time, its prepared plan from the
        second time on.
        """
        # When it runs, a plan reads the current relations of its inputs' names, if they have the types for which it was made.
        key = (statement, tuple((name, schema) for name, (_, schema) in self._inputs.items()))
        if key not in self._plans:
            self._plans[key] = None
            if len(self._plans) > _PLANS:
                self._forget_plan(self._plans.popitem(last=False)[1])
            return statement
        self._plans.move_to_end(key)
        plan = self._plans[key]
        if plan is None:
            name = f"plan_{next(self._numbers)}"
            self._submit(_command("PREPARE", f"{name} AS {statement}"))
            plan = self._plans[key] = _Plan(_command("EXECUTE", name), _command("DEALLOCATE", name))
        return plan.execute

    def _forget_plans(self) -> None:
        while self._plans:
            self._forget_plan(self._plans.popitem()[1])

    def _forget_plan(self, plan: _Plan | None) -> None:
        if plan is not None:
            self._submit(plan.deallocate)

    def _submit(self, text: str, values: dict[str, Any] | None = None, batch_rows: int = _VECTOR) -> Any:
        """Run one statement and return its result, whose `arrow_reader` gives the rows. Several statements are an
        error.
        """
        return self._connection._submit(text, values, "stream", batch_rows)

    def hold(self, name: str, rows: pa.Table) -> None:
        """Make a fragment's input available under a name until `forget_inputs` (`engine.executors.local.inputs`)."""
        if rows.nbytes > _HELD_BYTES:
            # A registered table is scanned by several threads, a stream is not.
            self._drop_held(name)
            self._connection.register(name, rows)
            self._inputs[name] = ("view", rows.schema)
        else:
            self._hold(name, rows)

    def _hold(self, name: str, rows: pa.Table) -> None:
        """Make rows available under a name that stays registered."""
        held = self._held.get(name)
        if held is not None and held.none.schema == rows.schema:
            held.obj = rows
            self._held.move_to_end(name)
        else:
            self._drop_held(name)
            held = self._held[name] = _Held(rows)
            self._connection.register(name, held)
        self._inputs[name] = ("held", rows.schema)

    def store(self, name: str, rows: pa.Table) -> None:
        """Append a part of a fragment's input to the temporary table of that name."""
        part = exp.select("*").from_(exp.to_table(_PART))
        target = exp.to_table(name)
        append: exp.Expression
        if name in self._inputs:
            append = exp.Insert(this=target, expression=part)
        else:
            self._drop_held(name)
            temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
            append = exp.Create(this=target, kind="TABLE", expression=part, properties=temporary)
        self._connection.register(_PART, rows)
        try:
            self.change(append)
        finally:
            self._connection.unregister(_PART)
        self._inputs[name] = ("table", rows.schema)

    def change(self, statement: exp.Expression) -> None:
        """Run a statement that returns no rows."""
        self._connection.execute(statement.sql("duckdb"))

    def table_bytes(self) -> int:
        """Return the memory that all tables of the database take."""
        [(found,)] = self._connection.execute(_TABLE_BYTES).fetchall()
        return int(found)

    def forget_inputs(self) -> bool:
        """Drop what `hold` and `store` made. Returns False if that failed: the cursor must not be used again."""
        inputs, self._inputs = self._inputs, {}
        try:
            for name, (kind, _) in inputs.items():
                if kind == "held":
                    self._held[name].obj = self._held[name].none
                elif kind == "view":
                    self._connection.unregister(name)
                else:
                    self.change(exp.Drop(kind="TABLE", tables=[exp.to_table(name)]))
            while len(self._held) > _NAMES:
                self._drop_held(next(iter(self._held)))
        except duckdb.Error:
            return False
        except Exception:  # noqa: BLE001
            # Whatever the error is, the cursor must go back to its database.
            _log.exception("a cursor could not let go of its inputs")
            return False
        return True

    def _drop_held(self, name: str) -> None:
        if self._held.pop(name, None) is not None:
            self._connection.unregister(name)
            # The plans would go on reading the relation that had the name when they were made.
            self._forget_plans()

    def interrupt(self) -> None:
        self._work.interrupt()
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


class LocalDatabase:
    """A DuckDB database with its pool of cursors; see the module's docstring. Its methods may be called from any
    thread.

    folder: the database's own folder, below the member's.
    """

    def __init__(self, config: EngineConfig, folder: str = "local") -> None:
        self._spill = config.private / folder
        # DuckDB creates the folder when it spills, but not its parents.
        self._spill.parent.mkdir(parents=True, exist_ok=True)
        self._root = duckdb.connect(":memory:", config=_settings(config, self._spill))
        own_functions.install(self._root)
        if config.stores:
            from engine.lakes.store_files import StoreFiles

            self._root.register_filesystem(StoreFiles())
        else:
            # Each running scan would hold the compressed columns of a row group per thread, with no benefit for local files.
            self._root.execute("LOAD parquet")
            self._root.execute("SET GLOBAL disable_parquet_prefetching = true")
        self._root.execute("SET GLOBAL allowed_configs = ['TimeZone', 'enable_profiling', 'streaming_buffer_size']")
        self._root.execute("SET GLOBAL lock_configuration = true")
        self._lock = threading.Lock()
        self._retired = False
        self._idle: OrderedDict[str, list[LocalCursor]] = OrderedDict()
        self._lent: defaultdict[str, int] = defaultdict(int)

    def borrow(self, time_zone: str) -> LocalCursor:
        """Lend a cursor in this time zone. Raises InvalidParameterValue if DuckDB does not know the zone,
        FatalException if the database is unusable.
        """
        name = zone_name(time_zone)
        with self._lock:
            if self._retired:
                raise duckdb.FatalException("the database has been retired")
            self._lent[time_zone] += 1
            idle = self._idle.get(time_zone)
            if idle:
                return idle.pop()
        try:
            return LocalCursor(self._connect(time_zone, name), time_zone)
        except BaseException:
            with self._lock:
                self._note_return(time_zone)
            raise

    def _connect(self, time_zone: str, name: str) -> duckdb.DuckDBPyConnection:
        """Open a connection in a time zone. name: DuckDB's name of the zone."""
        connection = self._root.cursor()
        try:
            connection.execute("SET TimeZone = $1", [name])
            connection.execute("SET streaming_buffer_size = $1", [f"{_READ_AHEAD_BYTES}B"])
        except BaseException as error:
            connection.close()
            if isinstance(error, duckdb.Error) and not isinstance(error, duckdb.FatalException):
                raise InvalidParameterValue(f'invalid value for parameter "TimeZone": "{time_zone}"') from error
            raise
        return connection

    def give_back(self, cursor: LocalCursor, *, healthy: bool) -> None:
        """Return a cursor whose result has been released. One that is not healthy is closed."""
        dropped = [cursor]
        with self._lock:
            self._note_return(cursor.time_zone)
            if healthy and not self._retired:
                dropped = self._keep(cursor)
            is_last = self._retired and not any(self._lent.values())
        for old in dropped:
            try:
                old.close()
            except duckdb.Error:
                _log.exception("a cursor could not be closed")
        if is_last:
            self._root.close()

    def statistics(self) -> dict[str, int]:
        with self._lock:
            return {"cursors": sum(self._lent.values()), "idle_cursors": sum(map(len, self._idle.values()))}

    def retire(self) -> None:
        """Lend no more cursors. Lent ones may still be returned; the last one closes the database. Closing the root
        connection would end all its cursors.
        """
        with self._lock:
            self._retired = True
            is_last = not any(self._lent.values())
            idle = [cursor for cursors in self._idle.values() for cursor in cursors]
            self._idle.clear()
        for cursor in idle:
            cursor.close()
        if is_last:
            self._root.close()

    def close(self) -> None:
        """Close everything and remove spilled files. No cursor may be lent."""
        with self._lock:
            assert not any(self._lent.values()), "cursors are still lent"
        self.retire()
        shutil.rmtree(self._spill, ignore_errors=True)

    def abandon(self) -> None:
        """Remove spilled files, and leave everything else to the lent cursors, each of which may be in use."""
        with self._lock:
            self._retired = True
        shutil.rmtree(self._spill, ignore_errors=True)

    def _note_return(self, time_zone: str) -> None:
        self._lent[time_zone] -= 1
        if not self._lent[time_zone]:
            del self._lent[time_zone]

    def _keep(self, cursor: LocalCursor) -> list[LocalCursor]:
        """Put a cursor among the idle ones. Returns the cursors for which there is no room."""
        idle = self._idle.setdefault(cursor.time_zone, [])
        self._idle.move_to_end(cursor.time_zone)
        idle.append(cursor)
        dropped = [idle.pop(0)] if len(idle) > _IDLE_PER_ZONE else []
        if len(self._idle) > _ZONES:
            dropped += self._idle.popitem(last=False)[1]
        return dropped


def _command(word: str, what: str) -> str:
    """Return a command of which sqlglot parses only the first word."""
    return exp.Command(this=word, expression=what).sql("duckdb")


def _settings(config: EngineConfig, spill: Path) -> dict[str, Any]:
    return {
        "threads": config.local_threads,
        # Files are local: handing each read to another thread costs a short query a tenth of its time, with no benefit for others.
        "async_threads": 0,
        # Freed memory is returned to the system even while nothing runs; otherwise memory goes up and down by a hundred megabytes.
        "allocator_background_threads": True,
        "memory_limit": config.local_memory,
        "temp_directory": str(spill),
        **CONFINED,
        "preserve_insertion_order": True,
        # Aggregates over constants have such ORDER BY expressions.
        "order_by_non_integer_literal": True,
    }

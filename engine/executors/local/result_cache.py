"""Results of repeated statements, kept in memory: a dashboard that sends a statement again gets its rows without DuckDB.

Theory. The rows of a statement are a function of what DuckDB is given: its text, the values of its parameters, its time
zone, and the contents of the files that it reads. All of this is the key, and nothing else is. Whatever changes rows
changes the key: a commit, an ALTER TABLE or a transaction's own changes give other files or another text; a file that
was replaced under its name has another state (`engine.executors.local.settled_files`), which is looked at for each
execution. So no result needs to be invalidated. One that nobody asks for any more is evicted like any other.

The key does not determine the rows of a statement that calls functions such as RANDOM or NOW, or whose files cannot be
determined, or that reads the system catalog or inputs. Its result is not kept. Nor is one that is large, or was read
while a file changed, or whose files are not on local disks, because the event loop's thread would wait for them.

A result is kept at the second execution, so that a statement that is sent once costs a lookup of a number. Privileges
are judged before an executor is asked, for each execution.

Rejected: keys with the catalog's version (each commit would end all results, and a foreign file has no version);
results that are kept for some seconds (they would be stale).
"""

from __future__ import annotations

import datetime as dt
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa

from engine.catalog.model.objects import SystemTable, Table
from engine.common.value_sizes import are_long
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.batch_stream import BatchStream
from engine.contracts.materialized_results import BatchesStream, count_batches
from engine.executors.local.settled_files import FileState, state_of
from engine.executors.local.statements import readers_of
from engine.executors.local.udf import FUNCTIONS
from engine.executors.local.work import LocalWork
from engine.lakes.file_stamps import is_settled
from engine.lakes.local_disks import are_local
from engine.planner.codegen.files import plain_path

#: Bytes of all results, and of one.
HELD_BYTES: Final = 32 << 20
RESULT_BYTES: Final = 256 << 10
_RESULTS_MOST: Final = 1 << 12
#: Statements that are remembered, to be kept when they are executed again.
_SEEN_MOST: Final = 1 << 12
#: The execution of a statement at which its result is kept.
_EXECUTIONS: Final = 2
_FILES_MOST: Final = 64
_VALUES_LENGTH: Final = 4096
_TEXTS: Final = 512
#: Bytes of an entry beside its text and its rows, and of the state of a file.
_ENTRY_BYTES: Final = 2 << 10
_STATE_BYTES: Final = 256
#: DuckDB's functions whose value is not determined by their arguments and the time zone, and macros and key words that call them.
#: `error` and `getvariable`, which is called for a cursor's number alone, have no influence on rows.
UNSTABLE: Final = frozenset((
    "ago", "current_catalog", "current_connection_id", "current_database", "current_date", "current_localtime",
    "current_localtimestamp", "current_query", "current_query_id", "current_role", "current_schema", "current_schemas",
    "current_setting", "current_time", "current_timestamp", "current_transaction_id", "current_user", "currval", "gen_random_uuid",
    "get_current_time", "get_current_timestamp", "in_search_path", "localtime", "localtimestamp", "nextval", "now", "pg_sleep",
    "random", "session_user", "setseed", "setval", "sleep_ms", "stats", "today", "transaction_timestamp", "txid_current", "user",
    "uuid", "uuidv4", "uuidv7", "vector_type", "write_log",
))  # fmt: skip
#: A literal or a quoted identifier; else, as group `unstable`, one of those words, or what begins a text of another form.
_TOKEN: Final = re.compile(
    rf"""'(?:[^']|'')*+'|"(?:[^"]|"")*+"(?!\s*\()|(?P<unstable>\b(?:{"|".join(sorted(UNSTABLE))})\b|["']|\b\w+'|\$\$|--|/\*)""",
    re.IGNORECASE,
)
#: Types whose representation as text is the value.
_PLAIN: Final = frozenset(
    (bool, int, float, str, bytes, Decimal, dt.date, dt.datetime, dt.time, dt.timedelta, type(None))
)


_States = tuple[FileState, ...]


class _Question(NamedTuple):
    """All that DuckDB is given, except for the contents of files. values: of parameters by their names, as text."""

    text: str
    values: str
    time_zone: str


class _Result(NamedTuple):
    """The rows of a statement. schema: of its batches. weight: bytes of the entry."""

    schema: pa.Schema
    batches: tuple[pa.RecordBatch, ...]
    counts: Mapping[str, int]
    weight: int


class ResultCache:
    """See the module's docstring. It is used on the loop's thread."""

    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        self._held: WeightedLruCache[tuple[_Question, _States], _Result] = WeightedLruCache(
            _RESULTS_MOST, held_bytes, lambda _, result: result.weight, largest=held_bytes
        )
        #: Questions by their hashes: how often they were executed; None: their results cannot be kept.
        self._seen: OrderedDict[int, int | None] = OrderedDict()
        self._answered = 0

    def find(self, work: LocalWork) -> BatchStream | None:
        """Return the result of a statement; None where it is to be run."""
        question = _ask(work)
        if question is None or not self._seen.get(hash(question)) or (states := _states(work)) is None:
            return None
        found = self._held.find((question, states))
        if found is None or not found.schema.equals(work.schema, check_metadata=True):
            return None
        self._answered += 1
        self._seen.move_to_end(hash(question))
        return BatchesStream(found.batches, "local", found.counts)

    def observe(self, work: LocalWork, run: Callable[[], BatchStream]) -> BatchStream:
        """Run a statement, and keep its result if it was executed before."""
        question = _ask(work)
        if question is None or not self._is_asked_again(question):
            return run()
        if not _is_stable(work.statement) or not _reads_known_files(work):
            self.give_up(question)
            return run()
        # Before the run, which is given the files as they are from now on.
        states = _states(work)
        return run() if states is None else _ObservedStream(run(), self, work, question, states)

    def keep(self, question: _Question, states: _States, schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> None:
        """Keep the rows of a statement."""
        # A copy: a batch may be a small part of what is in memory with it.
        buffers = [batch.serialize() for batch in batches]
        copies = tuple(pa.ipc.read_record_batch(buffer, schema) for buffer in buffers)
        rows = sum(buffer.size for buffer in buffers)
        weight = _ENTRY_BYTES + len(question.text) + len(question.values) + _STATE_BYTES * len(states) + rows
        self._held.put((question, states), _Result(schema, copies, count_batches(batches), weight))

    def give_up(self, question: _Question) -> None:
        """Note that the result of a statement cannot be kept."""
        self._seen[hash(question)] = None

    def statistics(self) -> dict[str, int]:
        """Count the statements that were answered, the results that are held, and their bytes."""
        held = self._held.statistics()
        return {
            "cached_answers": self._answered,
            "cached_results": held["entries"],
            "cached_result_bytes": held["weight"],
        }

    def _is_asked_again(self, question: _Question) -> bool:
        """Note that a question is asked. Returns whether its answer is worth keeping."""
        number = hash(question)
        before = self._seen.setdefault(number, 0)
        self._seen.move_to_end(number)
        if len(self._seen) > _SEEN_MOST:
            self._seen.popitem(last=False)
        if before is None:
            return False
        self._seen[number] = before + 1
        return before + 1 >= _EXECUTIONS


class _ObservedStream:
    """Passes a stream on, and keeps its batches at its end."""

    engine_name: Final = "local"

    def __init__(
        self, stream: BatchStream, cache: ResultCache, work: LocalWork, question: _Question, states: _States
    ) -> None:
        self._stream = stream
        self._cache: ResultCache | None = cache
        self._work = work
        self._question = question
        self._states = states
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0

    async def next_batch(self) -> pa.RecordBatch | None:
        batch = await self._stream.next_batch()
        cache = self._cache
        if cache is None:
            return batch
        if batch is None:
            self._cache = None
            if _states(self._work) == self._states:
                cache.keep(self._question, self._states, self._work.schema, self._batches)
            self._batches.clear()
        elif (size := self._bytes + batch.nbytes) <= RESULT_BYTES:
            self._bytes = size
            self._batches.append(batch)
        else:
            self._cache = None
            self._batches.clear()
            cache.give_up(self._question)
        return batch

    async def close(self) -> None:
        self._cache = None
        self._batches.clear()
        await self._stream.close()

    def statistics(self) -> Mapping[str, int]:
        return self._stream.statistics()


def _ask(work: LocalWork) -> _Question | None:
    """Return the question of a statement; None if its rows depend on more than can be told here."""
    if work.inputs or work.relations or work.row or work.analyze or work.memory is not None or work.find is not None:
        return None
    if any(isinstance(table, SystemTable) for table in work.tables):
        return None
    values = work.parameters
    if not values:
        return _Question(work.statement, "", work.time_zone)
    if are_long(values.values(), _VALUES_LENGTH) or not all(type(value) in _PLAIN for value in values.values()):
        return None
    return _Question(work.statement, repr(sorted(values.items())), work.time_zone)


@lru_cache(_TEXTS)
def _is_stable(text: str) -> bool:
    """Return whether the rows of a statement are determined by its text, its parameters, its time zone and its files."""
    return not any(match["unstable"] for match in _TOKEN.finditer(text)) and not any(
        function.volatile and function.name in text for function in FUNCTIONS.values()
    )


def _files(work: LocalWork) -> list[str] | None:
    """Return the files that a statement reads; None if they cannot be determined, or are many."""
    readers = readers_of(work.statement, work.tree)
    if readers is None or not all(reader.files for reader in readers):
        return None
    files = [file for reader in readers for file in reader.files]
    return files if len(files) <= _FILES_MOST else None


def _reads_known_files(work: LocalWork) -> bool:
    """Return whether the files of a statement's tables are among those that were found in it."""
    files = _files(work)
    tables = (table for table in work.tables if isinstance(table, Table))
    return files is not None and set(map(plain_path, files)).issuperset(
        file for table in tables for file in table.files
    )


def _states(work: LocalWork) -> _States | None:
    """Return the states of the files that a statement reads; None if a later change of one may not show in its state, or
    one is not on a local disk.
    """
    known, states = _files(work), []
    if known is None or not are_local(files := list(map(plain_path, known))):
        return None
    for file in files:
        state = state_of(file)
        if state is None or not (state.is_settled and is_settled(state.inode_changed)):
            return None
        states.append(state)
    return tuple(states)

"""Fragments with inputs: arriving streams are read as relations, in memory or from DuckDB's temporary tables."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.session_server import eventually

from engine.executors.engine_config import EngineConfig
from engine.executors.local import database, inputs
from engine.executors.local import stream as streams
from engine.executors.local.executor import LocalExecutor
from engine.executors.local.statements import readers_of
from engine.executors.local.stream import LocalStream
from engine.executors.local.work import LocalWork
from wire.errors import DivisionByZero, QueryCanceled, SqlError

_SCHEMA = pa.schema([("c1", pa.int64()), ("c2", pa.timestamp("us"))])
_RESULT = pa.schema([("rows", pa.int64()), ("total", pa.decimal128(38, 0))])
_TOTALS = "select count(*) as rows, sum(c1)::decimal(38, 0) as total from edge_1"
#: The same as compiled fragments are spelled, so that it is known what they read, and their plans are kept.
_KNOWN_TOTALS = "SELECT COUNT(*) AS rows, CAST(SUM(c1) AS DECIMAL(38, 0)) AS total FROM edge_1"
_KNOWN_MOST = "SELECT MAX(c1) AS most FROM edge_1"


class Arriving:
    """An input whose batches come when they are put. An error ends it."""

    schema = _SCHEMA

    def __init__(self) -> None:
        self.queue: asyncio.Queue[pa.RecordBatch | SqlError | None] = asyncio.Queue()

    async def next_batch(self) -> pa.RecordBatch | None:
        found = await self.queue.get()
        if isinstance(found, SqlError):
            raise found
        return found


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[LocalExecutor]:
    local = LocalExecutor(EngineConfig(tmp_path))
    await local.start()
    yield local
    await local.close()


def _batch(start: int, rows: int) -> pa.RecordBatch:
    numbers = pa.array(range(start, start + rows))
    return pa.record_batch([numbers, pc.cast(numbers, pa.timestamp("us"))], schema=_SCHEMA)


async def _rows(stream: LocalStream) -> list[dict[str, object]]:
    try:
        found = []
        while (batch := await stream.next_batch()) is not None:
            found += batch.to_pylist()
        return found
    finally:
        await stream.close()


@pytest.mark.parametrize("held", [inputs.HELD_BYTES, 1000])
async def test_batches_become_a_relation_in_memory_or_in_a_table(
    engine: LocalExecutor, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HELD_BYTES", held)
    monkeypatch.setattr(inputs, "_CHUNK_BYTES", held)
    for _ in range(2):  # A cursor that is used again knows nothing of the first time.
        source = Arriving()
        stream = engine.run(LocalWork(_TOTALS, _RESULT, 2048, inputs={"edge_1": source}))
        for number in range(10):
            source.queue.put_nowait(_batch(number * 100, 100))
        source.queue.put_nowait(None)
        [row] = await _rows(stream)
        assert row == {"rows": 1000, "total": 499_500}


async def test_an_input_without_rows_is_an_empty_relation(engine: LocalExecutor) -> None:
    source = Arriving()
    source.queue.put_nowait(None)
    stream = engine.run(LocalWork(_TOTALS, _RESULT, 2048, inputs={"edge_1": source}))
    assert await _rows(stream) == [{"rows": 0, "total": None}]


async def test_infinities_keep_their_meaning(engine: LocalExecutor) -> None:
    ends = pa.array([2**63 - 1, -(2**63), 0]).view(pa.timestamp("us"))
    source = Arriving()
    source.queue.put_nowait(pa.record_batch([pa.array([1, 2, 3]), ends], schema=_SCHEMA))
    source.queue.put_nowait(None)
    statement = "select c2 from edge_1 where c2 <= timestamp '1970-01-01' order by c2"
    schema = pa.schema([("c2", pa.timestamp("us"))])
    stream = engine.run(LocalWork(statement, schema, 2048, inputs={"edge_1": source}))
    batch = await stream.next_batch()
    assert batch is not None
    assert batch.column(0).view(pa.int64()).to_pylist() == [-(2**63), 0]
    await stream.close()


async def test_a_failed_input_is_the_streams_error(engine: LocalExecutor) -> None:
    good, bad = Arriving(), Arriving()
    bad.queue.put_nowait(DivisionByZero("division by zero"))
    stream = engine.run(LocalWork(_TOTALS, _RESULT, 2048, inputs={"edge_1": good, "edge_2": bad}))
    with pytest.raises(DivisionByZero):
        await stream.next_batch()
    await stream.close()
    assert engine.statistics()["cursors"] == 0


@pytest.mark.parametrize("statement", [_TOTALS, _KNOWN_TOTALS])
async def test_a_statement_that_is_planned_already_reads_the_inputs_of_each_run(
    engine: LocalExecutor, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    assert (readers_of(statement) is not None) == (statement is _KNOWN_TOTALS)
    for rows, held in ((10, 1 << 20), (0, 1 << 20), (20, 1 << 20), (3000, 64), (5, 1 << 20), (7, 1 << 20)):
        monkeypatch.setattr(streams, "HELD_BYTES", held)
        source = Arriving()
        for item in (_batch(0, rows), None):
            source.queue.put_nowait(item)
        stream = engine.run(LocalWork(statement, _RESULT, 2048, inputs={"edge_1": source}))
        assert await _rows(stream) == [{"rows": rows, "total": rows * (rows - 1) // 2 if rows else None}]


@pytest.mark.parametrize("statement", ["select max(c1) as most from edge_1", _KNOWN_MOST])
async def test_inputs_of_the_same_name_and_another_type_are_planned_anew(engine: LocalExecutor, statement: str) -> None:
    numbers: list[tuple[list[Any], pa.DataType]] = [([n, n + 1], pa.int64()) for n in range(4)]
    texts: list[tuple[list[Any], pa.DataType]] = [(["a", text], pa.string()) for text in "bcd"]
    for values, typ in (*numbers, *texts, *numbers):
        source = Arriving()
        source.schema = pa.schema([("c1", typ)])
        for item in (pa.record_batch([pa.array(values, typ)], schema=source.schema), None):
            source.queue.put_nowait(item)
        schema = pa.schema([("most", typ)])
        stream = engine.run(LocalWork(statement, schema, 2048, inputs={"edge_1": source}))
        assert await _rows(stream) == [{"most": values[-1]}]


async def test_plans_that_make_room_for_others_are_made_again(
    engine: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PLANS", 2)
    for number in range(30):
        source = Arriving()
        for item in (_batch(number, 2), None):
            source.queue.put_nowait(item)
        more, schema = number // 3 % 4, pa.schema([("more", pa.int64())])
        statement = f"SELECT MAX(c1) + {more} AS more FROM edge_1"
        stream = engine.run(LocalWork(statement, schema, 2048, inputs={"edge_1": source}))
        assert await _rows(stream) == [{"more": number + 1 + more}]
    assert engine.statistics()["idle_cursors"] == 1


async def test_closing_while_inputs_arrive_leaves_nothing(engine: LocalExecutor) -> None:
    source = Arriving()
    stream = engine.run(LocalWork(_TOTALS, _RESULT, 2048, inputs={"edge_1": source}))
    waiting = asyncio.ensure_future(stream.next_batch())
    source.queue.put_nowait(_batch(0, 100))
    await eventually(source.queue.empty)
    await stream.close()
    with pytest.raises(QueryCanceled):
        await waiting
    counted = engine.statistics()
    assert (counted["streams"], counted["cursors"], counted["idle_cursors"]) == (0, 0, 0)


async def test_waiting_for_inputs_takes_no_thread(engine: LocalExecutor) -> None:
    sources = [Arriving() for _ in range(20)]
    waiting = [engine.run(LocalWork(_TOTALS, _RESULT, 2048, inputs={"edge_1": s})) for s in sources]
    await asyncio.sleep(0)
    stream = engine.run(LocalWork("select 1::bigint as rows, 2::decimal(38, 0) as total", _RESULT, 2048))
    assert await _rows(stream) == [{"rows": 1, "total": 2}]
    for other in waiting:
        await other.close()


class Slowly:
    """Has the calls of its store wait for a word, so that a test can cancel while a thread is at work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        real = database.LocalCursor.store

        def store(cursor: database.LocalCursor, name: str, rows: pa.Table) -> None:
            self.began.set()
            assert self.go_on.wait(30)
            real(cursor, name, rows)

        monkeypatch.setattr(database.LocalCursor, "store", store)


_JOIN = "select count(*) as rows, 0::decimal(38, 0) as total from edge_1 join edge_2 using (c1)"


@pytest.mark.parametrize("again", ["gathering", "closed", "closers", "all"])
@pytest.mark.parametrize("at", range(6))
async def test_cancels_at_any_turn_of_a_shutdown_leave_nothing(
    engine: LocalExecutor, monkeypatch: pytest.MonkeyPatch, again: str, at: int
) -> None:
    """A join's one side is being stored on a thread, the other one waits for rows. Whoever is cancelled once more, and whenever:
    the cursor is not touched before its thread is back, and nothing is left."""
    monkeypatch.setattr(streams, "HELD_BYTES", 64)
    slowly, left, right = Slowly(monkeypatch), Arriving(), Arriving()
    stream = engine.run(LocalWork(_JOIN, _RESULT, 2048, inputs={"edge_1": left, "edge_2": right}))
    left.queue.put_nowait(_batch(0, 1000))
    await eventually(slowly.began.is_set)
    closers = [asyncio.ensure_future(stream.close()) for _ in range(2)]
    for turn in range(8):
        await asyncio.sleep(0)
        if turn in (at, at + 1):
            shutting = [stream._closed] if stream._closed is not None else []
            gathering = [stream._gathering] if stream._gathering is not None else []
            chosen = {"gathering": gathering, "closed": shutting, "closers": closers}
            for task in [task for tasks in chosen.values() for task in tasks] if again == "all" else chosen[again]:
                task.cancel()
    await asyncio.sleep(0.01)
    assert engine.statistics()["cursors"] == 1
    slowly.go_on.set()
    await asyncio.wait(closers)
    await stream.close()
    assert {name: engine.statistics()[name] for name in ("streams", "cursors")} == {"streams": 0, "cursors": 0}


async def test_what_fails_in_a_shutdown_forgets_nothing(engine: LocalExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_cursor: database.LocalCursor) -> bool:
        raise duckdb.OperationalError("a cursor that cannot be closed")

    source = Arriving()
    monkeypatch.setattr(streams, "HELD_BYTES", 64)
    stream = engine.run(LocalWork(_TOTALS, _RESULT, 2048, inputs={"edge_1": source}))
    source.queue.put_nowait(_batch(0, 1000))
    await eventually(lambda: stream._statement.cursor is not None and bool(stream._statement.cursor._inputs))
    monkeypatch.setattr(database.LocalCursor, "close", fails)
    monkeypatch.setattr(database.LocalCursor, "forget_inputs", lambda _cursor: False)
    await stream.close()
    monkeypatch.undo()
    assert {name: engine.statistics()[name] for name in ("streams", "cursors")} == {"streams": 0, "cursors": 0}

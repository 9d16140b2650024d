"""The parts of a session that need no socket: transaction rules, interrupts, kept rows, startup options, cancel keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa
import pytest

from engine.common.sql_type import SqlType, numeric
from engine.contracts.output_cast import carrier_of
from engine.contracts.sessions import Activity, ResultColumn
from engine.monitor.record import StatementRecord
from server.cursors.cursor_lease import CursorLeases
from server.cursors.row_buffer import RowBuffer
from server.pgwire.interrupts import ClientGone, Interrupts
from server.pgwire.results import row_encoder
from server.pgwire.startup import read_options
from server.session.arguments import canonical
from server.session.cancel import SessionRegistry
from server.session.commands import Commands
from server.session.notifications import Said
from server.session.transaction import Block, TransactionBlock
from wire.errors import AdminShutdown, FatalError, InFailedSqlTransaction, QueryCanceled, SqlError
from wire.types import pg_types as t
from wire.types.text_settings import OutputSettings

# -- transactions ----------------------------------------------------------------------------------------------------


def test_a_statement_alone_has_its_own_transaction() -> None:
    block = TransactionBlock()
    assert block.start(shared=False)
    assert not block.start(shared=False)
    assert (block.status, block.implicit, block.in_block) == ("I", True, False)
    assert block.fail()
    block.end()
    assert block.block is Block.NONE


def test_an_explicit_block_waits_after_an_error() -> None:
    block = TransactionBlock()
    block.start(shared=False)
    assert block.begin() is None
    assert block.begin() is not None
    block.savepoint("s")
    assert not block.fail()
    assert block.status == "E"
    with pytest.raises(InFailedSqlTransaction):
        block.require_usable()
    assert block.rollback_to("s") == 0
    block.require_usable()
    assert block.depth == 1


def test_the_innermost_savepoint_of_a_name_counts() -> None:
    block = TransactionBlock()
    block.start(shared=False)
    block.begin()
    for name in ("a", "b", "a", "c"):
        block.savepoint(name)
    assert block.rollback_to("a") == 2
    assert block.savepoints == ["a", "b", "a"]
    assert block.release("b") == 1
    assert block.savepoints == ["a"]


# -- interrupts ------------------------------------------------------------------------------------------------------


async def interrupted(work: Callable[[Interrupts], object]) -> BaseException | None:
    """Return the exception of a task that runs `work`, an async function of its interrupts."""
    box: list[Interrupts] = []

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        box.append(Interrupts(task))
        await work(box[0])  # type: ignore[misc]

    [result] = await asyncio.gather(asyncio.create_task(run()), return_exceptions=True)
    return result


async def test_a_cancel_reaches_a_command_and_not_what_follows() -> None:
    after: list[str] = []

    async def work(interrupts: Interrupts) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(interrupts.request, QueryCanceled("stop"))
        try:
            with interrupts.command():
                await asyncio.sleep(60)
        except QueryCanceled as error:
            after.append(error.message)
        loop.call_soon(interrupts.request, QueryCanceled("too late"))
        await asyncio.sleep(0)
        with interrupts.idle():
            loop.call_soon(interrupts.request, QueryCanceled("not while idle"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    assert await interrupted(work) is None
    assert after == ["stop"]


async def test_a_commit_is_not_left_half_way() -> None:
    done: list[str] = []

    async def work(interrupts: Interrupts) -> None:
        loop = asyncio.get_running_loop()

        async def commit(cause: SqlError) -> None:
            requested = asyncio.Event()

            def request() -> None:
                interrupts.request(cause)
                requested.set()

            loop.call_soon(request)
            await requested.wait()
            await asyncio.sleep(0)
            done.append("committed")

        with interrupts.command():
            await interrupts.run_undisturbed(lambda: commit(QueryCanceled("dropped")))
            await asyncio.sleep(0)
        with interrupts.command():
            await interrupts.run_undisturbed(lambda: commit(AdminShutdown("end")))
        with interrupts.idle():
            raise AssertionError("an ended session goes on")

    error = await interrupted(work)
    assert isinstance(error, AdminShutdown)
    assert done == ["committed", "committed"]


async def test_what_ends_the_session_goes_first_and_stays() -> None:
    async def work(interrupts: Interrupts) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(interrupts.request, QueryCanceled("stop"))
        loop.call_soon(interrupts.request, AdminShutdown("end"))
        loop.call_soon(interrupts.request, ClientGone("gone"))
        try:
            with interrupts.command():
                await asyncio.sleep(60)
        except AdminShutdown:
            await asyncio.sleep(0)
        with interrupts.idle():
            raise AssertionError("an ended session goes on")

    error = await interrupted(work)
    assert isinstance(error, AdminShutdown)


async def test_an_error_of_the_work_itself_gives_way_to_the_interrupt() -> None:
    async def work(interrupts: Interrupts) -> None:
        asyncio.get_running_loop().call_soon(interrupts.request, QueryCanceled("stop"))
        with interrupts.command():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise SqlError("the engine's echo of it") from None

    assert isinstance(await interrupted(work), QueryCanceled)


# -- kept rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, 100, 1 << 20])
async def test_kept_rows_are_read_from_anywhere(memory: int) -> None:
    buffer = RowBuffer(memory)
    for start in range(0, 100, 7):
        rows = range(start, min(start + 7, 100))
        batch = pa.record_batch(
            [pa.array(rows, pa.int64()), pa.array([str(n) if n % 3 else None for n in rows])], names="ab"
        )
        await buffer.append(batch.slice(0))
    assert buffer.rows == 100
    assert (buffer.file_bytes > 0) == (memory < 1 << 20)
    for start in (0, 6, 7, 50, 99):
        forward = await buffer.read(start, 5)
        assert forward.column(0).to_pylist() == list(range(start, start + forward.num_rows))
        backward = await buffer.read_backward(start, 5)
        assert backward.column(0).to_pylist() == list(range(start, start - backward.num_rows, -1))
        assert backward.column(1).to_pylist() == [str(n) if n % 3 else None for n in backward.column(0).to_pylist()]
    buffer.close()
    buffer.close()
    assert buffer.rows == 0


# -- startup ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("", {}),
        ("-c a=1 -cb=2 --c-d=3", {"a": "1", "b": "2", "c_d": "3"}),
        (r"  -c  a=x\ y\\z ", {"a": r"x y\z"}),
        ("-c a=b=c", {"a": "b=c"}),
        ("-c a=", {"a": ""}),
        ("-c a=1 -c a=2", {"a": "2"}),
    ],
)
def test_startup_options(options: str, settings: dict[str, str]) -> None:
    assert read_options(options) == settings


@pytest.mark.parametrize("options", ["-c", "-c a", "--a", "a=1", "-B 5"])
def test_bad_startup_options(options: str) -> None:
    with pytest.raises(FatalError) as raised:
        read_options(options)
    assert raised.value.sqlstate == "42601"


# -- cancel keys -----------------------------------------------------------------------------------------------------


class FakeSession:
    pid = 0
    cancel_key = b""

    def __init__(self) -> None:
        self.causes: list[str] = []
        self.visits = CursorLeases()

    def interrupt(self, cause: SqlError) -> None:
        self.causes.append(cause.sqlstate)

    def activity(self) -> Activity:
        raise AssertionError("nobody asks")

    def statements(self) -> list[StatementRecord]:
        raise AssertionError("nobody asks")

    def hear(self, pid: int, said: Sequence[Said]) -> None:
        raise AssertionError("nobody says anything")

    @property
    def notifications_waiting(self) -> float:
        raise AssertionError("nobody asks")

    def commands_of(self, user: str, database: str) -> Commands | None:
        raise AssertionError(f"{user} of {database} asks for nothing")


async def test_the_registry_cancels_whom_the_key_names() -> None:
    registry = SessionRegistry()
    first, second = FakeSession(), FakeSession()
    for session, protocol in ((first, (3, 0)), (second, (3, 2))):
        registry.assign(session, protocol)
        registry.register(session)
    assert (len(first.cancel_key), len(second.cancel_key)) == (4, 32)
    assert first.pid != second.pid
    assert not registry.cancel_request(first.pid, second.cancel_key)
    assert not registry.cancel_request(first.pid ^ 1, first.cancel_key)
    assert registry.cancel_request(first.pid, first.cancel_key)
    assert registry.terminate(second.pid)
    await asyncio.sleep(0)
    assert (first.causes, second.causes) == (["57014"], ["57P01"])
    registry.forget(first)
    assert not registry.cancel(first.pid)
    assert [session.pid for session in registry] == [second.pid]


# -- rows ------------------------------------------------------------------------------------------------------------


def test_records_are_written_with_their_fields() -> None:
    """The value is that of `select (1, 'a b', (2.50, null))`."""
    inner = SqlType(t.RECORD, fields=(("f1", numeric(3, 2)), ("f2", SqlType(t.TEXT))))
    typ = SqlType(t.RECORD, fields=(("f1", SqlType(t.INT4)), ("f2", SqlType(t.TEXT)), ("f3", inner)))
    record = {"f0": 1, "f1": "a b", "f2": {"f0": Decimal("2.50"), "f1": None}}
    batch = pa.record_batch({"row": pa.array([record], carrier_of(typ))})
    rows = row_encoder([ResultColumn("row", typ)], [0], OutputSettings()).encode(batch)
    assert b'(1,"a b","(2.50,)")' in bytes(rows)


# -- arguments -------------------------------------------------------------------------------------------------------


def test_canonical_values_of_carriers() -> None:
    import datetime

    day = datetime.date(1970, 1, 3)
    assert canonical(pa.array([day, None], pa.date32())) == [2, None]
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    assert canonical(pa.array([moment], pa.timestamp("us", "UTC"))) == [1_000_000]
    assert canonical(pa.array([datetime.time(0, 0, 2)], pa.time64("us"))) == [2_000_000]
    assert canonical(pa.array([[day], None, []], pa.list_(pa.date32()))) == [[2], None, []]
    assert canonical(pa.array([True, None])) == [True, None]

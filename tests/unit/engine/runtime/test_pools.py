"""The operation pool keeps order within a partition; the fragment pool leaves no call behind while a thread is idle."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest
from support.member_process import wait_until

from engine.catalog.store.request_clock import mark_waiting
from engine.common.fragment_pool import ASIDE_MAX, FragmentPool
from engine.runtime.operation_pool import OperationPool

SECONDS = 30.0
#: Submits a call to a pool, anywhere.
Submit = Callable[[Callable[[], object]], Future[object]]


@pytest.fixture
def operations() -> Iterator[OperationPool]:
    pool = OperationPool(3, "test-operation")
    yield pool
    pool.close()


@pytest.fixture
def fragments() -> Iterator[FragmentPool]:
    pool = FragmentPool(3, "test-fragment")
    yield pool
    pool.close()


@pytest.fixture(params=["operations", "fragments"])
def submit(request: pytest.FixtureRequest) -> Submit:
    if request.param == "fragments":
        fragments: FragmentPool = request.getfixturevalue("fragments")
        return fragments.submit
    operations: OperationPool = request.getfixturevalue("operations")
    return lambda call: operations.submit(None, call)


class Gate:
    """A call that holds its thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.left = threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.left.wait(SECONDS)
        return threading.current_thread().name


@contextmanager
def held(submit: Submit, gates: int) -> Iterator[list[Gate]]:
    """Let as many threads as `gates` each hold a call."""
    waiting = [Gate() for _ in range(gates)]
    futures = [submit(gate) for gate in waiting]
    try:
        assert all(gate.entered.wait(SECONDS) for gate in waiting)
        yield waiting
    finally:
        for gate in waiting:
            gate.left.set()
    for future in futures:
        future.result(SECONDS)


def test_a_future_has_what_the_call_returned_or_raised(submit: Submit) -> None:
    assert submit(lambda: 7).result(SECONDS) == 7
    error = submit(lambda: 1 // 0).exception(SECONDS)
    assert isinstance(error, ZeroDivisionError)
    assert submit(lambda: 8).result(SECONDS) == 8


def test_a_call_that_was_cancelled_in_time_does_not_run(submit: Submit) -> None:
    with held(submit, 3):
        ran: list[int] = []
        future = submit(lambda: ran.append(1))
        assert future.cancel()
    submit(lambda: None).result(SECONDS)
    assert not ran


def test_what_an_error_held_is_freed_with_it(submit: Submit) -> None:
    class Batch:
        pass

    def fail() -> None:
        batch = Batch()
        freed.append(weakref.ref(batch))
        raise ValueError(str(batch))

    freed: list[weakref.ref[Batch]] = []
    gc.disable()
    try:
        future = submit(fail)
        assert isinstance(future.exception(SECONDS), ValueError)
        # Any thread: the one that failed has let go once each has done another call.
        with held(submit, 3):
            del future
        assert freed[0]() is None
    finally:
        gc.enable()


def test_a_call_that_nobody_waits_for_is_logged(
    operations: OperationPool, fragments: FragmentPool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("nobody hears this")

    with caplog.at_level(logging.ERROR):
        operations.post(0, fail)
        fragments.post(fail)
        operations.close()
        fragments.close()
    assert len([record for record in caplog.records if record.exc_info]) == 2


def test_statistics_count_what_waits_and_what_runs(operations: OperationPool, fragments: FragmentPool) -> None:
    with held(lambda call: operations.submit(None, call), 3), held(fragments.submit, 3):
        late = [operations.submit(0, lambda: None), fragments.submit(lambda: None)]
        assert operations.statistics() == fragments.statistics() == {"queued": 1, "running": 3}
    for future in late:
        future.result(SECONDS)


def test_close_runs_what_was_submitted_and_ends_the_threads() -> None:
    done: list[int] = []
    operations, fragments = OperationPool(2, "ending"), FragmentPool(2, "ending")
    for number in range(100):
        operations.submit(number, lambda: done.append(1))
        fragments.submit(lambda: done.append(1))
    for pool in (operations, fragments):
        pool.close()
        pool.close()
    assert len(done) == 200
    assert not any(thread.name.startswith("ending") for thread in threading.enumerate())
    with pytest.raises(RuntimeError, match="operation pool is closed"):
        operations.submit(0, lambda: None)
    with pytest.raises(RuntimeError, match="fragment pool is closed"):
        fragments.submit(lambda: None)


def test_calls_of_a_partition_run_in_order_on_one_thread(operations: OperationPool) -> None:
    seen: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)

    def note(partition: int, number: int) -> None:
        seen[partition].append((number, threading.current_thread().name))

    def submit_all(partition: int) -> None:
        for number in range(500):
            operations.post(partition, lambda number=number: note(partition, number))  # type: ignore[misc]

    submitters = [threading.Thread(target=submit_all, args=(partition,)) for partition in range(5)]
    for submitter in submitters:
        submitter.start()
    for submitter in submitters:
        submitter.join()
    operations.close()
    for partition in range(5):
        assert seen[partition] == [(number, f"test-operation-{partition % 3}") for number in range(500)]


def test_a_call_without_a_partition_does_not_wait_behind_a_long_one(operations: OperationPool) -> None:
    with held(lambda call: operations.submit(None, call), 2):
        for _ in range(10):
            operations.submit(None, lambda: None).result(SECONDS)


def test_a_call_behind_a_long_one_is_stolen(fragments: FragmentPool) -> None:
    """A step submits others to its own deque and goes on for long: the idle threads take them, the oldest first."""
    order: list[int] = []
    gate = Gate()

    def long_step() -> None:
        for number in range(20):
            fragments.post(lambda number=number: order.append(number))  # type: ignore[misc]
        gate()

    with held(fragments.submit, 1):
        running = fragments.submit(long_step)
        assert gate.entered.wait(SECONDS)
        fragments.submit(lambda: None).result(SECONDS)
        while len(order) < 20:
            fragments.submit(lambda: None).result(SECONDS)
        gate.left.set()
        running.result(SECONDS)
    assert order == sorted(order)


def test_a_step_that_goes_on_and_on_starves_nobody(fragments: FragmentPool) -> None:
    """Every thread is kept by a fragment that submits its next step from its last; a call from outside has its turn."""
    going = True
    ended = threading.Semaphore(0)

    def step() -> None:
        if going:
            fragments.post(step)
        else:
            ended.release()

    for _ in range(6):
        fragments.post(step)
    for _ in range(50):
        fragments.submit(lambda: None).result(SECONDS)
    going = False
    for _ in range(6):
        assert ended.acquire(timeout=SECONDS)


def test_no_wake_up_is_lost(fragments: FragmentPool) -> None:
    """Submitted singly and in bursts from several threads, so that threads fall asleep and wake all the time."""

    def submit_all() -> None:
        for burst in range(300):
            for future in [fragments.submit(lambda: None) for _ in range(burst % 5)]:
                future.result(SECONDS)

    submitters = [threading.Thread(target=submit_all) for _ in range(4)]
    for submitter in submitters:
        submitter.start()
    for submitter in submitters:
        submitter.join()
    fragments.close()
    assert fragments.statistics() == {"queued": 0, "running": 0}


async def test_the_loop_takes_the_fragment_pool_as_an_executor(fragments: FragmentPool) -> None:
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(fragments, max, 3, 5) == 5
    with pytest.raises(ZeroDivisionError):
        await loop.run_in_executor(fragments, lambda: 1 // 0)
    with FragmentPool(1) as pool:
        assert pool.submit(max, 3, 5).result(SECONDS) == 5


def test_a_call_with_none_before_it_runs_at_once_and_others_wait_for_it(operations: OperationPool) -> None:
    order: list[tuple[str, str]] = []

    def note(what: str) -> None:
        order.append((what, threading.current_thread().name))

    def first() -> None:
        behind.append(operations.submit(0, lambda: note("second")))
        operations.run_or_post(0, lambda: note("third"))
        note("first")

    behind: list[Future[None]] = []
    operations.run_or_post(0, first)
    behind[0].result(SECONDS)
    operations.close()
    here = threading.current_thread().name
    assert order == [("first", here), ("second", "test-operation-0"), ("third", "test-operation-0")]
    with pytest.raises(RuntimeError, match="operation pool is closed"):
        operations.run_or_post(0, lambda: None)


def test_calls_of_a_partition_never_overlap_wherever_they_run(operations: OperationPool) -> None:
    seen: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    turns = [threading.Lock() for _ in range(3)]

    def note(partition: int, submitter: str, number: int) -> None:
        assert turns[partition].acquire(blocking=False), "two calls of a partition overlap"
        seen[partition, submitter].append(number)
        turns[partition].release()

    def submit_all(submitter: str) -> None:
        for number in range(1500):
            submit = operations.post if number % 7 == 0 else operations.run_or_post
            submit(number % 3, functools.partial(note, number % 3, submitter, number))

    submitters = [threading.Thread(target=submit_all, args=(name,)) for name in "abcd"]
    for submitter in submitters:
        submitter.start()
    for submitter in submitters:
        submitter.join()
    operations.close()
    for partition in range(3):
        for name in "abcd":
            assert seen[partition, name] == list(range(partition, 1500, 3))


def test_a_call_that_waits_for_another_process_leaves_its_thread_to_others() -> None:
    pool, released, waits = OperationPool(2), threading.Event(), threading.Semaphore(0)

    def wait() -> str:
        with mark_waiting():
            waits.release()
            assert released.wait(60)
        return threading.current_thread().name

    try:
        waiters = [pool.submit(None, wait) for _ in range(8)]
        for _ in waiters:
            assert waits.acquire(timeout=60)
        assert pool.aside == 8
        assert [pool.submit(None, functools.partial(int, number)).result(60) for number in range(4)] == [0, 1, 2, 3]
        released.set()
        assert len([waiter.result(60) for waiter in waiters]) == 8
    finally:
        released.set()
        pool.close()
    assert not any(thread.name.startswith("sluice-operation") for thread in threading.enumerate())


def test_calls_with_a_partition_keep_their_order_even_if_they_wait() -> None:
    pool, order = OperationPool(1), list[int]()

    def call(number: int) -> None:
        with mark_waiting():
            order.append(number)

    try:
        for number in range(20):
            pool.post(0, functools.partial(call, number))
    finally:
        pool.close()
    assert order == list(range(20))


def test_another_thread_is_in_the_place_of_one_that_is_set_aside(fragments: FragmentPool) -> None:
    gates = [Gate() for _ in range(ASIDE_MAX + 3)]
    calls, threads = list[Future[str]](), list[int]()

    def held(gate: Gate) -> str:
        threads.append(threading.get_ident())
        return gate()

    for number, gate in enumerate(gates):
        calls.append(fragments.submit(held, gate))
        assert gate.entered.wait(SECONDS)
        assert fragments.set_aside(threads[-1]) == (number < ASIDE_MAX)
    assert fragments.aside == ASIDE_MAX
    behind = fragments.submit(lambda: "taken over")
    assert not behind.done()
    assert fragments.set_aside(threads[-1], forced=True)
    assert behind.result(SECONDS) == "taken over"
    for gate in gates:
        gate.left.set()
    for call in calls:
        call.result(SECONDS)
    wait_until(lambda: not fragments.aside)
    assert not fragments.set_aside(threads[-1], forced=True)

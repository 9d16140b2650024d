"""The invariants of credit arithmetic, and of the two state machines of a data connection, under random interleavings."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from wire.mesh.backlog import Backlog
from wire.mesh.channel import BatchArrived, DataReceiver, DataSender, State
from wire.mesh.credits import CreditError, ReceiveCredits, SendCredits
from wire.mesh.messages import VERSION, Cancel, Open

OPENING = Open(VERSION, "channel", b"token", 1, 2, 3, 4, b"schema")
LASTING = Open(VERSION, "channel", b"token", 1, 2, 3, 4, b"schema", 0)


class Credits(RuleBasedStateMachine):
    """Both accounts with a slow network between them: batches and grants arrive late, in their own order."""

    @initialize(window=some.integers(1, 50))
    def open(self, window: int) -> None:
        self.receiver = ReceiveCredits(window)
        self.sender = SendCredits(window)
        self.batches: deque[int] = deque()
        self.grants: deque[int] = deque()
        self.held: deque[int] = deque()
        self.pending: int | None = None
        self.announcing: int | None = None

    @precondition(lambda self: self.pending is None)
    @rule(size=some.integers(0, 200))
    def offer(self, size: int) -> None:
        self.pending = size
        if not self.sender.covers(size) and size > self.receiver.window:
            self.announcing = size
        self.send()

    @precondition(lambda self: self.pending is not None)
    @rule()
    def send(self) -> None:
        if self.pending is not None and self.sender.covers(self.pending):
            self.sender.spend(self.pending)
            self.batches.append(self.pending)
            self.pending = None

    @precondition(lambda self: self.batches)
    @rule()
    def batch_arrives(self) -> None:
        size = self.batches.popleft()
        self.receiver.receive(size)
        self.held.append(size)

    @precondition(lambda self: self.announcing is not None and not self.batches)
    @rule()
    def announcement_arrives(self) -> None:
        assert self.announcing is not None
        self.receiver.announce_oversize(self.announcing)
        self.announcing = None
        self.announce()

    @precondition(lambda self: self.held)
    @rule()
    def consume(self) -> None:
        self.receiver.release(self.held.popleft())
        self.announce()

    @precondition(lambda self: self.grants)
    @rule()
    def grant_arrives(self) -> None:
        self.sender.grant(self.grants.popleft())

    def announce(self) -> None:
        granted = self.receiver.due()
        if granted is not None:
            self.grants.append(granted)

    @invariant()
    def never_more_in_flight_than_granted(self) -> None:
        assert self.receiver.released <= self.receiver.received <= self.sender.sent <= self.sender.granted
        assert self.sender.granted <= self.receiver.announced <= self.receiver.granted

    @invariant()
    def at_most_a_window_or_one_larger_batch_is_held(self) -> None:
        in_flight = list(self.held) + list(self.batches)
        assert sum(in_flight) <= self.receiver.window or len([size for size in in_flight if size]) == 1

    def teardown(self) -> None:
        """Whatever happened, a consumer that goes on consuming gets everything: no deadlock."""
        for _ in range(4 * (len(self.batches) + len(self.held) + 4)):
            for step in (self.batch_arrives, self.announcement_arrives, self.consume, self.grant_arrives, self.send):
                if self._possible(step.__name__):
                    step()
        assert self.pending is None
        assert not self.held

    def _possible(self, step: str) -> bool:
        return {
            "batch_arrives": bool(self.batches),
            "announcement_arrives": self.announcing is not None and not self.batches,
            "consume": bool(self.held),
            "grant_arrives": bool(self.grants),
            "send": self.pending is not None,
        }[step]


TestCredits = Credits.TestCase
TestCredits.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)


def opened(window: int) -> tuple[DataSender, DataReceiver]:
    sender, receiver = DataSender(OPENING), DataReceiver()
    [event] = receiver.receive_data(sender.opening_bytes())
    assert event == OPENING
    sender.receive_data(receiver.accept(window))
    return sender, receiver


@settings(deadline=None)
@given(
    sizes=some.lists(some.integers(1, 300), max_size=30),
    window=some.integers(1, 200),
    choices=some.randoms(use_true_random=False),
)
def test_every_batch_arrives_once_and_in_order(sizes: list[int], window: int, choices: object) -> None:
    sender, receiver = opened(window)
    batches = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    to_offer, held, arrived = deque(batches), deque[BatchArrived](), []
    up, down = bytearray(), bytearray()
    done = False

    def write(chunks: tuple[bytes | memoryview, ...]) -> None:
        for chunk in chunks:
            up.extend(chunk)

    for _ in range(100_000):
        moves = []
        if not sender.has_pending and not done:
            moves.append("offer")
        if up:
            moves.append("up")
        if down:
            moves.append("down")
        if held:
            moves.append("consume")
        if not moves:
            break
        match choices.choice(moves):  # type: ignore[attr-defined]
            case "offer" if to_offer:
                write(sender.offer(to_offer.popleft(), 1))
            case "offer":
                write(sender.offer(b"", 0, last=True))
                done = True
            case "up":
                count = choices.randint(1, len(up))  # type: ignore[attr-defined]
                data, up[:count] = bytes(up[:count]), b""
                for event in receiver.receive_data(data):
                    assert isinstance(event, BatchArrived)
                    held.append(event)
                down += receiver.answers()
            case "down":
                count = choices.randint(1, len(down))  # type: ignore[attr-defined]
                data, down[:count] = bytes(down[:count]), b""
                sender.receive_data(data)
                write(sender.send_pending())
            case "consume":
                batch = held.popleft()
                arrived.append(bytes(batch.body))
                down += receiver.release(batch.cost)
        assert receiver.credits is not None
        assert sender.credits.sent <= receiver.credits.granted
    assert arrived == [*batches, b""]
    assert sender.state is receiver.state is State.DONE


@settings(deadline=None)
@given(
    sizes=some.lists(some.integers(1, 300), max_size=20),
    window=some.integers(1, 200),
    cuts=some.integers(0, 10),
    choices=some.randoms(use_true_random=False),
)
def test_every_batch_arrives_once_over_connections_that_are_cut(
    sizes: list[int], window: int, cuts: int, choices: Any
) -> None:
    """At any byte, in either direction. Neither end holds more than a window, or one batch larger than it."""
    batches = [*(bytes([number]) * size for number, size in enumerate(sizes)), b""]
    backlog, to_offer = Backlog(keeps=True), deque(batches)
    held, arrived = deque[BatchArrived](), list[bytes]()
    sender, receiver = DataSender(LASTING, backlog), DataReceiver()
    up, down = bytearray(sender.opening_bytes()), bytearray()
    ended = False

    def some_of(data: bytearray) -> bytes:
        count = choices.randint(1, len(data))
        taken, data[:count] = bytes(data[:count]), b""
        return taken

    while not sender.is_confirmed:
        moves = [move for move, possible in (
            ("offer", sender.state is State.OPEN and not sender.has_pending),
            ("up", up), ("down", down), ("consume", held), ("cut", cuts),
            ("cut", ended and not down),
        ) if possible]  # fmt: skip
        match choices.choice(moves):
            case "offer":
                body = to_offer.popleft()
                up += b"".join(sender.offer(body, len(body) and 1, last=not body))
            case "up":
                for event in receiver.receive_data(some_of(up)):
                    if isinstance(event, Open):
                        down += receiver.accept(window, batches=len(arrived), held=sum(b.cost for b in held))
                    elif isinstance(event, BatchArrived):
                        held.append(event)
                        arrived.append(bytes(event.body))
                        ended = ended or event.last
                down += receiver.answers() + receiver.confirmation()
            case "down":
                sender.receive_data(some_of(down))
                up += b"".join(sender.send_pending())
            case "consume":
                cost = held.popleft().cost
                if receiver.credits is not None and receiver.credits.held >= cost:
                    down += receiver.release(cost)
            case "cut" if ended:
                # Its receiver denies another connection: the stream is complete.
                break
            case "cut":
                cuts -= 1
                sender, receiver = DataSender(LASTING, backlog), DataReceiver()
                up, down = bytearray(sender.opening_bytes()), bytearray()
        kept = [len(batch.body) for batch in list(backlog._batches)[: backlog.sent - backlog.first]]
        assert sum(kept) <= window or len([size for size in kept if size]) == 1
        sizes_held = [batch.cost for batch in held if batch.cost]
        assert sum(sizes_held) <= window or len(sizes_held) == 1
    assert arrived == batches


@settings(deadline=None)
@given(some.integers(1, 100), some.integers(1, 100), some.lists(some.integers(1, 60), max_size=8))
def test_a_stream_stopped_anywhere_is_over_at_both_ends(window: int, cut: int, sizes: list[int]) -> None:
    sender, receiver = opened(window)
    sent = b""
    for size in sizes:
        if not sender.has_pending:
            sent += b"".join(sender.offer(b"x" * size, 1))
    list(receiver.receive_data(sent[:cut]))
    [event] = sender.receive_data(receiver.cancel("57014", "enough"))
    assert event == Cancel("57014", "enough")
    assert sender.state is receiver.state is State.CLOSED
    assert list(receiver.receive_data(sent[cut:])) == []
    assert sender.cancel("XX000", "late") == receiver.cancel("57014", "again") == b""


def test_what_was_not_granted_is_refused() -> None:
    account = ReceiveCredits(10)
    with pytest.raises(CreditError):
        account.receive(11)
    account.receive(10)
    with pytest.raises(CreditError):
        account.receive(1)


def test_a_grant_does_not_go_back() -> None:
    account = SendCredits(10)
    account.grant(12)
    with pytest.raises(CreditError):
        account.grant(11)

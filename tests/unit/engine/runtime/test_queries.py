"""The races of the network-protocol seed (3.3 to 3.5), one by one: which members are notified, and which messages are
dropped.
"""

from __future__ import annotations

from collections import deque

import pytest

from engine.runtime.queries import MemberQueries
from engine.runtime.query_state import Cause, DropEarly, Fail, Forget, Instruction, Limits, Refused, Run, Send, Stop
from wire.mesh.control_messages import Cancel, Check, CheckResponse, Counted, Start

LIMITS = Limits(suspect_seconds=10, echo_seconds=1, early_seconds=30, early_queries=2, over_seconds=60, over_queries=3)
DIVISION = Cause("22012", "division by zero")
USER = Cause("57014", "canceling statement due to user request")
START = Start("a:1", ("a", "b", "c"))


def cancelled(cause: Cause, member: str, query: str = "a:1") -> Cancel:
    return Cancel(query, member, cause.sqlstate, cause.message, cause.detail, cause.hint)


def participant() -> MemberQueries:
    return MemberQueries("b", LIMITS)


def running() -> MemberQueries:
    queries = participant()
    assert queries.on_message("a", START, b"plan", 0) == [Run("a:1", START, b"plan", "a")]
    assert queries.fragments_started("a:1", (1,), 0) == []
    return queries


def initiator() -> MemberQueries:
    queries = MemberQueries("a", LIMITS)
    assert queries.begin("a:1", ("a", "b", "c"), 0) == []
    assert queries.fragments_started("a:1", (1,), 0) == []
    return queries


def nothing_left(queries: MemberQueries) -> bool:
    return not queries.active() and not any(n for state, n in queries.statistics().items() if state != "over")


def test_a_query_from_start_to_end_on_a_participant() -> None:
    queries = running()
    assert queries.active() == ("a:1",)
    assert queries.channel("a:1", 1) == "running"
    assert queries.fragment_ended("a:1", 1, None, 2) == [Forget("a:1")]
    assert nothing_left(queries)


def test_a_query_from_begin_to_finish_on_its_initiator() -> None:
    queries = initiator()
    assert queries.fragment_ended("a:1", 1, None, 1) == []
    assert queries.finish("a:1", 2) == [Forget("a:1")]
    assert nothing_left(queries)


def test_a_channel_before_the_start_is_kept_for_it() -> None:
    queries = participant()
    assert queries.channel("a:1", 0) == "early"
    assert queries.channel("a:1", 0) == "early"
    assert queries.active() == ()
    assert queries.on_message("a", START, b"", 1) == [Run("a:1", START, b"", "a")]
    assert queries.channel("a:1", 2) == "running"


def test_early_queries_are_bounded() -> None:
    queries = participant()
    assert [queries.channel(f"a:{number}", 0) for number in range(1, 4)] == ["early", "early", "unknown"]
    queries.on_message("a", START, b"", 1)
    assert queries.channel("a:3", 2) == "early"


def test_a_channel_of_a_query_that_is_over_is_refused() -> None:
    queries = running()
    queries.on_message("a", cancelled(USER, "a"), b"", 1)
    assert queries.channel("a:1", 1) == "over"
    queries.fragment_ended("a:1", 1, None, 2)
    assert queries.channel("a:1", 2) == "over"


def test_a_channel_of_an_own_query_that_is_not_known_is_over_and_so_is_nonsense() -> None:
    queries = initiator()
    assert queries.channel("a:99", 0) == "over"
    assert queries.channel("nonsense", 0) == "over"


def test_a_cancel_before_its_start_leaves_a_marker() -> None:
    queries = participant()
    assert queries.on_message("a", cancelled(USER, "a"), b"", 0) == []
    assert queries.on_message("a", START, b"", 1) == []
    assert queries.channel("a:1", 1) == "over"
    assert nothing_left(queries)


def test_a_cancel_drops_what_was_early() -> None:
    queries = participant()
    queries.channel("a:1", 0)
    assert queries.on_message("a", cancelled(USER, "a"), b"", 0) == [DropEarly("a:1")]
    assert queries.on_message("a", START, b"", 1) == []
    assert nothing_left(queries)


def test_a_cancel_while_the_fragments_are_set_up_stops_them_twice() -> None:
    queries = participant()
    queries.on_message("a", START, b"", 0)
    cause = Cause.of_message(cancelled(USER, "a"))
    assert queries.on_message("a", cancelled(USER, "a"), b"", 1) == [Stop("a:1", cause)]
    assert queries.fragments_started("a:1", (1,), 2) == [Stop("a:1", cause)]
    assert queries.fragment_ended("a:1", 1, None, 3) == [Forget("a:1")]


def test_a_second_cancel_says_nothing() -> None:
    queries = running()
    assert queries.cancel("a:1", DIVISION, 1) == [Send("a", cancelled(DIVISION, "b")), Stop("a:1", DIVISION)]
    assert queries.cancel("a:1", USER, 2) == []
    assert queries.on_message("a", cancelled(DIVISION, "b"), b"", 3) == []
    queries.fragment_ended("a:1", 1, USER, 4)
    assert queries.cancel("a:1", USER, 5) == []
    assert queries.on_message("a", cancelled(DIVISION, "b"), b"", 6) == []


def test_the_initiator_passes_a_cancel_on_but_not_back() -> None:
    queries = initiator()
    asked = cancelled(DIVISION, "b")
    cause = Cause.of_message(asked)
    assert queries.on_message("b", asked, b"", 1) == [Fail("a:1", cause), Send("c", asked), Stop("a:1", cause)]
    assert queries.on_message("c", cancelled(USER, "c"), b"", 2) == []


def test_no_participant_ends_a_query_well() -> None:
    queries = initiator()
    fail = queries.on_message("b", Cancel("a:1", "b", "00000", "enough"), b"", 1)[0]
    assert isinstance(fail, Fail)
    assert fail.cause.sqlstate == "08P01"
    with pytest.raises(AssertionError, match="only the initiator"):
        running().cancel("a:1", Cause("00000", "enough"), 1)


def test_a_lost_initiator_needs_no_message() -> None:
    queries = running()
    queries.channel("a:2", 0)
    instructions = queries.on_member_lost("a", 1)
    assert not any(isinstance(instruction, Send) for instruction in instructions)
    assert [type(instruction) for instruction in instructions] == [Stop, DropEarly]
    assert queries.fragment_ended("a:1", 1, None, 2) == [Forget("a:1")]
    assert nothing_left(queries)


def test_a_lost_participant_fails_the_query_and_is_named() -> None:
    queries = initiator()
    fail, told, stop = queries.on_member_lost("c", 1)
    assert isinstance(fail, Fail)
    assert (fail.cause.sqlstate, fail.cause.hint) == ("40001", "The statement may be repeated.")
    assert fail.cause.message == "could not complete the query: member c was lost"
    assert told == Send("b", cancelled(fail.cause, "c"))
    assert stop == Stop("a:1", fail.cause)


def test_the_loss_of_others_means_nothing() -> None:
    assert initiator().on_member_lost("d", 1) == []
    assert running().on_member_lost("c", 1) == []


def test_a_member_lost_after_the_last_row_means_nothing() -> None:
    queries = initiator()
    queries.finish("a:1", 1)
    assert queries.on_member_lost("b", 2) == []
    assert queries.fragment_ended("a:1", 1, None, 3) == [Forget("a:1")]


def test_the_cause_overtaken_by_its_echo_is_the_one_that_is_told() -> None:
    queries = initiator()
    assert queries.cancel("a:1", Cause("08006", "the stream from b broke", echo=True), 1) == []
    assert queries.tick(1.5) == []
    fail = queries.on_message("b", cancelled(DIVISION, "b"), b"", 1.6)[0]
    assert fail == Fail("a:1", Cause.of_message(cancelled(DIVISION, "b")))
    assert queries.tick(100) == []


def test_one_check_asks_an_initiator_about_all_suspects() -> None:
    queries = running()
    other = Start("a:2", ("a", "b"))
    queries.on_message("a", other, b"", 0)
    queries.fragments_started("a:2", (1,), 0)
    queries.channel("d:1", 0)
    assert queries.tick(5) == []
    assert queries.tick(10) == [Send("a", Check(("a:1", "a:2"))), Send("d", Check(("d:1",)))]
    assert queries.tick(11) == []


def test_a_check_asks_about_no_more_than_a_frame_holds() -> None:
    queries = MemberQueries("b", Limits(suspect_seconds=10, check_queries=2))
    for number in range(3):
        queries.on_message("a", Start(f"a:{number}", ("a", "b")), b"", 0)
    assert queries.tick(10) == [Send("a", Check(("a:0", "a:1")))]
    assert queries.tick(10.5) == [Send("a", Check(("a:2",)))]


def test_an_initiator_names_what_is_over_and_what_the_asker_has_no_part_in() -> None:
    queries = initiator()
    assert queries.on_message("b", Check(("a:1",)), b"", 1) == []
    assert queries.on_message("b", Check(("a:1", "a:7")), b"", 1) == [Send("b", CheckResponse(("a:7",)))]
    assert queries.on_message("d", Check(("a:1",)), b"", 1) == [Send("d", CheckResponse(("a:1",)))]


def test_a_check_that_meets_the_finish_stops_what_is_left() -> None:
    queries = initiator()
    queries.finish("a:1", 1)
    assert queries.on_message("b", Check(("a:1",)), b"", 2) == [Send("b", CheckResponse(("a:1",)))]
    behind = running()
    (stop,) = behind.on_message("a", CheckResponse(("a:1",)), b"", 3)
    assert isinstance(stop, Stop)
    assert not stop.cause.is_failure
    assert behind.fragment_ended("a:1", 1, None, 4) == [Forget("a:1")]
    assert behind.on_message("a", CheckResponse(("a:1",)), b"", 5) == []


def test_a_stale_batch_opens_a_channel_that_the_check_takes_back() -> None:
    """The channel of a query that is over and was forgotten cannot be told from an early one, until one has asked."""
    queries = participant()
    assert queries.channel("a:1", 0) == "early"
    assert queries.tick(10) == [Send("a", Check(("a:1",)))]
    assert queries.on_message("a", CheckResponse(("a:1",)), b"", 11) == [DropEarly("a:1")]
    assert queries.channel("a:1", 12) == "over"


def test_an_early_query_of_a_silent_initiator_is_dropped() -> None:
    queries = participant()
    queries.channel("a:1", 0)
    told, dropped = queries.tick(30)
    assert isinstance(told, Send)
    assert dropped == DropEarly("a:1")
    assert queries.on_message("a", START, b"", 31) == []


def test_what_is_over_is_remembered_within_bounds() -> None:
    queries = participant()
    for number in range(5):
        queries.on_message("a", cancelled(USER, "a", f"a:{number}"), b"", number)
    assert queries.statistics()["over"] == 3
    assert queries.channel("a:4", 5) == "over"
    queries.tick(64)
    assert queries.statistics()["over"] == 0


def test_what_strangers_say_is_refused_and_changes_nothing() -> None:
    queries = running()
    said = [
        queries.on_message("c", Start("a:2", ("a", "b")), b"", 1),
        queries.on_message("a", Start("a:2", ("c", "a", "b")), b"", 1),
        queries.on_message("a", Start("a:2", ("a", "c")), b"", 1),
        queries.on_message("a", Start("a:2", ()), b"", 1),
        queries.on_message("a", START, b"", 1),
        queries.on_message("c", cancelled(USER, "c"), b"", 1),
        queries.on_message("c", cancelled(USER, "c", "nonsense"), b"", 1),
        queries.on_message("c", Check(("a:1",)), b"", 1),
        queries.on_message("c", CheckResponse(("a:1",)), b"", 1),
        initiator().on_message("d", cancelled(USER, "d"), b"", 1),
    ]
    assert all([type(instruction) for instruction in instructions] == [Refused] for instructions in said)
    assert queries.active() == ("a:1",)


def test_other_messages_are_not_for_here() -> None:
    with pytest.raises(AssertionError, match="Counted"):
        running().on_message("a", Counted("a:1", ()), b"", 1)


@pytest.mark.parametrize("count", [3, 10, 100])
def test_all_cancel_at_once_with_2n_messages_at_most(count: int) -> None:
    names = tuple(f"m{number}" for number in range(count))
    members = {name: MemberQueries(name) for name in names}
    message = Start("m0:1", names)
    members["m0"].begin("m0:1", names, 0)
    for name in names[1:]:
        members[name].on_message("m0", message, b"", 0)
    for name in names:
        members[name].fragments_started("m0:1", (1,), 0)
    sent: deque[tuple[str, Send]] = deque()

    def perform(name: str, instructions: list[Instruction]) -> int:
        sends = [instruction for instruction in instructions if isinstance(instruction, Send)]
        sent.extend((name, send) for send in sends)
        return len(sends)

    messages = sum(perform(name, members[name].cancel("m0:1", DIVISION, 1)) for name in reversed(names))
    while sent:
        sender, send = sent.popleft()
        messages += perform(send.member, members[send.member].on_message(sender, send.message, b"", 2))
    assert messages <= 2 * count
    for name in names:
        assert members[name].fragment_ended("m0:1", 1, None, 3) == [Forget("m0:1")]

"""The state machine of one query on one member: its transitions, its ends, and what an echo is."""

from __future__ import annotations

from typing import get_args

import pytest

from engine.runtime.query_state import (
    TRANSITIONS,
    Cause,
    DropEarly,
    Event,
    Fail,
    Forget,
    Instruction,
    Limits,
    Query,
    Send,
    State,
    Stop,
)
from wire.errors import About, DivisionByZero, UniqueViolation
from wire.mesh import control_messages
from wire.mesh.control_messages import Cancel

LIMITS = Limits(suspect_seconds=10, echo_seconds=1, early_seconds=30)
DIVISION = Cause("22012", "division by zero")
ENOUGH = Cause("00000", "enough rows")
BROKEN = Cause("08006", "connection to member c was lost", echo=True)


def participant(*fragments: int) -> Query:
    query = Query("a:1", "a", "b", 0)
    query.start(("a", "b", "c"))
    if fragments:
        query.fragments_started(fragments)
    return query


def initiator(*fragments: int) -> Query:
    query = Query("a:1", "a", "a", 0)
    query.start(("a", "b", "c"))
    query.fragments_started(fragments)
    return query


def cancel(cause: Cause, member: str) -> Cancel:
    return Cancel("a:1", member, cause.sqlstate, cause.message, cause.detail, cause.hint)


def test_the_table_has_every_state_and_ends_in_over() -> None:
    assert set(TRANSITIONS) == set(get_args(State))
    assert {event for row in TRANSITIONS.values() for event in row} == set(get_args(Event))
    assert not TRANSITIONS["over"]
    for state in get_args(State):
        reached, frontier = {state}, [state]
        while frontier:
            frontier = [after for at in frontier for after in TRANSITIONS[at].values() if after not in reached]
            reached.update(frontier)
        assert "over" in reached, f"no way leads out of {state}"


def test_a_participant_forgets_without_a_word_when_its_fragments_have_ended() -> None:
    query = participant(1, 2)
    assert query.fragment_ended(1, None, 5) == []
    assert query.fragment_ended(2, None, 6) == [Forget("a:1")]
    assert query.state == "over"


def test_a_failed_fragment_stops_the_others_and_tells_the_initiator_alone() -> None:
    query = participant(1, 2)
    assert query.fragment_ended(1, DIVISION, 5) == [Send("a", cancel(DIVISION, "b")), Stop("a:1", DIVISION)]
    assert query.fragment_ended(2, Cause("57014", "stopped"), 6) == [Forget("a:1")]


def test_the_last_fragment_that_fails_leaves_nothing_to_wait_for() -> None:
    stopped: list[Instruction] = [Send("a", cancel(DIVISION, "b")), Stop("a:1", DIVISION), Forget("a:1")]
    assert participant(1).fragment_ended(1, DIVISION, 5) == stopped


def test_the_initiator_fails_the_portal_first_and_tells_all_but_who_knows() -> None:
    query = initiator(1)
    stopped = query.stop(DIVISION, "b", 5)
    assert stopped == [Fail("a:1", DIVISION), Send("c", cancel(DIVISION, "a")), Stop("a:1", DIVISION)]
    assert query.stop(Cause("57014", "user"), "a", 6) == []
    assert query.fragment_ended(1, None, 7) == [Forget("a:1")]


def test_enough_rows_is_no_error_of_the_portal() -> None:
    stopped = initiator(1).stop(ENOUGH, "a", 5)
    assert stopped == [Send("b", cancel(ENOUGH, "a")), Send("c", cancel(ENOUGH, "a")), Stop("a:1", ENOUGH)]


def test_the_initiators_query_waits_for_its_portal_and_for_its_own_fragments() -> None:
    query = initiator(1)
    assert query.fragment_ended(1, None, 5) == []
    assert query.finish() == [Forget("a:1")]
    query = initiator(1)
    assert query.finish() == []
    assert query.state == "finishing"
    assert query.fragment_ended(1, None, 5) == [Forget("a:1")]


def test_what_was_finished_cannot_fail_any_more() -> None:
    query = initiator(1, 2)
    query.finish()
    assert query.fragment_ended(1, DIVISION, 5) == [Stop("a:1", DIVISION)]
    assert query.fragment_ended(2, None, 5) == [Forget("a:1")]


def test_a_stop_during_setting_up_is_repeated_to_what_was_set_up() -> None:
    query = participant()
    assert query.stop(DIVISION, "a", 5) == [Stop("a:1", DIVISION)]
    assert query.fragments_started((1,)) == [Stop("a:1", DIVISION)]
    assert query.fragment_ended(1, None, 6) == [Forget("a:1")]


def test_a_setting_up_that_failed_leaves_nothing_whichever_is_said_first() -> None:
    told: list[Instruction] = [Send("a", cancel(DIVISION, "b")), Stop("a:1", DIVISION)]
    query = participant()
    assert query.stop(DIVISION, "b", 5) == told
    assert query.fragments_started(()) == [Forget("a:1")]
    query = participant()
    assert query.fragments_started(()) == []
    assert query.stop(DIVISION, "b", 5) == [*told, Forget("a:1")]


def test_an_early_query_that_is_stopped_has_nothing_to_stop() -> None:
    query = Query("a:1", "a", "b", 0)
    assert query.stop(DIVISION, "a", 5) == [DropEarly("a:1")]


def test_an_echo_waits_for_the_cause() -> None:
    query = initiator(1)
    assert query.stop(BROKEN, "a", 5) == []
    assert query.expire(LIMITS, 5.5) == []
    assert query.stop(DIVISION, "b", 5.6)[0] == Fail("a:1", DIVISION)
    assert query.expire(LIMITS, 100) == []


def test_an_echo_that_nobody_explains_is_the_cause() -> None:
    query = participant(1)
    assert query.fragment_ended(1, BROKEN, 5) == []
    assert query.state == "running"
    told = Cause("08006", "connection to member c was lost")
    assert query.expire(LIMITS, 6) == [Send("a", cancel(told, "b")), Stop("a:1", told), Forget("a:1")]


def test_the_first_echo_counts() -> None:
    query = initiator(1)
    query.stop(BROKEN, "a", 5)
    query.stop(Cause("08006", "another", echo=True), "a", 5.5)
    assert query.expire(LIMITS, 6)[0] == Fail("a:1", Cause("08006", "connection to member c was lost"))


def test_finishing_explains_an_echo() -> None:
    query = initiator(1)
    query.stop(BROKEN, "a", 5)
    query.finish()
    assert query.expire(LIMITS, 100) == []


def test_suspicion_comes_with_age_and_at_once_with_an_echo() -> None:
    query = participant(1)
    assert not query.asks(LIMITS, 9)
    assert query.asks(LIMITS, 10)
    assert not query.asks(LIMITS, 11)
    query.stop(BROKEN, "b", 12)
    assert query.asks(LIMITS, 12.5)
    assert not query.asks(LIMITS, 13)
    assert not initiator(1).asks(LIMITS, 1000)


def test_a_start_that_never_comes_is_not_waited_for() -> None:
    query = Query("a:1", "a", "b", 0)
    assert query.expire(LIMITS, 29) == []
    told, dropped = query.expire(LIMITS, 30)
    assert isinstance(told, Send)
    assert isinstance(told.message, Cancel)
    assert (told.member, told.message.sqlstate) == ("a", "40001")
    assert dropped == DropEarly("a:1")


def test_a_cause_keeps_an_error_whole() -> None:
    error = DivisionByZero("division by zero", hint="Use NULLIF.")
    cause = Cause.of_error(error)
    assert cause == Cause("22012", "division by zero", hint="Use NULLIF.")
    again = cause.error()
    assert (again.sqlstate, again.message, again.detail, again.hint) == ("22012", error.message, None, "Use NULLIF.")


@pytest.mark.parametrize("text", ["x" * 100_000, "\U0001f600" * 100_000])
def test_the_longest_cause_fits_a_frame(text: str) -> None:
    told = participant(1).stop(Cause("22000", text, text, text), "b", 0)[0]
    assert isinstance(told, Send)
    assert len(control_messages.encode(told.message)) < 1 << 16


def test_what_never_happened_is_an_error_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="runs no fragment 7"):
        participant(1).fragment_ended(7, None, 0)
    with pytest.raises(AssertionError, match="set up twice"):
        participant(1).fragments_started((1,))


def test_an_error_keeps_all_its_fields_on_its_way() -> None:
    error = UniqueViolation("duplicate", detail="Key.", hint="Try.", position=7, about=About("s", "t", "c", "d", "n"))
    error.context = "COPY t, line 3"
    query = participant(1)
    told = [send.message for send in query.fragment_ended(1, Cause.of_error(error), 5) if isinstance(send, Send)]
    assert isinstance(told[0], Cancel)
    arrived = Cause.of_message(told[0]).error()
    assert arrived.sqlstate == "23505"
    for name in ("message", "detail", "hint", "position", "context", "about"):
        assert getattr(arrived, name) == getattr(error, name)

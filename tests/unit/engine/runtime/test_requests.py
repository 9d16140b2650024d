"""Requests between members: answered once, by the member that was asked, or failed when it is lost."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.requests import Requests


class Lost(Exception):
    pass


@pytest.fixture
def requests() -> Requests[str]:
    return Requests(Lost)


async def test_each_answer_finds_its_request(requests: Requests[str]) -> None:
    with requests.open("m2") as one, requests.open("m2") as other:
        assert len(requests) == 2
        requests.answer("m2", other.number, "other")
        requests.answer("m2", one.number, "one")
        assert (await one.answer, await other.answer) == ("one", "other")
    assert len(requests) == 0


async def test_only_who_was_asked_answers_and_only_once(requests: Requests[str]) -> None:
    with requests.open("m2") as request:
        requests.answer("m3", request.number, "not asked")
        requests.refuse("m3", request.number, ValueError("not asked"))
        requests.answer("m2", request.number + 1, "no such request")
        assert not request.answer.done()
        requests.answer("m2", request.number, "first")
        requests.answer("m2", request.number, "second")
        requests.refuse("m2", request.number, ValueError("third"))
        requests.member_lost("m2")
        assert await request.answer == "first"


async def test_a_refusal_is_raised(requests: Requests[str]) -> None:
    with requests.open("m2") as request:
        requests.refuse("m2", request.number, ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            await request.answer


async def test_what_a_lost_member_was_asked_fails_and_nothing_else(requests: Requests[str]) -> None:
    with requests.open("m2") as lost, requests.open("m3") as other:
        requests.member_lost("m2")
        with pytest.raises(Lost, match="m2"):
            await lost.answer
        assert not other.answer.done()


async def test_one_that_was_given_up_is_gone_and_its_answer_means_nothing(requests: Requests[str]) -> None:
    async def ask() -> None:
        with requests.open("m2") as request:
            await request.answer

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    assert len(requests) == 1
    asking.cancel()
    requests.answer("m2", 1, "as it is cancelled")
    requests.member_lost("m2")
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(requests) == 0
    requests.answer("m2", 1, "late")

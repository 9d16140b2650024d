"""The last answers of queries that have ended, which clients of the door for Trino's clients may request again."""

from __future__ import annotations

from fastapi import Response

from server.http.ended_queries import EndedQueries, EndedQuery


def _query(size: int = 1) -> EndedQuery:
    return EndedQuery("slug", 3, Response(b"x" * size))


def test_an_answer_is_found_by_name_and_secret() -> None:
    kept = EndedQueries()
    kept.add("q", _query())
    assert kept.find("q", "slug") is not None
    assert kept.find("q", "other") is None
    assert kept.find("p", "slug") is None


def test_the_oldest_answers_go_first() -> None:
    kept = EndedQueries(answers_max=2)
    for name in "abc":
        kept.add(name, _query())
    assert [kept.find(name, "slug") is not None for name in "abc"] == [False, True, True]


def test_the_bytes_of_all_answers_are_bounded() -> None:
    kept = EndedQueries(bytes_max=10)
    kept.add("a", _query(6))
    kept.add("b", _query(4))
    assert len(kept) == 2
    kept.add("c", _query(5))
    assert [kept.find(name, "slug") is not None for name in "abc"] == [False, True, True]
    kept.add("d", _query(11))
    assert len(kept) == 0

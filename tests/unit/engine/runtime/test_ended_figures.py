"""The figures of queries that are over: kept in steps, and bounded by their number."""

from __future__ import annotations

from typing import Literal

from engine.contracts.activity import EdgeCounters, FragmentCounters
from engine.runtime.ended_figures import EndedFigures


def _edge(query: str, rows: int, end: Literal["sender", "receiver"] = "receiver") -> EdgeCounters:
    return EdgeCounters(query, 1, 0, 0, end, "m1", 1, rows)


def _fragment(query: str, state: Literal["running", "done"]) -> FragmentCounters:
    return FragmentCounters(query, 1, 0, "m1", "local", state, 7, 1.0)


def test_what_was_let_go_of_first_is_kept_with_what_ends_later() -> None:
    ended = EndedFigures()
    ended.keep("m1:1", ([_fragment("m1:1", "running")], [_edge("m1:1", 5), _edge("m1:1", 0, "sender")]))
    ended.keep("m1:1", ([_fragment("m1:1", "done")], [_edge("m1:1", 9, "sender")]))
    fragments, edges = ended.find("m1:1")
    assert [fragment.state for fragment in fragments] == ["done"]
    assert {(edge.end, edge.rows) for edge in edges} == {("receiver", 5), ("sender", 9)}
    assert ended.find("m1:2") == ([], [])


def test_the_oldest_go_when_there_are_too_many_figures() -> None:
    ended = EndedFigures(most=10)
    for number in range(20):
        query = f"m1:{number}"
        ended.keep(query, ([_fragment(query, "done")], [_edge(query, number)]))
        ended.keep(query, ([_fragment(query, "done")], [_edge(query, number)]))
    assert len(ended) == 3
    assert ended.find("m1:16") == ([], [])
    assert ended.find("m1:17")[1] == [_edge("m1:17", 17)]

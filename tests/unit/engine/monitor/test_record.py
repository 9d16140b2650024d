"""The record of an ended statement contains only values: the history outlives the sessions whose statements it records."""

from __future__ import annotations

import gc
import weakref

from engine.contracts.query_id import QueryId
from engine.monitor.record import History, StatementRecord


class _Session:
    """A session as far as a record knows it: it gives the ids of queries."""

    def __init__(self) -> None:
        self.given = 0

    def new_query_id(self) -> QueryId:
        self.given += 1
        return QueryId("here", self.given)


def test_the_history_keeps_no_session() -> None:
    history = History()
    session = _Session()
    for ran in (True, False):
        record = StatementRecord(1, "u", "d", "select 1", session.new_query_id)
        if ran:
            record.next_query()
        record.end("finished")
        history.add(record)
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    assert [report.id for report in history.newest(2)] == ["here:2", "here:1"]


def test_a_graph_that_is_replaced_counts_with_its_new_size() -> None:
    history, session = History(bytes_max=4000), _Session()
    records = [StatementRecord(1, "u", "d", "select 1", session.new_query_id) for _ in range(3)]
    for record in records:
        record.next_query()
        record.end("finished")
        history.add(record, b"{}")
    before = history.size
    history.replace_graph("here:2", b"x" * 1002)
    assert history.size == before + 1000
    found = history.find("here:2")
    assert found is not None
    assert found[1] == b"x" * 1002
    history.replace_graph("here:3", b"x" * 3000)
    assert len(history) < 3
    history.replace_graph("here:1", b"nothing is kept of it")
    assert history.find("here:1") is None

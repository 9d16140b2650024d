"""Graphs of plans: from EXPLAIN's JSON, and with the counters of the two ends of streams."""

from __future__ import annotations

from pathlib import Path

from support.local_member import local_member

from engine.contracts.activity import EdgeCounters, EdgeReport, FragmentCounters, FragmentReport, Graph
from engine.monitor.graph import ended_graph, graph_of_json, with_counters
from engine.pg_catalog.merged_edges import merge_edges

DOCUMENT = {
    "Plan": {
        "Node Type": "FINAL",
        "Fragment": 2,
        "Plans": [
            {
                "Node Type": "RECEIVE",
                "Edge": "1 from fragment 1",
                "Plans": [{"Node Type": "TABLE READER", "Fragment": 1, "Table": "numbers", "Actual Rows": 9}],
            }
        ],
    },
    "Initiator": "m1",
    "Fragments": [
        {"Fragment": 2, "Engine": "local", "Instances": [{"Instance": 0, "Member": "m1"}]},
        {"Fragment": 1, "Engine": "local", "Instances": [{"Instance": 0, "Member": "m1"}, {"Instance": 1, "Member": "m2"}]},
    ],
    "Edges": [
        {
            "Edge": 1, "Source": 1, "Target": 2, "Router": "single", "Synchronizer": "ordered by n", "Senders": 2, "Receivers": 1,
        }
    ],
}  # fmt: skip


def test_the_graph_of_an_explained_plan() -> None:
    graph = graph_of_json(DOCUMENT)
    assert [(fragment.id, fragment.member) for fragment in graph.fragments] == [
        ("2.0", "m1"), ("1.0", "m1"), ("1.1", "m2"), ("client", "m1"),
    ]  # fmt: skip
    root, producer = graph.fragments[0], graph.fragments[1]
    assert [(o.id, o.name, o.inputs) for o in root.operators] == [
        ("2.0.0", "FINAL", ("2.0.1",)),
        ("2.0.1", "RECEIVE", ()),
    ]
    assert [(o.name, o.detail, o.rows) for o in producer.operators] == [("TABLE READER", "Table: numbers", 9)]
    assert [(e.id, e.source, e.target, e.kind) for e in graph.edges] == [
        ("1.0.0", "1.0", "2.0", "merge"), ("1.1.0", "1.1", "2.0", "merge"), ("0.0.0", "2.0", "client", "gather"),
    ]  # fmt: skip


def test_waits_are_the_senders_and_the_rest_is_the_receivers() -> None:
    received = EdgeCounters("m1:1", 1, 0, 0, "receiver", "m1", 1, 10, 100, 5, 64, 7, spooled_bytes=3, state="waiting")
    sent = EdgeCounters("m1:1", 1, 0, 0, "sender", "m2", 1, 0, 120, stalls=2, stalled_seconds=1.5)
    for both in ((received, sent), (sent, received)):
        [one] = merge_edges(both)
        assert (one.member, one.rows, one.bytes, one.credit, one.window, one.backlog_bytes) == ("m1", 10, 120, 5, 64, 7)
        assert (one.stalls, one.stalled_seconds, one.spooled_bytes, one.state) == (2, 1.5, 3, "waiting")
    assert merge_edges([sent]) == [sent]


def test_counters_are_put_where_they_belong() -> None:
    graph = Graph(
        (FragmentReport("1.0", "m1", "local", "running"), FragmentReport("1.1", "m2", "local", "running")),
        (EdgeReport("1.0.0", "1.0", "2.0", "hash"), EdgeReport("1.1.0", "1.1", "2.0", "hash")),
    )
    told = with_counters(
        graph,
        [FragmentCounters("m1:1", 1, 1, "m2", "local", "done", 5, 0.5)],
        [EdgeCounters("m1:1", 1, 1, 0, "receiver", "m1", 1, 5, 50, 10, 20)],
    )
    assert [(f.state, f.rows) for f in told.fragments] == [("running", None), ("done", 5)]
    assert [(e.kind, e.rows, e.credit) for e in told.edges] == [("hash", 0, None), ("hash", 5, 10)]


def test_nothing_of_a_statement_that_has_ended_runs_or_waits() -> None:
    graph = Graph(
        (FragmentReport("1.0", "m1", "local", "running"), FragmentReport("1.1", "m2", "local", "failed")),
        (EdgeReport("1.0.0", "1.0", "2.0", rows=5, credit=0, window=64, backlog_bytes=9, stalls=3, state="waiting"),),
    )
    finished, cancelled = (ended_graph(graph, state) for state in ("finished", "cancelled"))
    # Whoever was stopped because the client had enough has not failed.
    assert [fragment.state for fragment in finished.fragments] == ["done", "done"]
    assert [fragment.state for fragment in cancelled.fragments] == ["failed", "failed"]
    [edge] = finished.edges
    assert (edge.state, edge.credit, edge.backlog_bytes, edge.rows, edge.stalls) == ("done", None, 0, 5, 3)


def test_the_operators_of_a_statement_are_described_once(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect(autocommit=False) as connection:
        connection.execute("declare c cursor for select g, count(*) from generate_series(1, 10000) as g group by g")
        connection.execute("fetch 1 from c")
        [record] = [one for one in member.clients.registry.statements() if one.portal == "c"]
        first, second = (member.engine.monitor.graph(record, (), ()) for _ in range(2))
        assert first is not None
        assert second is not None
        [whole, _client] = first.fragments
        assert len(whole.operators) > 2
        assert second.fragments[0].operators is whole.operators
        assert [edge.rows for edge in second.edges] == [1]

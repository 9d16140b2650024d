"""EXPLAIN (DISTSQL): where fragments run, what the edges carry, which aggregators are stages, and the counts of
ANALYZE.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.binding_ground import TestCatalog, bind

from engine.plan_ir.expr import Column, ColumnRef, Node
from engine.plan_ir.logical import Aggregator, Evaluator, OrderKey, Root, TableReader
from engine.plan_ir.physical import (
    Edge,
    Fragment,
    HashRouter,
    Instance,
    MirrorRouter,
    Ordered,
    PhysicalPlan,
    RangeRouter,
    Receive,
    Router,
    Sequential,
    SingleRouter,
    Split,
    Synchronizer,
    Unsynchronized,
)
from engine.plan_ir.rewrite import rewrite_plan
from engine.planner.explain.physical import EdgeAnalysis, InstanceAnalysis, PhysicalAnalysis, json_text, text_lines
from engine.planner.explain.stages import stages
from engine.planner.planner import optimise

CATALOG = TestCatalog()


def _planned(sql: str) -> Root:
    return optimise(bind(sql, CATALOG).plan)


def _numbered(node: Node) -> Node:
    def number(node: Node) -> Node:
        return replace(node, reader=1) if isinstance(node, TableReader) else node

    return rewrite_plan(node, number)


def _readers(splits: tuple[Split, ...] = (Split("nation.parquet", 2048),)) -> tuple[Instance, ...]:
    return (Instance("a", {1: splits}), Instance("b", {1: (*splits, Split("more.parquet", 1024))}))


def _gathered(
    sql: str = "select n_name from nation order by n_name desc",
    router: Router | None = None,
    synchronizer: Synchronizer | None = None,
    receivers: tuple[Instance, ...] = (Instance("gw"),),
) -> PhysicalPlan:
    """Everything below FINAL on a and b, one edge to gw."""
    final = _planned(sql)
    columns = final.input.columns
    edge = Edge(4, 0, 1, columns, router or SingleRouter(), synchronizer or Ordered(final.requirement))
    return PhysicalPlan(
        "gw",
        (
            Fragment(0, _numbered(final.input), _readers(), output=4, reason="it reads 5 kB"),
            Fragment(1, replace(final, input=Receive(columns, 4)), receivers, inputs=(4,)),
        ),
        (edge,),
        "nation is pinned to a and b",
    )


def test_says_what_runs_where_and_what_moves() -> None:
    assert text_lines(_gathered()) == [
        "Distribution: nation is pinned to a and b",
        "Initiator: gw",
        "Fragment 1 (root)",
        "  Engine: local",
        "  Instance 0: gw",
        "  ->  FINAL",
        "        Columns: n_name",
        "        Ordering requirement: n_name DESC",
        "        ->  RECEIVE",
        "              Edge: 4 from fragment 0",
        "              Columns: n_name",
        "              Synchronizer: ordered by n_name DESC",
        "              Streams: 2, 2 senders to 1 receiver",
        "Fragment 0",
        "  Engine: local (it reads 5 kB)",
        "  Instance 0: a, reader 1: 1 split, 2 kB",
        "  Instance 1: b, reader 1: 2 splits, 3 kB",
        "  Output: edge 4 to fragment 1",
        "  Router: single",
        "  ->  SORT",
        "        Key: n_name DESC",
        "        ->  EVALUATOR",
        "              ->  TABLE READER",
        "                    Table: public.nation",
        "                    Columns: n_name",
        "                    Reader: 1",
    ]


def test_analysis_stands_where_it_was_counted() -> None:
    analysis = PhysicalAnalysis(
        {4: EdgeAnalysis(rows=25, bytes=4096, batches=2, time_ms=1.5, credit_stalls=3, spooled_bytes=1024)},
        {(0, 0): InstanceAnalysis(10, 0.25), (0, 1): InstanceAnalysis(15, 0.5)},
        {"Planning Time": 0.125, "Execution Time": 2.0},
    )
    lines = text_lines(_gathered(), analysis, {0: "SELECT c1\nFROM x"})
    assert "  Instance 1: b, reader 1: 2 splits, 3 kB, actual rows=15 time=0.500 ms" in lines
    at_receive = "              Actual: rows=25 bytes=4 kB batches=2 time=1.500 ms credit stalls=3 spooled=1 kB"
    assert at_receive in lines
    assert lines[-5:] == [
        "  Statement:",
        "    SELECT c1",
        "    FROM x",
        "Planning Time: 0.125 ms",
        "Execution Time: 2.000 ms",
    ]


def test_json_is_one_plan_with_the_fragments_below_their_receives() -> None:
    analysis = PhysicalAnalysis(
        {4: EdgeAnalysis(rows=25)}, {(0, 0): InstanceAnalysis(10, 0.25)}, {"Execution Time": 2.0}
    )
    (told,) = json.loads(json_text(_gathered(), analysis, {0: "SELECT 1"}))
    receive = told["Plan"]["Plans"][0]
    assert (told["Plan"]["Node Type"], told["Plan"]["Fragment"]) == ("FINAL", 1)
    assert (receive["Node Type"], receive["Edge"]) == ("RECEIVE", 4)
    assert (receive["Plans"][0]["Node Type"], receive["Plans"][0]["Fragment"]) == ("SORT", 0)
    assert told["Participants"] == ["gw", "a", "b"]
    root, leaf = told["Fragments"]
    assert root["Inputs"] == [4]
    assert "Output" not in root
    assert (leaf["Output"], leaf["Statement"]) == (4, "SELECT 1")
    assert leaf["Instances"][0] == {
        "Instance": 0,
        "Member": "a",
        "Readers": [{"Reader": 1, "Splits": 1, "Bytes": 2048}],
        "Actual Rows": 10,
        "Actual Loops": 1,
        "Actual Total Time": 0.25,
    }
    (edge,) = told["Edges"]
    assert (edge["Source"], edge["Target"], edge["Senders"], edge["Receivers"]) == (0, 1, 2, 1)
    assert (edge["Router"], edge["Synchronizer"]) == ("single", "ordered by n_name DESC")
    assert (edge["Actual Rows"], told["Execution Time"]) == (25, 2.0)


def test_an_instance_whose_turn_never_came() -> None:
    analysis = PhysicalAnalysis({}, {(0, 0): InstanceAnalysis(0, 0.25, executed=False)}, timing=False)
    assert any(line.endswith(", never executed") for line in text_lines(_gathered(), analysis))
    (told,) = json.loads(json_text(_gathered(), analysis))
    counted = told["Fragments"][1]["Instances"][0]
    assert (counted["Actual Rows"], counted["Actual Loops"]) == (0, 0)
    assert "Actual Total Time" not in counted


@pytest.mark.parametrize("kind", ["single", "mirror", "hash", "range"])
def test_every_router_has_its_words(kind: str) -> None:
    column = _gathered().edges[0].columns[0]
    routers: dict[str, tuple[Router, str]] = {
        "single": (SingleRouter(), "single"),
        "mirror": (MirrorRouter(), "mirror over 2 instances"),
        "hash": (HashRouter((column,)), "hash of n_name over 2 instances"),
        "range": (
            RangeRouter((OrderKey(column, descending=True, nulls_first=True),), ("k",)),
            "range of n_name DESC over 2 instances, parted at 'k'::character varying(25)",
        ),
    }
    router, words = routers[kind]
    lines = text_lines(_gathered(router=router, receivers=(Instance("a"), Instance("b"))))
    assert f"  Router: {words}" in lines


def test_every_synchronizer_has_its_words() -> None:
    for synchronizer, words in ((Unsynchronized(), "unsynchronized"), (Sequential(), "sequential")):
        assert f"              Synchronizer: {words}" in text_lines(_gathered(synchronizer=synchronizer))


def test_spark_opens_a_stream_for_each_partition() -> None:
    plan = _gathered()
    leaf = replace(plan.fragments[0], engine="spark")
    lines = text_lines(replace(plan, fragments=(leaf, plan.fragments[1])))
    assert "              Streams: one for each of Spark's partitions, 2 senders to 1 receiver" in lines


# -- stages ----------------------------------------------------------------------------------------------------------


def _two_aggregators(first: Aggregator, second: Aggregator) -> PhysicalPlan:
    """The first's fragment on a and b, an edge, the second's on gw: `second` reads a Receive of `first`'s columns."""
    edge = Edge(0, 0, 1, first.columns, HashRouter(first.group))
    return PhysicalPlan(
        "gw",
        (Fragment(0, first, _readers(), output=0), Fragment(1, second, (Instance("gw"),), inputs=(0,))),
        (edge,),
        "",
    )


def _aggregator(sql: str) -> Aggregator:
    return next(node for node in _planned(sql).walk() if isinstance(node, Aggregator))


def _names(plan: PhysicalPlan) -> list[str]:
    return [line.strip().removeprefix("->  ") for line in text_lines(plan) if "AGGREGATOR" in line]


COUNTED = _aggregator("select n_regionkey, count(*) from nation group by 1")
SEEN = _aggregator("select distinct n_regionkey, n_name from nation")


def test_the_same_group_key_on_both_sides_of_an_edge_is_two_stages() -> None:
    second = replace(COUNTED, input=Receive(COUNTED.columns, 0), group=COUNTED.columns[:1])
    plan = _two_aggregators(COUNTED, second)
    assert _names(plan) == ["AGGREGATOR (second stage)", "AGGREGATOR (first stage)"]


def test_evaluators_between_the_stages_are_seen_through() -> None:
    key, counted = COUNTED.columns
    renamed = (Column(900, "key", key.type), Column(901, "n", counted.type))
    passing = Evaluator(renamed, Receive(COUNTED.columns, 0), tuple(ColumnRef(c.type, c) for c in COUNTED.columns))
    second = replace(COUNTED, input=passing, group=(renamed[0],))
    assert len(stages(_two_aggregators(COUNTED, second))) == 2
    other = replace(second, group=(renamed[1],))
    assert stages(_two_aggregators(COUNTED, other)) == {}


def test_taking_out_duplicates_is_the_first_stage_of_a_shorter_key() -> None:
    second = replace(COUNTED, input=Receive(SEEN.columns, 0), group=SEEN.columns[:1])
    assert len(stages(_two_aggregators(SEEN, second))) == 2


def test_an_aggregate_of_aggregates_is_not_two_stages() -> None:
    whole = replace(COUNTED, input=Receive(COUNTED.columns, 0), group=(), columns=COUNTED.columns[1:])
    assert _names(_two_aggregators(COUNTED, whole)) == ["AGGREGATOR", "AGGREGATOR"]

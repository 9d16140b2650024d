"""The page's pure modules, run in the browser: figures for people, the layout of plans, pasted plans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from support.browser import watched_page
from support.generated_console import GeneratedConsole, World

PLAIN = """[{"Plan": {"Node Type": "FINAL", "Columns": "n", "Plans": [
    {"Node Type": "TABLE READER", "Table": "public.numbers", "Plan Rows": 5}]}, "Engine": "local", "Reason": "small"}]"""
POSTGRES = """[{"Plan": {"Node Type": "Hash Join", "Parallel Aware": false, "Startup Cost": 1.0, "Total Cost": 2.0, "Plan Rows": 9,
    "Plan Width": 4, "Actual Rows": 7, "Hash Cond": "(a.x = b.x)", "Plans": [
        {"Node Type": "Seq Scan", "Relation Name": "a", "Actual Rows": 7}, {"Node Type": "Hash", "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "b"}]}]}}]"""
DISTRIBUTED = """[{"Plan": {"Node Type": "FINAL", "Fragment": 0, "Plans": [{"Node Type": "RECEIVE", "Plans": [
    {"Node Type": "TABLE READER", "Fragment": 1, "Table": "public.numbers"}]}]}, "Distribution": "two members", "Initiator": "m1",
    "Fragments": [
        {"Fragment": 0, "Engine": "local", "Instances": [{"Instance": 0, "Member": "m1"}], "Inputs": [0]},
        {"Fragment": 1, "Engine": "spark", "Instances": [{"Instance": 0, "Member": "m1"}, {"Instance": 1, "Member": "m2"}]}],
    "Edges": [{"Edge": 0, "Source": 1, "Target": 0, "Router": "single", "Synchronizer": "unsynchronized"}]}]"""


@pytest.fixture(scope="module")
def modules(browser: Browser) -> Iterator[Page]:
    with GeneratedConsole(World()) as console, watched_page(browser) as page:
        page.goto(f"{console.address}static/icon.svg")
        yield page


def call(page: Page, module: str, function: str, *arguments: object) -> Any:
    script = "async ([module, name, values]) => (await import(`/static/${module}`))[name](...values)"
    return page.evaluate(script, [module, function, list(arguments)])


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        ("count", 0, "0"),
        ("count", 1234567, "1,234,567"),
        ("count", 12_345_678, "12.3 M"),
        ("count", 6e9, "6 G"),
        ("count", None, "\u2013"),
        ("bytes", 0, "0 B"),
        ("bytes", 1023, "1,023 B"),
        ("bytes", 1024, "1 kB"),
        ("bytes", 1536, "1.5 kB"),
        ("bytes", 1048575, "1 MB"),
        ("bytes", 123 << 20, "123 MB"),
        ("bytes", 20 << 30, "20 GB"),
        ("duration", 0, "0 ms"),
        ("duration", 0.00042, "0.42 ms"),
        ("duration", 0.0042, "4.2 ms"),
        ("duration", 0.3402, "340 ms"),
        ("duration", 0.9996, "1.00 s"),
        ("duration", 12.34, "12.3 s"),
        ("duration", 59.97, "1 min 00 s"),
        ("duration", 3599.7, "1 h 00 min"),
        ("duration", 90061, "1 d 1 h"),
        ("age", 0.4, "now"),
        ("age", 12.9, "12 s ago"),
        ("age", 3.2, "3 s ago"),
        ("age", 75, "1 min 15 s ago"),
        ("rate", 1500.4, "1,500/s"),
        ("percent", 0.256, "26 %"),
        ("oneLine", "select\n   1 ", "select 1"),
    ],
)
def test_figures_read_as_people_write_them(modules: Page, function: str, value: object, text: str) -> None:
    assert call(modules, "format.js", function, value) == text


def test_texts_are_cut_between_characters(modules: Page) -> None:
    assert call(modules, "format.js", "cut", "abc", 3) == "abc"
    assert call(modules, "format.js", "cut", "a\U0001f600bcd", 3) == "a\U0001f600\u2026"


def test_cards_do_not_overlap_and_stay_near(modules: Page) -> None:
    assert call(modules, "layout.js", "spread", [10, 100], 20, 5) == [0, 90]
    tops = call(modules, "layout.js", "spread", [50, 50, 50], 20, 5)
    assert tops == [15, 40, 65]
    first, lone, second, third = call(modules, "layout.js", "spread", [90, 0, 92, 94], 10, 2)
    assert (lone, second - first, third - second) == (-5, 12, 12)


def graph(*edges: tuple[str, str], **members: str) -> dict[str, Any]:
    fragments = [{"id": name, "member": member, "operators": []} for name, member in members.items()]
    return {"fragments": [*fragments, {"id": "client", "operators": []}], "edges": [
        {"id": f"{a}{b}", "from": a, "to": b, "kind": "gather", "streams": 1} for a, b in edges]}  # fmt: skip


def positions(page: Page, value: dict[str, Any]) -> dict[str, Any]:
    script = """async (graph) => {
        const { layout } = await import("/static/layout.js");
        const { boxes, cards, lanes, width, height } = layout(graph);
        return { boxes: Object.fromEntries(boxes), cards: Object.fromEntries(cards), lanes, width, height };
    }"""
    placed: dict[str, Any] = page.evaluate(script, value)
    return placed


def test_rows_flow_to_the_right_within_lanes_of_members(modules: Page) -> None:
    value = graph(("a", "c"), ("b", "c"), ("a", "d"), ("c", "d"), ("d", "client"), a="m1", b="m2", c="m10", d="m1")
    placed = positions(modules, value)
    boxes = placed["boxes"]
    assert [lane["member"] for lane in placed["lanes"]] == ["m1", "m2", "m10"]
    assert boxes["a"]["x"] == boxes["b"]["x"] < boxes["c"]["x"] < boxes["d"]["x"] < boxes["client"]["x"]
    lanes = {lane["member"]: lane for lane in placed["lanes"]}
    for name, member in {"a": "m1", "b": "m2", "c": "m10", "d": "m1", "client": "m1"}.items():
        lane = lanes[member]
        assert lane["y"] <= boxes[name]["y"], name
        assert boxes[name]["y"] + boxes[name]["height"] <= lane["y"] + lane["height"], name
    for edge in value["edges"]:
        card = placed["cards"][edge["id"]]
        assert boxes[edge["from"]]["x"] < card["x"] < boxes[edge["to"]]["x"], edge["id"]
    for thing in [*boxes.values(), *placed["cards"].values()]:
        assert thing["x"] >= 0
        assert thing["y"] >= 0
        assert thing["x"] + thing["width"] <= placed["width"]
        assert thing["y"] + thing["height"] <= placed["height"]


def test_a_circle_of_fragments_is_drawn_too(modules: Page) -> None:
    placed = positions(modules, graph(("a", "b"), ("b", "a"), a="m1", b="m1"))
    assert set(placed["cards"]) == {"ab", "ba"}


def test_operators_are_a_tree_with_consumers_first(modules: Page) -> None:
    operators = [
        {"id": 3, "inputs": []},
        {"id": 1, "inputs": [2, 3]},
        {"id": 2, "inputs": [4]},
        {"id": 4, "inputs": [2]},
    ]
    rows = call(modules, "layout.js", "operatorRows", operators)
    assert [(row["operator"]["id"], row["depth"]) for row in rows] == [(1, 0), (2, 1), (4, 2), (3, 1)]


def test_a_plan_of_one_engine_becomes_a_fragment_that_feeds_the_client(modules: Page) -> None:
    read = call(modules, "plan_json.js", "readPlan", PLAIN)
    plan, client = read["fragments"]
    assert [(o["name"], o["detail"], o["inputs"]) for o in plan["operators"]] == [
        ("FINAL", "Columns: n", [1]),
        ("TABLE READER", "about 5 rows; Table: public.numbers", []),
    ]
    assert (plan["engine"], client["id"]) == ("local", "client")
    assert [(edge["from"], edge["to"]) for edge in read["edges"]] == [("plan", "client")]


def test_a_plan_of_postgresql_is_read(modules: Page) -> None:
    operators = call(modules, "plan_json.js", "readPlan", POSTGRES)["fragments"][0]["operators"]
    assert [(o["name"], o["rows"], o["inputs"]) for o in operators] == [
        ("Hash Join", 7, [1, 2]),
        ("Seq Scan", 7, []),
        ("Hash", None, [3]),
        ("Seq Scan", None, []),
    ]
    assert operators[0]["detail"] == "Hash Cond: (a.x = b.x)"


def test_instances_of_a_distributed_plan_stand_on_their_members(modules: Page) -> None:
    read = call(modules, "plan_json.js", "readPlan", DISTRIBUTED)
    assert {f["id"]: f["member"] for f in read["fragments"]} == {"0.0": "m1", "1.0": "m1", "1.1": "m2", "client": ""}
    assert {(e["from"], e["to"], e["kind"]) for e in read["edges"]} == {
        ("1.0", "0.0", "gather"),
        ("1.1", "0.0", "gather"),
        ("0.0", "client", "result"),
    }
    assert [o["name"] for o in read["fragments"][0]["operators"]] == ["FINAL", "RECEIVE"]


def test_graphs_of_the_api_are_read_as_they_are(modules: Page) -> None:
    value = World().graph()
    assert (
        call(modules, "plan_json.js", "readPlan", json.dumps({"id": "m1.1", "graph": value}))["edges"] == value["edges"]
    )
    assert len(call(modules, "plan_json.js", "readPlan", json.dumps(value))["fragments"]) == len(value["fragments"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select 1", "not JSON"),
        ("7", "no plan"),
        ("null", "no plan"),
        ("{}", "neither a Plan"),
        ('{"fragments": [{}]}', "no id"),
        ('{"fragments": [{"id": 1}], "edges": [{"from": 1, "to": 2}]}', "fragment 2, which is not there"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_reason(modules: Page, text: str, reason: str) -> None:
    script = 'async (text) => (await import("/static/plan_json.js")).readPlan(text)'
    told = modules.evaluate(
        f"async (text) => {{ try {{ await ({script})(text); return ''; }} catch (e) {{ return e.message; }} }}", text
    )
    assert reason in told

"""Topology files: their contents, and errors that name the file, the line and the key."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from engine.plan_ir.topology import Link, PhysicalSource, Topology, TopologyNode, tables
from server.config.errors import ConfigurationError
from server.config.topology import load_topology

WHOLE = """\
logical:
  - name: orders
    columns: {o_orderkey: bigint, o_totalprice: "numeric(15,2)"}
  - name: ages
nodes:
  - name: n1
    address: 10.0.0.1:7432
    capacity: 2
    links:
      - {to: n3, direction: up}
    physical:
      - logical: orders
        type: parquet
        path: orders/north
      - logical: ages
        type: csv
        path: /data/ages.csv
        options: {header: true, delimiter: ";"}
  - name: n2
    address: 10.0.0.2:7432
    links: [n3]
    physical:
      - {logical: orders, type: parquet, path: orders/south}
  - name: n3
    address: 10.0.0.3:7432
"""


def _load(folder: Path, text: str) -> Topology:
    file = folder / "topology.yaml"
    file.write_text(text)
    return load_topology(file)


def test_reads_what_the_file_says(tmp_path: Path) -> None:
    topology = _load(tmp_path, WHOLE)
    north, south, hub = topology.nodes
    assert (north.name, north.address, north.capacity, north.links) == ("n1", "10.0.0.1:7432", 2, (Link("n3", "up"),))
    assert north.physical[1] == PhysicalSource("ages", "csv", "/data/ages.csv", {"header": "true", "delimiter": ";"})
    assert (south.links, south.capacity, hub.physical) == ((Link("n3", "both"),), None, ())


def test_a_logical_source_is_a_table_with_its_paths_by_member(tmp_path: Path) -> None:
    orders, ages = tables(_load(tmp_path, WHOLE))
    assert (orders.name, orders.format, orders.options) == ("orders", "parquet", {})
    assert [(c.name, str(c.type), c.number) for c in orders.columns] == [
        ("o_orderkey", "bigint", 1),
        ("o_totalprice", "numeric(15,2)", 2),
    ]
    assert orders.paths == {"n1": ("orders/north",), "n2": ("orders/south",)}
    assert (ages.columns, ages.paths, ages.options["header"]) == ((), {"n1": ("/data/ages.csv",)}, "true")


def test_data_flows_as_the_links_say(tmp_path: Path) -> None:
    topology = _load(tmp_path, WHOLE)
    assert topology.may_send("n1", "n3")
    assert not topology.may_send("n3", "n1")
    assert topology.may_send("n3", "n2")
    assert not topology.may_send("n1", "n2")
    assert topology.reached_from("n1") == {"n1", "n2", "n3"}
    assert topology.reached_from("n2") == {"n2", "n3"}
    assert topology.next_hops("n2") == {"n3": "n2", "n1": "n3"}


def test_no_link_at_all_forbids_nothing() -> None:
    topology = Topology(tuple(TopologyNode(name, f"{name}:1") for name in ("a", "b", "c")))
    assert topology.next_hops("c") == {"a": "c", "b": "c"}
    assert not topology.may_send("a", "a")


def _diamond() -> Topology:
    """a reaches d through b or through c."""
    links = {"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()}
    return Topology(tuple(TopologyNode(n, f"{n}:1", tuple(Link(to, "up") for to in tos)) for n, tos in links.items()))


def test_of_several_paths_the_first_is_taken_or_a_random_one() -> None:
    topology = _diamond()
    assert topology.next_hops("d")["a"] == "b"
    assert {topology.next_hops("d", Random(seed))["a"] for seed in range(20)} == {"b", "c"}
    assert topology.next_hops("d", Random(7)) == topology.next_hops("d", Random(7))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("capacity: 2", "capacty: 2", ["line 8: nodes[0].capacty: there is no such key"]),
        ("capacity: 2", "capacity: 0", ["line 8: nodes[0].capacity: ", "greater than or equal to 1", "0"]),
        ("capacity: 2", "capacity: true", ["line 8: nodes[0].capacity: ", "integer"]),
        ("to: n3,", "to: n4,", ['line 10: nodes[0].links[0].to: there is no node "n4"']),
        ("to: n3,", "to: n1,", ["line 10: nodes[0].links[0].to: a node is not linked to itself"]),
        ("direction: up", "direction: left", ["line 10: nodes[0].links[0].direction: ", "'up', 'down' or 'both'"]),
        ("[n3]", "[n3, n3]", ['line 21: nodes[1].links[1].to: the link to "n3" is there already']),
        ("- name: n2", "- name: n1", ['line 19: nodes[1].name: "n1" is there already']),
        ("- name: n2\n   ", "-", ["line 19: nodes[1].name: is missing"]),
        ("10.0.0.2:7432", "10.0.0.1:7432", ['line 20: nodes[1].address: "10.0.0.1:7432" is there already']),
        ("10.0.0.2:7432", "somewhere", ["line 20: nodes[1].address: ", "host:port", "somewhere"]),
        (
            "logical: ages",
            "logical: aegs",
            ['line 15: nodes[0].physical[1].logical: there is no logical source "aegs"'],
        ),
        ("logical: ages", "logical: aegs", ['line 4: logical[1].name: no node has a physical source of "ages"']),
        ("type: parquet, path", "type: csv, path", ["line 23: nodes[1].physical[0].type: ", 'parquet at "n1"']),
        ("type: csv", "type: tcp", ["line 16: nodes[0].physical[1].type: ", "'parquet', 'csv' or 'json'", "tcp"]),
        ("delimiter", "delimitre", ["line 18: nodes[0].physical[1].options.delimitre: csv has no such option"]),
        ("south}", "south, options: {header: true}}", ["line 23: nodes[1].physical[0].options.header: parquet"]),
        ("orders/north", '""', ["line 14: nodes[0].physical[0].path: ", "at least 1 character"]),
        ("bigint", "bigit", ['line 3: logical[0].columns.o_orderkey: type "bigit" does not exist']),
        ("- name: ages", "- name: orders", ['line 4: logical[1].name: "orders" is there already']),
        ("- name: ages", "- name: ages\n    name: agos", ["line 4: logical[1].name: is said twice, again in line 5"]),
        ("nodes:", "nodes: []\nodes:", ["line 5: nodes: ", "at least 1 item", "line 6: odes: there is no such key"]),
        ("- name: ages", "- ages", ["line 4: logical[1]: expected keys and values (given: 'ages')"]),
        ("- name: ages", "- &itself [*itself]", ["line 4: logical[1][0]: contains itself"]),
        ("nodes:", "nodes: [", ["line"]),
    ],
)
def test_mistakes_name_the_line_and_the_key(tmp_path: Path, before: str, after: str, told: list[str]) -> None:
    assert before in WHOLE
    with pytest.raises(ConfigurationError) as error:
        _load(tmp_path, WHOLE.replace(before, after, 1))
    for words in told:
        assert words in str(error.value)
    assert str(tmp_path / "topology.yaml") in str(error.value)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        _load(tmp_path, WHOLE.replace("to: n3,", "to: n4,").replace("[n3]", "[n5]"))
    assert len(str(error.value).splitlines()) == 2


def test_a_table_whose_parts_cannot_meet_is_refused(tmp_path: Path) -> None:
    apart = WHOLE.replace("direction: up", "direction: down").replace("[n3]", "[{to: n3, direction: down}]")
    with pytest.raises(
        ConfigurationError, match=r"line 2: logical\[0\]\.name: the links lead its parts, at n1, n2, to no"
    ):
        _load(tmp_path, apart)


def test_the_same_file_named_twice_would_be_read_twice(tmp_path: Path) -> None:
    line = "      - {logical: orders, type: parquet, path: orders/south}\n"
    with pytest.raises(
        ConfigurationError, match=r"line 24: nodes\[1\]\.physical\[1\]\.path: \"orders/south\" is there"
    ):
        _load(tmp_path, WHOLE.replace(line, line * 2))


def test_other_options_of_the_same_source_are_refused(tmp_path: Path) -> None:
    line = "      - {logical: orders, type: parquet, path: orders/south}\n"
    other = "      - {logical: ages, type: csv, path: ages.csv}\n"
    with pytest.raises(
        ConfigurationError, match=r"physical\[1\]\.options: other options than those of \"ages\" at \"n1\""
    ):
        _load(tmp_path, WHOLE.replace(line, line + other))


@pytest.mark.parametrize("text", ["", "- a\n", "just words\n"])
def test_what_is_no_topology_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="line 1"):
        _load(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot read"):
        load_topology(tmp_path / "none.yaml")

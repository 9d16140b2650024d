"""A plan relocated along a topology's links returns the same as on one member: TPC-H's queries, and some in a total
order.

As in `test_distributed_answers`, the plan runs from the specs that members would receive. All files are pinned. The
topologies have what relocation must handle: flows that meet below the initiator, members that only forward, full ones,
and none that may send to all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

import pytest
from support.answers import differences
from support.distributed_ground import MEMBERS, Layout, answer, on_one, table
from support.tpch import TABLES, generate

from benchmarks.tpch_queries import queries
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.topology import Link, Topology, TopologyNode
from engine.planner.distribute import distribute
from engine.planner.distribute.relocate import relocate

#: Links upwards to the initiator, a. Members without room are those that only pass on.
TOPOLOGIES: Final = {
    "tree": {"b": "r", "c": "r", "r": "a", "a": ""},
    "chain": {"c": "full", "full": "b", "b": "a", "a": ""},
}
IN_ORDER: Final = (
    "select l_orderkey, l_linenumber, l_shipdate from lineitem order by l_shipdate desc, 1, 2 limit 70 offset 13",
    "select o_orderkey from orders order by o_totalprice + 1, o_orderkey",
    "select c_nationkey, sum(c_acctbal) from customer group by 1 order by 2 desc, 1",
)
STATEMENTS: Final = {
    **{name: (text, False) for name, text in queries().items()},
    **{f"in_order_{number}": (text, True) for number, text in enumerate(IN_ORDER)},
}


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder = generate(tmp_path_factory.mktemp("parts") / "tpch", 0.01, "parquet", parts=3)
    files = {
        name: sorted(map(str, (folder / name).glob("*.parquet"))) or [f"{folder}/{name}.parquet"] for name in TABLES
    }
    random = Random(5)
    pinned = {file: random.choice(MEMBERS) for several in files.values() for file in several}
    return Layout({name: table(name, several) for name, several in files.items()}, 20_000, pinned)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _topology(links: dict[str, str]) -> Topology:
    return Topology(
        tuple(
            TopologyNode(
                name,
                f"{name}:1",
                tuple(Link(to, "up") for to in tos.split()),
                capacity=0 if name.startswith("full") else None,
            )
            for name, tos in links.items()
        )
    )


@pytest.mark.long
@pytest.mark.parametrize("statement", STATEMENTS)
def test_moved_is_one(layout: Layout, engine: LocalDatabase, statement: str) -> None:
    text, ordered = STATEMENTS[statement]
    plan = layout.plan(text.strip().rstrip(";"))
    want = answer(on_one(plan), plan, engine)
    distributed = distribute(plan, layout.setting())
    for name, links in TOPOLOGIES.items():
        moved = relocate(distributed, _topology(links))
        different = differences(want, answer(moved, plan, engine), ordered)
        assert different is None, f"{text}\non {name}: {different}"

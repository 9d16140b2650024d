"""EXPLAIN (DISTSQL) of the RFC's examples (CockroachDB distributed SQL) on given members and topologies.

Read them beside the RFC: Example 1 is its `src -> summer-stage1 -> summer-stage2 -> sortval -> sort -> final`, the
joins its pictures for hash and mirror ("dup") joins. Tables are pinned, one file for each member. Most files do not
exist, so their sizes are those that the planner assumes for an unreachable file. The files of the lookup joins and the
co-located joins exist, because these plans depend on statistics; so do those of `events`, each sorted by k, and of
`visits`, which has a folder for each day. Example 2's two cases give the same plan: no engine's aggregator preserves
the order of its input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.binding_ground import TestCatalog, bind

from engine.catalog.model.objects import Storage, Table
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import OrderKey, TableReader
from engine.plan_ir.rewrite import rewrite_plan
from engine.plan_ir.topology import Link, Topology, TopologyNode
from engine.planner.distribute import Setting, distribute, should_distribute
from engine.planner.distribute.relocate import relocate
from engine.planner.explain.physical import text_lines
from engine.planner.optimizer.file_order import in_split_order
from engine.planner.planner import optimise

#: DDL, and the members that hold a file of the table.
RFC_TABLES: Final = (
    ("rfc_orders (oid int, cid int, value numeric(15,2), date date)", "ab"),
    ("people (age int, networth numeric(15,2), first text, last text)", "ab"),
    ("people_by_age (age int, networth numeric(15,2))", "ab"),
    ("v (name text, age int, account int)", "ab"),
    ("applications (college text, first text, last text)", "ab"),
    ("colleges (college text, city text)", "a"),
    ("customers (customerid int, email text, name text)", "ab"),
    ("purchases (customerid int, date date, value int)", "abc"),
    ("t1 (k int, v int)", "ab"),
    ("t2 (k int, w int)", "abc"),
    ("t3 (k int, x int)", "abc"),
    ("events (k int, v int)", "abcabc"),
    ("visits (v int, day date)", "abcabc"),
)
#: For the tables that have files: the values of their columns by number of the file. t1's are in no order of k.
_FILES: Final[dict[str, Callable[[int], dict[str, Any]]]] = {
    "t1": lambda file: {"k": [n * 7 % 30_000 for n in range(file, 3000, 2)], "v": [n % 100 for n in range(1500)]},
    "t2": lambda file: {"k": range(file * 10_000, (file + 1) * 10_000), "w": range(10_000)},
    "t3": lambda file: {"k": range(file * 10_000, (file + 1) * 10_000, 2), "x": range(5000)},
    "events": lambda file: {"k": range(file * 1000, file * 1000 + 3000, 3), "v": range(1000)},
    "visits": lambda file: {"v": range(file, 1000 + file)},
}
_SORTED: Final = {"events": "k"}
_FOLDERS: Final[dict[str, Callable[[int], str]]] = {"visits": lambda file: f"day=2024-05-0{1 + file % 3}"}


@dataclass(frozen=True, slots=True)
class Case:
    """links: upwards, as `{"a": "r", ...}`; none: everybody reaches everybody."""

    sql: str
    links: dict[str, str] | None = None
    mirror_limit: int = 4 << 20


_EXAMPLE_1: Final = (
    "select cid, sum(value) from rfc_orders where date > '2015-12-31' group by cid order by 1 - sum(value)"
)
_STREAM_JOIN: Final = (
    "select college, p.last, p.first, age from people p join applications a on p.first = a.first and p.last = a.last"
)

CASES: Final = {
    "example_1": Case(_EXAMPLE_1),
    "example_1_where_flows_meet_below_the_initiator": Case(_EXAMPLE_1, {"a": "r", "b": "r", "r": "gw", "gw": ""}),
    "example_1_passed_on": Case(_EXAMPLE_1, {"a": "r", "b": "gw", "r": "gw", "gw": ""}),
    "example_2_unordered": Case("select age, sum(networth) from people group by age order by age"),
    "example_2_ordered": Case("select age, sum(networth) from people_by_age group by age order by age"),
    "example_3": Case(
        "select count(distinct account) from v where age > 10 and age < 30 group by age having min(name) > 'k'"
    ),
    "join_by_lookup": Case("select t1.k, t1.v, t2.w from t1 join t2 on t1.k = t2.k where t1.v >= 1 and t1.v <= 5"),
    "join_side_by_side": Case("select t2.k, count(*), max(x) from t2 join t3 on t2.k = t3.k where w > 1 group by t2.k"),
    "stream_join_hashed": Case(_STREAM_JOIN),
    "count_distinct_without_a_key": Case("select count(distinct account) from v"),
    "stream_join_mirrored": Case(
        "select a.college, city from applications a join colleges c on a.college = c.college", mirror_limit=1 << 30
    ),
    "order_by_limit": Case("select age, networth from people where age + networth > 10 order by age limit 5"),
    "order_by_passed_on": Case("select age from people order by networth", {"a": "r", "b": "gw", "r": "gw", "gw": ""}),
    "order_by_sorted_files": Case("select k, v from events order by k"),
    "order_by_sorted_files_passed_on": Case(
        "select k, v from events order by k", {"a": "r", "b": "r", "c": "r", "r": "gw", "gw": ""}
    ),
    "order_by_limit_of_sorted_files": Case("select k, v from events where v > 3 order by k limit 5"),
    "groups_in_turn": Case("select k, count(*) from t2 group by k order by k limit 5"),
    "groups_of_a_partition_column": Case("select day, count(*), sum(v) from visits group by day"),
    "join_by_a_partition_column": Case("select a.day, a.v from visits a join visits b on a.day = b.day and a.v < b.v"),
    "daily_promotion": Case(
        "select c.email, c.name, os.ordercount from customers as c join (select customerid, count(*) as ordercount"
        " from purchases where date >= '2015-01-01' group by customerid having sum(value) >= 1000) as os"
        " on c.customerid = os.customerid"
    ),
}  # fmt: skip


class _RfcCatalog(TestCatalog):
    """The RFC's tables, a file on each of their members. folder: where those are that there are."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.pinned: dict[str, str] = {}
        for oid, (ddl, members) in enumerate(RFC_TABLES, 16600):
            self._add_table(oid, ddl)
            name = ddl.split()[0]
            if name in _FILES:
                places = [folder / member / str(number) for number, member in enumerate(members)]
                files = {_written(at, name, number): at.parent.name for number, at in enumerate(places)}
            else:
                files = {f"/{member}/{name}.parquet": member for member in members}
            self.pinned |= files
            table = self.relations[name]
            assert isinstance(table, Table)
            sort_by = (_SORTED[name],) if name in _SORTED else ()
            storage = Storage(name, 0, sort_by=sort_by) if sort_by else None
            partition_by = ("day",) if name in _FOLDERS else ()
            self.relations[name] = replace(table, files=tuple(files), storage=storage, partition_by=partition_by)


def _written(folder: Path, name: str, number: int) -> str:
    """A file of a table, of the same size whatever a library's newest compression makes of it."""
    folder = folder / _FOLDERS[name](number) if name in _FOLDERS else folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.parquet"
    rows = pa.table({column: pa.array(values, pa.int32()) for column, values in _FILES[name](number).items()})
    order = [(_SORTED[name], "ascending")] if name in _SORTED else []
    sorting = pq.SortingColumn.from_ordering(rows.schema, order) if order else None
    pq.write_table(rows, path, compression="none", use_dictionary=False, sorting_columns=sorting)
    return str(path)


def _by_age(node: Node) -> Node:
    """A reader of people_by_age guarantees the order that its files have."""
    if isinstance(node, TableReader) and node.table.name == "people_by_age":
        age = next(column for column in node.columns if column.name == "age")
        return replace(node, guarantee=(OrderKey(age),))
    return node


def _topology(links: dict[str, str]) -> Topology:
    return Topology(
        tuple(
            TopologyNode(name, f"{name}:1", tuple(Link(to, "up") for to in tos.split())) for name, tos in links.items()
        )
    )


def _explained(case: Case, folder: Path) -> str:
    catalog = _RfcCatalog(folder)
    bound = rewrite_plan(bind(case.sql, catalog).plan, _by_age)
    assert isinstance(bound, logical.Root)
    plan = optimise(bound)
    setting = Setting(("a", "b", "c", "gw"), "gw", catalog.pinned, mirror_limit=case.mirror_limit)
    _, reason = should_distribute(plan, "auto", setting)
    physical = distribute(plan, setting, reason)
    told = [case.sql, ""]
    if case.links is not None:
        physical = relocate(physical, _topology(case.links))
    physical = in_split_order(physical)
    if case.links is not None:
        told += ["-- links: " + ", ".join(f"{by} -> {to}" for by, to in case.links.items() if to), ""]
    return "\n".join([*told, *text_lines(physical)])


@pytest.mark.parametrize("name", CASES)
def test_distributed_plan(name: str, golden: Callable[[str, str], None], tmp_path: Path) -> None:
    golden(f"distsql/{name}.txt", _explained(CASES[name], tmp_path))


def test_every_golden_plan_is_of_a_case() -> None:
    folder = Path(__file__).parent / "distsql"
    assert {file.stem for file in folder.glob("*.txt")} == set(CASES)

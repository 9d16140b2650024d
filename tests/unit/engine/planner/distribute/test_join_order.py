"""The order of joins, and the estimated selectivity of their conditions: shapes of plans over tables of known sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import Layout, same, table

from engine.catalog.model.objects import Table
from engine.catalog.model.statistics import ColumnStatistics, TableStatistics
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.expr import Node, Subquery
from engine.plan_ir.logical import Join, TableReader
from engine.plan_ir.physical import HashRouter, PhysicalPlan
from engine.planner.optimizer.cardinality import estimate

#: Rows of each table, none of which is in the order of a key.
SALES, PRODUCTS, SHOPS = 20_000, 400, 20


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """`few` and `shops` are within the limit for what is read everywhere, `stock` and `sales` are not."""
    folder = tmp_path_factory.mktemp("shops")
    random = Random(5)
    stock = [(product, shop) for product in range(PRODUCTS) for shop in range(SHOPS)]
    random.shuffle(stock)
    made = {
        "sales": {
            "product": [random.randrange(PRODUCTS) for _ in range(SALES)],
            "shop": [random.randrange(SHOPS) for _ in range(SALES)],
            "amount": [random.randrange(1000) for _ in range(SALES)],
            "flag": [random.choice("RAN") for _ in range(SALES)],
        },
        "stock": {"product": [p for p, _ in stock], "shop": [s for _, s in stock], "cost": [p + s for p, s in stock]},
        "few": {"id": range(PRODUCTS), "name": [f"thing {n % 40}" for n in range(PRODUCTS)]},
        "shops": {"id": range(SHOPS), "town": [f"town {n % 5}" for n in range(SHOPS)]},
    }
    tables = {}
    for name, columns in made.items():
        rows = pa.table(columns)
        part = -(-rows.num_rows // 3)
        files = [str(folder / f"{name}{number}.parquet") for number in range(3)]
        for number, file in enumerate(files):
            pq.write_table(rows.slice(number * part, part), file)
        tables[name] = table(name, files)
    return Layout(tables, mirror_limit=8 << 10)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _readers(physical: PhysicalPlan, name: str) -> list[TableReader]:
    nodes = [node for fragment in physical.fragments for node in fragment.root.walk()]
    return [node for node in nodes if isinstance(node, TableReader) and node.table.name == name]


def _tables(node: Node) -> set[str]:
    return {part.table.name for part in node.walk() if isinstance(part, TableReader)}


# -- what comes first ------------------------------------------------------------------------------------------------


def test_what_all_read_comes_before_what_moves(layout: Layout, database: LocalDatabase) -> None:
    text = (
        "select sum(amount - cost) from sales a, stock b, few f, shops s"
        " where a.product = b.product and a.shop = b.shop and f.id = a.product and s.id = a.shop and f.name like '%7%'"
    )
    physical = same(layout, database, text)
    joining = [f for f in physical.fragments if not f.inputs and any(isinstance(n, Join) for n in f.root.walk())]
    assert [_tables(fragment.root) for fragment in joining] == [{"sales", "few", "shops"}]


def test_only_what_is_used_above_a_join_crosses(layout: Layout, database: LocalDatabase) -> None:
    text = (
        "select sum(amount - cost) from sales a join few f on f.id = a.product join stock b"
        " on a.product = b.product and a.shop = b.shop where f.name like '%7%' and a.flag = 'R' and b.cost > 30"
    )
    physical = same(layout, database, text)
    hashed = [{c.name for c in edge.columns} for edge in physical.edges if isinstance(edge.router, HashRouter)]
    assert sorted(hashed, key=sorted) == [{"product", "shop", "amount"}, {"product", "shop", "cost"}]


def test_what_every_branch_says_of_a_table_is_its_filter(layout: Layout, database: LocalDatabase) -> None:
    text = (
        "select count(*), sum(amount) from sales a, shops s, shops t, stock b"
        " where a.shop = s.id and b.shop = t.id and a.product = b.product"
        " and ((s.town = 'town 1' and t.town = 'town 2') or (t.town = 'town 3' and s.id in (4, 5)))"
    )
    shops = _readers(same(layout, database, text), "shops")
    assert len(shops) == 2
    assert all(reader.filter is not None for reader in shops)


def test_a_correlated_condition_waits_for_joins_that_move_nothing(layout: Layout, database: LocalDatabase) -> None:
    where = "exists (select 1 from sales o where o.product = a.product and o.shop <> a.shop and o.amount > 900)"
    text = f"select count(*) from sales a, shops s where a.shop = s.id and s.town = 'town 1' and {where}"
    assert len(same(layout, database, text).fragments) == 2
    text = f"select count(*) from sales a, shops s, stock b where a.shop = s.id and b.product = a.product and {where}"
    asking = [f for f in same(layout, database, text).fragments if any(map(_asks, f.root.walk()))]
    assert [(f.inputs, _tables(f.root)) for f in asking] == [((), {"sales", "shops"})]


def _asks(node: Node) -> bool:
    condition = getattr(node, "filter", None)
    return condition is not None and any(isinstance(part, Subquery) for part in condition.walk())


@pytest.mark.parametrize(
    ("value", "joined", "is_pushed"),
    [
        ("a.amount", "sales a left join stock b on a.product = b.product and b.cost > 300", True),
        ("a.amount", "stock b right join sales a on a.product = b.product and b.cost > 300", True),
        ("a.amount", "stock b left join sales a on a.product = b.product and b.cost > 300", False),
        ("a.amount", "sales a full join stock b on a.amount = b.cost and b.cost > 9", False),
        ("s.id", "shops s left join stock b on b.cost > 410", True),
    ],
)
def test_a_condition_of_the_padded_side_is_done_before_it_moves(
    layout: Layout, database: LocalDatabase, value: str, joined: str, is_pushed: bool
) -> None:
    # The rows themselves, half a million of them, would be compared one by one.
    text = f"select count(*), count({value}), sum({value}), count(b.cost), sum(b.cost) from {joined}"
    [reader] = _readers(same(layout, database, text), "stock")
    assert (reader.filter is not None) == is_pushed


def test_pinned_tables_are_joined_as_well(layout: Layout, database: LocalDatabase) -> None:
    pinned = {file: member for t in layout.tables.values() for file, member in zip(t.files, "bcb", strict=True)}
    text = (
        "select s.town, count(*), sum(cost) from sales a join few f on f.id = a.product join stock b on b.product = f.id"
        " and b.shop = a.shop join shops s on s.id = a.shop where f.name like '%3' group by s.town"
    )
    same(replace(layout, pinned=pinned), database, text)


def test_few_rows_that_analyze_has_counted_are_sent_to_all(layout: Layout, database: LocalDatabase) -> None:
    text = (
        "select count(*), sum(a.amount + b.cost) from sales a join stock b on a.product = b.product where a.flag = 'Q'"
    )
    assert _routers(same(layout, database, text)) >= {HashRouter}
    analysed = {name: replace(of, statistics=_counted(of)) for name, of in layout.tables.items()}
    assert HashRouter not in _routers(same(replace(layout, tables=analysed), database, text))


def _routers(physical: PhysicalPlan) -> set[type]:
    return {type(edge.router) for edge in physical.edges}


def _counted(of: Table) -> TableStatistics:
    """Return statistics in which each column has a thousand values, none of them common."""
    columns = (ColumnStatistics(column.number, column.type.pg.oid, 0, 8, 1000) for column in of.columns)
    return TableStatistics(SALES, 1, tuple(columns))


# -- estimates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "least", "most"),
    [
        ("amount < 250", 0.2, 0.3),
        ("amount >= 250 and amount < 300", 0.02, 0.1),
        ("product = 7", 1 / 800, 1 / 200),
        ("product in (1, 2, 3, 4)", 1 / 200, 1 / 50),
        ("product <> 7", 0.99, 1),
        ("flag = 'R'", 0.1, 0.5),
        ("flag like 'R%'", 0.001, 0.1),
        ("flag not like 'R%'", 0.9, 1),
        ("flag is null", 0, 0.1),
        ("flag is not null", 0.9, 1),
        ("amount < 100 or amount >= 900", 0.15, 0.25),
        ("amount % 7 = 3", 0.001, 0.5),
        ("amount < product", 0.2, 0.5),
        ("not (amount < 250)", 0.7, 0.8),
    ],
)
def test_a_filter_keeps_about_so_much(layout: Layout, where: str, least: float, most: float) -> None:
    plan = layout.plan(f"select amount from sales where {where}")
    [reader] = [node for node in plan.walk() if isinstance(node, TableReader)]
    assert least <= estimate(reader, {}).rows / SALES <= most

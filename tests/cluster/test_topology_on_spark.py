"""Spark as the engine of pinned tables: each holder's Spark reads its local files, and its tasks send to receivers on
other members.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_cluster import LocalCluster
from support.member_process import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

TOPOLOGY = """
logical:
  - name: orders
    columns: {id: bigint, customer: integer, total: "numeric(15,2)", note: text, at: timestamptz, ratio: float8}
  - name: lines
    columns: {orders_id: bigint, quantity: integer}
nodes:
  - name: north
    address: 127.0.0.1:1
    physical: [{logical: orders, type: parquet, path: orders}]
  - name: south
    address: 127.0.0.1:2
    physical:
      - {logical: orders, type: parquet, path: orders.parquet}
      - {logical: lines, type: parquet, path: lines.parquet}
"""
ROWS = 60_000


def orders(first: int) -> pa.Table:
    ids = range(first, first + ROWS)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": pa.array([None if i % 101 == 0 else i % 997 for i in ids], pa.int32()),
            "total": pa.array([Decimal(i * 7 % 99_991) / 100 for i in ids], pa.decimal128(15, 2)),
            "note": pa.array([f"note {i % 1000}" for i in ids]),
            "at": pa.array([1_700_000_000_000_000 + i % 5000 * 1_000_001 for i in ids], pa.timestamp("us", "UTC")),
            "ratio": pa.array([None if i % 50 == 0 else i % 3000 / 7 for i in ids], pa.float64()),
        }
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("spark")
    (folder / "given.yaml").write_text(TOPOLOGY)
    (folder / "north" / "orders").mkdir(parents=True)
    (folder / "south").mkdir()
    for number in range(3):
        part = orders(0).slice(number * ROWS // 3, ROWS // 3)
        pq.write_table(part, folder / "north" / "orders" / f"{number}.parquet")
    pq.write_table(orders(ROWS), folder / "south" / "orders.parquet")
    lines = {
        "orders_id": pa.array([i * 3 % (2 * ROWS) for i in range(ROWS)], pa.int64()),
        "quantity": pa.array([i % 50 for i in range(ROWS)], pa.int32()),
    }
    pq.write_table(pa.table(lines), folder / "south" / "lines.parquet")
    flags = ("--topology", str(folder / "given.yaml"), "--spark-master", "local[1]", "--spark-memory", "600m")
    with LocalCluster(folder, None, 0, *flags) as cluster:
        yield cluster


def distsql(connection: psycopg.Connection[Any], query: str) -> dict[str, Any]:
    [(told,)] = connection.execute(f"explain (distsql, format json) {query}").fetchall()
    plan: dict[str, Any] = told[0]
    return plan


QUERIES = (
    "select count(*), sum(total), min(id), max(id) from orders",
    "select customer, count(*), sum(total) from orders group by customer order by 1 limit 20",
    "select o.note, sum(l.quantity), sum(o.total) from orders o join lines l on l.orders_id = o.id "
    "group by 1 order by 1 limit 30",
    "select count(*) from orders a join orders b on a.customer = b.customer and a.id = b.id + 997",
    "select id, note from orders where id % 5003 = 17 order by id desc",
    "select id from orders where note like '%99' order by total desc, id limit 10",
    "select count(distinct note) from orders",
    # A side that Spark's tasks part meets one that the local engines do: both must choose the same receiver.
    "select count(*), sum(x.n) from (select customer, count(*) as n from orders group by customer) x "
    "join orders o on o.customer = x.customer",
    "select count(*) from (select total, max(id) as id from orders group by total) x join orders o on o.total = x.total",
    "select count(*), sum(x.n) from (select ratio, at, count(*) as n from orders group by ratio, at) x "
    "join orders o on o.ratio = x.ratio and o.at = x.at",
    "select count(*) from (select note from lines join orders on id = orders_id group by note) x join orders o using (note)",
    "select id from orders where id > 100 limit 0",
    "select note from orders where id = -1",
)


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_the_local_engines(cluster: LocalCluster, query: str) -> None:
    with cluster.connect("north") as connection:
        connection.execute("set statement_timeout = '3min'")
        expected = connection.execute(query).fetchall()
        connection.execute("set sluice.engine = spark")
        leaves = [f for f in distsql(connection, query)["Fragments"] if not f["Inputs"]]
        assert {f["Engine"] for f in leaves} == {"spark"}
        assert connection.execute(query).fetchall() == expected


def test_tasks_hash_for_receivers_on_both_members(cluster: LocalCluster) -> None:
    with cluster.connect("north") as connection:
        connection.execute("set sluice.engine = spark")
        plan = distsql(connection, QUERIES[2])
        on_spark = {f["Fragment"] for f in plan["Fragments"] if f["Engine"] == "spark"}
        hashed = [e for e in plan["Edges"] if e["Router"].startswith("hash") and e["Source"] in on_spark]
        assert hashed
        assert all(edge["Receivers"] == 2 for edge in hashed)
        [(told,)] = connection.execute(f"explain (distsql, analyze, format json) {QUERIES[2]}").fetchall()
        [gathered] = [e for e in told[0]["Edges"] if e["Receivers"] == 1 and e["Source"] not in on_spark]
        assert gathered["Actual Rows"] == 60
        scanned = [e["Actual Rows"] for e in told[0]["Edges"] if e["Source"] in on_spark]
        assert sorted(scanned) == [ROWS, 2 * ROWS]
        read = [node["Actual Rows"] for node in nodes(told[0]["Plan"]) if node["Node Type"] == "TABLE READER"]
        assert sorted(read) == [ROWS, 2 * ROWS], "each member's Spark told what its own gave"


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def idle(cluster: LocalCluster, member: str) -> bool:
    """Whether it holds nothing of any query."""
    address = cluster.members[member]["console"]
    with urllib.request.urlopen(f"http://{address}/status", timeout=30) as answer:
        counters = json.load(answer)["counters"]
    mesh = {name: count for name, count in counters["mesh"].items() if name != "spooled"}
    return not any(mesh.values()) and counters["spark"]["productions"] == 0 and counters["local"]["streams"] == 0


def wait_idle(cluster: LocalCluster) -> None:
    for member in cluster.members:
        wait_until(lambda m=member: idle(cluster, m))


def test_whoever_has_enough_rows_ends_the_tasks(cluster: LocalCluster) -> None:
    with cluster.connect("south", autocommit=False) as connection:
        connection.execute("set sluice.engine = spark")
        connection.execute("set cursor_buffer_size = '64kB'")
        assert len(connection.execute("select * from orders limit 5").fetchall()) == 5
        connection.execute("declare c cursor for select * from orders")
        assert len(connection.execute("fetch 10 from c").fetchall()) == 10
        connection.execute("close c")
        wait_idle(cluster)
        assert connection.execute("select count(*) from orders").fetchone() == (2 * ROWS,)


def test_an_error_in_a_task_is_the_clients(cluster: LocalCluster) -> None:
    with cluster.connect("south") as connection:
        connection.execute("set sluice.engine = spark")
        with pytest.raises(psycopg.errors.DivisionByZero, match="division by zero"):
            connection.execute("select 1 / (id - 77) from orders")
        wait_idle(cluster)
        file = cluster.folder / "north" / "orders"
        away = file.rename(file.with_suffix(".away"))
        with pytest.raises(psycopg.errors.UndefinedFile, match='on member "north"'):
            connection.execute("select count(*) from orders")
        away.rename(file)
        wait_idle(cluster)


def test_files_that_appear_are_read_by_the_next_statement(cluster: LocalCluster) -> None:
    query = "select count(*), max(id) from orders"
    with cluster.connect("south") as connection:
        connection.execute("set sluice.engine = spark")
        before = connection.execute(query).fetchone()
        added = cluster.folder / "north" / "orders" / "added.parquet"
        pq.write_table(orders(10 * ROWS), added)
        assert connection.execute(query).fetchone() == (3 * ROWS, 11 * ROWS - 1)
        added.unlink()
        assert connection.execute(query).fetchone() == before

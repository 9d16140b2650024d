"""Real queries over a topology: members whose files no other member can read, and missing links that force rows to go
through other members.

Three members belong to a `sluice cluster up --topology`. `one` is a fourth process over copies of all the files, alone:
every answer is compared with its answer.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_cluster import LocalCluster
from support.member_fork import fork_command
from support.member_process import MemberProcess, wait_until
from support.ports import free_port

TOPOLOGY = """
logical:
  - name: orders
    columns: {id: bigint, customer: integer, total: "numeric(15,2)", note: text}
  - name: customers
    columns: {id: integer, name: text}
  - name: lines
    columns: {orders_id: bigint, quantity: integer}
  - name: regions
nodes:
  - name: north
    address: 10.0.0.1:7432
    links: [{to: hub, direction: up}]
    physical:
      - {logical: orders, type: parquet, path: orders}
      - {logical: customers, type: csv, path: customers.csv, options: {header: true}}
  - name: south
    address: 10.0.0.2:7432
    links: [{to: hub, direction: up}]
    physical:
      - {logical: orders, type: parquet, path: "orders/part-*.parquet"}
      - {logical: lines, type: parquet, path: lines.parquet}
  - name: hub
    address: 10.0.0.3:7432
    physical:
      - {logical: regions, type: json, path: regions.json}
  - name: far
    address: 10.0.0.4:7432
    links: [{to: hub, direction: down}]
"""
ROWS = 30_000


def orders(first: int) -> pa.Table:
    ids = range(first, first + ROWS)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": pa.array([None if i % 101 == 0 else i % 97 for i in ids], pa.int32()),
            "total": pa.array([Decimal(i * 7 % 99_991) / 100 for i in ids], pa.decimal128(15, 2)),
            "note": pa.array([f"note {i % 1000}" for i in ids]),
        }
    )


def lines() -> pa.Table:
    return pa.table(
        {
            "orders_id": pa.array([i * 3 % (2 * ROWS) for i in range(ROWS)], pa.int64()),
            "quantity": pa.array([i % 50 for i in range(ROWS)], pa.int32()),
        }
    )


def write(folder: Path) -> None:
    """Each member's files in its own data directory, and all of them where the member runs that is alone."""
    alone = folder / "alone"
    for place in ("north/orders/2024", "south/orders", "hub", "alone/orders"):
        (folder / place).mkdir(parents=True)
    halves = [orders(0).slice(0, ROWS // 2), orders(0).slice(ROWS // 2)]
    for number, half in enumerate(halves):
        pq.write_table(half, folder / f"north/orders/2024/{number}.parquet")
        pq.write_table(half, alone / f"orders/{number}.parquet")
    pq.write_table(orders(ROWS), folder / "south/orders/part-[1].parquet")
    pq.write_table(orders(ROWS), alone / "orders/2.parquet")
    pq.write_table(orders(9 * ROWS), folder / "south/orders/other.parquet")
    customers = "id,name\n" + "".join(f"{i},name {i % 40}\n" for i in range(90))
    regions = "".join(f'{{"id": {i}, "region": "region {i % 4}"}}\n' for i in range(97))
    for place in ("north", "alone"):
        (folder / place / "customers.csv").write_text(customers)
    for place in ("hub", "alone"):
        (folder / place / "regions.json").write_text(regions)
    for place in ("south", "alone"):
        pq.write_table(lines(), folder / place / "lines.parquet", row_group_size=5_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topology")
    write(folder)
    (folder / "given.yaml").write_text(TOPOLOGY)
    return folder


@pytest.fixture(scope="module")
def one(folder: Path) -> Iterator[psycopg.Connection[Any]]:
    with (
        MemberProcess(folder / "alone", environment={"SLUICE_SPARK__START": "lazy"}) as member,
        member.connect() as client,
    ):
        for table in (
            "orders (id bigint, customer integer, total numeric(15,2), note text) options (path 'orders')",
            "customers (id integer, name text) options (path 'customers.csv', header 'true')",
            "lines (orders_id bigint, quantity integer) options (path 'lines.parquet')",
            "regions options (path 'regions.json')",
        ):
            client.execute(f"create foreign table {table}")
        yield client


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[LocalCluster]:
    with LocalCluster(folder, None, 0, "--topology", str(folder / "given.yaml")) as cluster:
        yield cluster


QUERIES = (
    "select count(*), sum(total), min(id), max(id) from orders",
    "select customer, count(*), sum(total) from orders group by customer order by 1 limit 20",
    "select id, note from orders where id % 5003 = 17 order by id desc",
    "select * from orders where id = 31000",
    "select c.name, count(*), sum(o.total) from orders o join customers c on c.id = o.customer "
    "group by 1 order by 2 desc, 1 limit 7",
    "select count(*), sum(l.quantity * o.total) from orders o join lines l on l.orders_id = o.id where o.total > 500",
    "select c.name, sum(l.quantity) from lines l join orders o on o.id = l.orders_id left join customers c on c.id = o.customer "
    "group by 1 order by 1 nulls first",
    "select count(distinct o.customer), count(distinct note) from orders o",
    "select note from orders except select 'note ' || quantity from lines order by 1 limit 5",
    "select count(*) from orders where customer not in (select id from customers)",
    "select id, rank() over (order by total desc, id) from orders order by 2 limit 5",
    "select (select count(*) from lines l where l.orders_id < 100), (select max(name) from customers)",
)


@pytest.mark.parametrize("initiator", ["hub", "far"])
@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_one_member(
    cluster: LocalCluster, one: psycopg.Connection[Any], query: str, initiator: str
) -> None:
    expected = one.execute(query).fetchall()
    with cluster.connect(initiator) as connection:
        connection.execute("set statement_timeout = '2min'")
        for distribution in ("auto", "off"):
            connection.execute(f"set sluice.distribution = {distribution}")
            assert connection.execute(query).fetchall() == expected


def distsql(connection: psycopg.Connection[Any], query: str) -> dict[str, Any]:
    [(told,)] = connection.execute(f"explain (distsql, format json) {query}").fetchall()
    plan: dict[str, Any] = told[0]
    return plan


def places(plan: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The members of each fragment, producers first, with why it is where it is."""
    return [(f["Reason"], [i["Member"] for i in f["Instances"]]) for f in reversed(plan["Fragments"])]


def test_fragments_stand_where_their_files_are_and_along_the_links(cluster: LocalCluster) -> None:
    query = "select customer, count(*) from orders group by 1"
    with cluster.connect("hub") as connection:
        plan = distsql(connection, query)
        assert plan["Distribution"] == "it reads tables that other members hold; placed along the topology's links"
        assert ["north", "south"] in [members for _, members in places(plan)]
        assert all(members == ["hub"] for _, members in places(plan)[1:])
    with cluster.connect("far") as connection:
        plan = distsql(connection, query)
        assert places(plan)[0][1] == ["north", "south"]
        assert places(plan)[-1][1] == ["far"]
        assert ["hub"] in [members for _, members in places(plan)[1:-1]]
        plan = distsql(connection, "select id from orders")
        assert [reason for reason, members in places(plan) if members == ["hub"]] == ["it passes on"]
        text = "\n".join(line for (line,) in connection.execute(f"explain (distsql) {query}").fetchall())
        assert (
            "Engine: local (it reads its splits in place)\n  Instance 0: north, reader 1: 1 split, of a size not known here"
            in text
        )


def test_files_that_are_here_are_read_here(cluster: LocalCluster, one: psycopg.Connection[Any]) -> None:
    query = "select count(*), max(name) from customers"
    with cluster.connect("north") as connection:
        assert connection.execute(query).fetchone() == one.execute(query).fetchone()
        plan = distsql(connection, query)
        assert [members for _, members in places(plan)] == [["north"]]
        connection.execute("set sluice.distribution = always")
        assert connection.execute(query).fetchone() == one.execute(query).fetchone()
        # Nothing may be sent to it.
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='no links lead from member "south"'):
            connection.execute("select count(*) from orders")


def test_files_that_appear_are_seen_wherever_they_are(cluster: LocalCluster) -> None:
    with cluster.connect("hub") as here, cluster.connect("north") as there:
        query = "select count(*) from customers"
        before = [c.execute(query).fetchone() for c in (here, there)]
        file = cluster.folder / "north" / "customers.csv"
        text = file.read_text()
        file.write_text(text + "1000,new\n")
        assert before == [(90,), (90,)]
        assert [c.execute(query).fetchone() for c in (here, there)] == [(91,), (91,)]
        file.write_text(text)
        assert [c.execute(query).fetchone() for c in (here, there)] == before


def test_they_are_tables_like_others_that_nobody_changes(cluster: LocalCluster, one: psycopg.Connection[Any]) -> None:
    listed = (
        "select c.relname, c.relkind, n.nspname, a.attname, a.atttypid, a.atttypmod from pg_class c "
        "join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid "
        "where c.relname in ('orders', 'customers', 'lines') and a.attnum > 0 order by 1, a.attnum"
    )
    with cluster.connect("far") as connection:
        assert connection.execute(listed).fetchall() == one.execute(listed).fetchall()
        assert connection.execute("select 'orders'::regclass::oid > 2147483647").fetchone() == (True,)
        with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="the topology file requires it"):
            connection.execute("drop foreign table orders")
        with pytest.raises(psycopg.errors.DuplicateTable):
            connection.execute("create foreign table orders (id int) options (path 'given.yaml', format 'csv')")
        with pytest.raises(psycopg.errors.WrongObjectType):
            connection.execute("create or replace view orders as select 1")
        connection.execute("create view dear as select id, total from orders where total > 990")
        connection.execute("prepare p(numeric) as select count(*) from dear where total < $1")
        for bound in ("999", "995.5"):
            query = f"select count(*) from orders where total > 990 and total < {bound}"
            assert connection.execute(f"execute p({bound})").fetchone() == one.execute(query).fetchone()
        connection.execute("drop view dear")


def test_columns_that_only_the_holder_knows(cluster: LocalCluster, one: psycopg.Connection[Any]) -> None:
    query = "select r.region, count(*) from orders o, regions r where r.id = o.customer group by 1 order by 1"
    with cluster.connect("hub") as hub, cluster.connect("far") as far:
        assert hub.execute(query).fetchall() == one.execute(query).fetchall()
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='columns of "regions" are not known'):
            far.execute(query)


def test_files_that_are_gone_are_missed_by_their_holder(cluster: LocalCluster) -> None:
    file = cluster.folder / "south" / "lines.parquet"
    away = file.rename(file.with_suffix(".away"))
    with cluster.connect("hub") as connection:
        with pytest.raises(psycopg.errors.UndefinedFile, match=r'lines.parquet".* \(on member "south"\)'):
            connection.execute("select count(*) from lines")
        away.rename(file)
        assert connection.execute("select count(*) from lines").fetchone() == (ROWS,)


# -- members that are lost, roots, capacities ------------------------------------------------------------------------


PAIR = """
logical:
  - {name: t, columns: {x: bigint}}
nodes:
  - {name: m1, address: "127.0.0.1:%d"}
  - name: m2
    address: 127.0.0.1:%d
    capacity: %s
    physical: [{logical: t, type: parquet, path: t}]
"""


class Pair:
    """Two members of a topology; the second holds the table t."""

    def __init__(self, folder: Path, capacity: str = "4") -> None:
        self.folder = folder
        self.ports = free_port(), free_port()
        (folder / "topology.yaml").write_text(PAIR % (*self.ports, capacity))

    def member(self, number: int, **more: str) -> MemberProcess:
        data = self.folder / f"m{number}"
        data.mkdir(exist_ok=True)
        environment = {
            "SLUICE_MEMBER": data.name, "SLUICE_SPARK__START": "lazy", "SLUICE_ROOTS": str(data),
            "SLUICE_CLUSTER__TOPOLOGY": str(self.folder / "topology.yaml"), "SLUICE_CLUSTER__HEARTBEAT": "0.1",
            "SLUICE_CLUSTER__FAILURE_AFTER": "5", "SLUICE_CLUSTER__SECRET": "for the tests only", **more,
        }  # fmt: skip
        flags = ("--mesh", f"127.0.0.1:{self.ports[number - 1]}")
        return MemberProcess(data, *flags, environment=environment, log=data / "log")


def state_of(connection: psycopg.Connection[Any], member: str) -> str | None:
    found = connection.execute("select state from sluice.members where id = %s", [member]).fetchone()
    return found[0] if found else None


@pytest.mark.long
def test_a_holder_that_is_lost_and_comes_back(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    (tmp_path / "m2" / "t").mkdir(parents=True)
    pq.write_table(pa.table({"x": list(range(1000))}), tmp_path / "m2" / "t" / "1.parquet")
    query = "select count(*), sum(x) from t"
    with pair.member(1) as m1, m1.connect() as connection:
        with pytest.raises(psycopg.errors.SerializationFailure, match='could not read table "t": member "m2"'):
            connection.execute(query)
        with pair.member(2) as m2:
            # They know each other by the file's addresses: no seeds were given.
            wait_until(lambda: state_of(connection, "m2") == "up")
            assert connection.execute(query).fetchone() == (1000, 499_500)
            m2.send(signal.SIGSTOP)
            wait_until(lambda: state_of(connection, "m2") == "lost")
            with pytest.raises(psycopg.errors.SerializationFailure, match='"m2", which holds files of it, is lost'):
                connection.execute(query)
            m2.send(signal.SIGCONT)
            wait_until(lambda: state_of(connection, "m2") == "up")
            assert connection.execute(query).fetchone() == (1000, 499_500)


def test_a_member_reads_nothing_outside_its_roots_for_others(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    for number in range(4):
        pq.write_table(pa.table({"x": [number]}), shared / f"{number}.parquet")
    catalog = {"SLUICE_CATALOG": str(tmp_path / "catalog.sqlite")}
    roots = {"SLUICE_ROOTS": f"{tmp_path / 'm1'}:{shared}"}
    with pair.member(1, **catalog, **roots) as m1, pair.member(2, **catalog), m1.connect() as connection:
        wait_until(lambda: state_of(connection, "m2") == "up")
        connection.execute(f"create foreign table s options (path '{shared}', format 'parquet')")
        assert connection.execute("select sum(x) from s").fetchone() == (6,)
        connection.execute("set sluice.distribution = always")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="outside the folders that this member may read"):
            connection.execute("select sum(x) from s")


def test_capacity_is_respected(tmp_path: Path) -> None:
    pair = Pair(tmp_path, "1")
    (tmp_path / "m2" / "t").mkdir(parents=True)
    pq.write_table(pa.table({"x": list(range(10))}), tmp_path / "m2" / "t" / "1.parquet")
    with pair.member(1) as m1, pair.member(2), m1.connect() as connection:
        wait_until(lambda: state_of(connection, "m2") == "up")
        assert connection.execute("select sum(x) from t").fetchone() == (45,)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match='member "m2" takes 1 fragments'):
            connection.execute("select count(*) from (select x from t limit 3) a join t b on a.x = b.x + 1")


def test_a_mistake_in_the_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text("nodes:\n  - name: a\n    address: 10.0.0.1:7432\n    links: [b]\n")
    for words in (
        ("cluster", "up", "--topology", str(tmp_path / "topology.yaml"), "--data", str(tmp_path / "c")),
        ("serve", "--check", "--config", str(tmp_path / "member.toml")),
    ):
        (tmp_path / "member.toml").write_text(f"[cluster]\ntopology = '{tmp_path / 'topology.yaml'}'\n")
        done = fork_command(words, os.environ)
        assert done.returncode != 0
        assert "topology.yaml, line 4: nodes[0].links[0].to: there is no node" in done.stderr

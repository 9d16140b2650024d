"""Imported tables of Spark's own catalogs: the session catalog, and a JDBC catalog over a database in the JVM's memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from support.local_member import LocalMember, local_member

from engine.executors.engine_config import SparkConfig

pytestmark = [pytest.mark.spark, pytest.mark.long]

Connection = psycopg.Connection[tuple[Any, ...]]
INSTANT = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
CONF = {
    "spark.sql.catalog.house": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    "spark.sql.catalog.house.url": "jdbc:derby:memory:house;create=true",
    "spark.driver.extraJavaOptions": "-Dderby.stream.error.file=/dev/null",
}


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member"), spark=SparkConfig("local[2]", conf=CONF)) as running:
        with running.connect() as connection:
            connection.execute("set sluice.engine = spark")
            connection.execute("select count(*) from generate_series(1, 3)")
        yield running


@pytest.fixture(scope="module")
def spark(member: LocalMember) -> Callable[[str], Any]:
    """Runs a statement in the member's Spark, as its owner might."""
    session = SparkSession(SparkContext.getOrCreate())
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session.sql


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        client.execute("create schema s")
        yield client
        client.execute("drop schema s cascade")


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def test_the_sessions_catalog(connection: Connection, spark: Callable[[str], Any]) -> None:
    spark("create database lake")
    spark(
        "create table lake.t using parquet as select cast(1 as bigint) as id, 'a' as `odd name`, array(1, null) as l,"
        " cast('2024-02-29 12:00:00' as timestamp) as moment, cast(1.5 as decimal(6,2)) as d, named_struct('x', 1) as s"
    )
    spark("create view lake.v as select id * 2 as twice from lake.t")
    notices: list[str] = []
    connection.add_notice_handler(lambda told: notices.append(told.message_primary or ""))
    assert (
        connection.execute("import foreign schema lake from server spark into s").statusmessage
        == "IMPORT FOREIGN SCHEMA"
    )
    assert notices == ['column "s" of "t" is left out: its type in Spark is struct<x:int>']
    assert rows(connection, "select * from s.t") == [(1, "a", [1, None], INSTANT, Decimal("1.50"))]
    assert rows(connection, "select twice from s.v where twice = 2") == [(2,)]
    spark("insert into lake.t select id + 1, 'b', l, moment, d, s from lake.t")
    assert rows(connection, 'select id, "odd name" from s.t order by id') == [(1, "a"), (2, "b")]
    assert rows(connection, "select count(*) from s.t a join s.t b on a.id = b.id") == [(2,)]
    told = rows(connection, "explain select * from s.t")
    assert any("a table of Spark's catalogs" in line for (line,) in told)
    connection.execute("set sluice.engine = local")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="a table of Spark's catalogs"):
        rows(connection, "select * from s.t")


def test_a_jdbc_catalog(connection: Connection, spark: Callable[[str], Any], tmp_path: Any) -> None:
    spark("create table house.APP.items (id int, price decimal(10,2), day date)")
    spark("create table house.APP.others (id int)")
    spark("insert into house.APP.items values (1, 2.50, date '2024-02-29'), (2, null, null)")
    connection.execute('import foreign schema "house.APP" limit to (items, nothing) from server spark into s')
    imported = "select relname from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 's'"
    assert rows(connection, imported) == [("items",)]
    assert rows(connection, "select * from s.items where id = 1") == [(1, Decimal("2.50"), dt.date(2024, 2, 29))]
    pq.write_table(pa.table({"id": [1, 2], "n": ["one", "two"]}), tmp_path / "n.parquet")
    connection.execute(f"create foreign table s.n options (path '{tmp_path}/n.parquet')")
    joined = "select n, price from s.items join s.n using (id) order by id"
    assert rows(connection, joined) == [("one", Decimal("2.50")), ("two", None)]
    spark("insert into house.APP.items values (3, 1, null)")
    assert rows(connection, "select count(*) from s.items") == [(3,)]
    spark("drop table house.APP.items")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="Spark has no table"):
        rows(connection, "select * from s.items")


def test_what_is_refused(connection: Connection, spark: Callable[[str], Any]) -> None:
    del spark
    wrong = {
        "lake from server other into s": (psycopg.errors.UndefinedObject, 'server "other" does not exist'),
        "lake from server spark into nowhere": (psycopg.errors.InvalidSchemaName, 'schema "nowhere" does not exist'),
        '"no.such" from server spark into s': (psycopg.errors.InvalidSchemaName, 'schema "no.such" is not present'),
        "parquet from server spark into s": (psycopg.errors.InvalidSchemaName, 'schema "parquet" is not present'),
    }
    for text, (error, told) in wrong.items():
        with pytest.raises(error, match=told):
            connection.execute(f"import foreign schema {text}")
    connection.execute("set default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("import foreign schema lake from server spark into s")
    connection.execute("set default_transaction_read_only = off")

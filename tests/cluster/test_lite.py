"""Lite members as real clients use them: what they answer, what they refuse, how drivers avoid them, and how they
forward connections.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.jdbc import Jdbc
from support.local_cluster import LocalCluster
from support.packages import require


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("lite")
    pq.write_table(pa.table({"x": list(range(10_000))}), folder / "t.parquet")
    with LocalCluster(folder, 2, 1) as cluster:
        with cluster.connect("m1") as connection:
            connection.execute("create foreign table t options (path 't.parquet', format 'parquet')")
            connection.execute("create view constant as select 42 as answer")
        yield cluster


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("select 1", (1,)),
        ("select sum(i) from generate_series(1, 10) g(i)", (55,)),
        ("select relname from pg_class where relname = 't'", ("t",)),
        ("select answer from constant", (42,)),
        ("show transaction_read_only", ("on",)),
        ("select pg_is_in_recovery()", (True,)),
    ],
)
def test_what_reads_no_table_is_answered(cluster: LocalCluster, query: str, answer: tuple[object, ...]) -> None:
    with cluster.connect("l1") as connection:
        connection.execute("set statement_timeout = '1min'")
        assert connection.execute(query).fetchone() == answer


@pytest.mark.parametrize(
    "statement",
    [
        "select * from t",
        "select count(*) from constant, t",
        "explain analyze select * from t",
        "create schema s",
        "create view v as select 1",
        "create foreign table u options (path 't.parquet', format 'parquet')",
        "drop view constant",
        "drop foreign table t",
    ],
)
def test_the_rest_is_refused_and_data_members_are_named(cluster: LocalCluster, statement: str) -> None:
    with cluster.connect("l1") as connection, pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
        connection.execute(statement)
    hint = caught.value.diag.message_hint or ""
    assert f"127.0.0.1:{cluster.port_of('m1')}" in hint
    assert f"127.0.0.1:{cluster.port_of('m2')}" in hint
    assert f":{cluster.port_of('l1')}" not in hint


def test_cursors_are_refused_too_and_the_session_lives_on(cluster: LocalCluster) -> None:
    with cluster.connect("l1", autocommit=False) as connection:
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("declare c cursor for select * from t")
        connection.rollback()
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_data_member_says_that_it_may_be_written_to(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as connection:
        assert connection.info.parameter_status("in_hot_standby") == "off"
        assert connection.execute("select pg_is_in_recovery()").fetchone() == (False,)
    with cluster.connect("l1") as connection:
        assert connection.info.parameter_status("in_hot_standby") == "on"
        assert connection.info.parameter_status("default_transaction_read_only") == "on"


@pytest.mark.parametrize(
    ("wish", "member"),
    [("read-write", "m1"), ("primary", "m1"), ("read-only", "l1"), ("standby", "l1"), ("any", "l1")],
)
def test_drivers_with_several_hosts_find_the_member_they_want(cluster: LocalCluster, wish: str, member: str) -> None:
    ports = f"{cluster.port_of('l1')},{cluster.port_of('m1')}"
    with cluster.connect("l1", host="127.0.0.1,127.0.0.1", port=ports, target_session_attrs=wish) as connection:
        assert connection.info.port == cluster.port_of(member)
    require(shutil.which("psql"))
    url = f"host=127.0.0.1,127.0.0.1 port={ports} user=me dbname=sluice target_session_attrs={wish}"
    done = subprocess.run(["psql", "-XAt", url, "-c", "\\echo :PORT"], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(cluster.port_of(member)), done.stderr


def test_a_connection_may_ask_to_be_carried_on(cluster: LocalCluster) -> None:
    with cluster.connect("l1", options="-c sluice.lite_routing=forward", autocommit=False) as connection:
        assert connection.info.parameter_status("in_hot_standby") == "off"
        with connection.cursor("c") as cursor:
            cursor.execute("select x from t order by x")
            assert cursor.fetchmany(3) == [(0,), (1,), (2,)]
            assert len(cursor.fetchall()) == 9_997


def test_a_wrong_wish_is_told(cluster: LocalCluster) -> None:
    with pytest.raises(psycopg.OperationalError, match="Available values: refuse, forward"):
        cluster.connect("l1", options="-c sluice.lite_routing=perhaps")


def test_jdbc_finds_a_data_member_among_several_hosts(cluster: LocalCluster) -> None:
    hosts = ",".join(f"127.0.0.1:{cluster.port_of(member)}" for member in ("l1", "m2"))
    url = f"jdbc:postgresql://{hosts}/sluice?user=me"
    with Jdbc() as jdbc:
        for target, member in (("primary", "m2"), ("secondary", "l1"), ("any", "l1")):
            connection = jdbc.connect(f"{url}&targetServerType={target}")
            here = jdbc.rows(connection, "select id from sluice.members where is_local")
            assert here == [(member,)], target
            connection.close()

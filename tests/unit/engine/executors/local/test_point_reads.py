"""Point reads from columns in memory: they return what DuckDB returns, reflect the files' current rows, and do not
affect other queries.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.executors.local import point_reads

Client = psycopg.Connection[tuple[Any, ...]]
ROWS = 4_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def member(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as member, member.connect() as client:
        write(lake / "t" / "1.parquet", table(1, 0))
        write(lake / "t" / "2.parquet", table(2, ROWS))
        client.execute(f"create foreign table t options (path '{lake / 't'}', format 'parquet')")
        yield member


@pytest.fixture
def client(member: LocalMember) -> Iterator[Client]:
    with member.connect() as client:
        client.execute("set sluice.engine = local")
        yield client


def table(seed: int, first: int) -> pa.Table:
    """A column of each type that is held, in order and not, with nulls and without."""
    draw = random.Random(seed)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.1 else value

    numbers = range(first, first + ROWS)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "pair": pa.array([n // 2 for n in numbers], pa.int32()),
            "spread": pa.array([draw.randrange(500) for _ in numbers], pa.int32()),
            "small": pa.array([some(draw.randrange(-3, 3)) for _ in numbers], pa.int16()),
            "word": pa.array([some(draw.choice(["", "a", "é", "a'b", "ab" * 9])) for _ in numbers], pa.string()),
            "day": pa.array(
                [some(dt.date(2024, 1, 1) + dt.timedelta(draw.randrange(30))) for _ in numbers], pa.date32()
            ),
            "amount": pa.array([some(Decimal(draw.randrange(10**6)) / 100) for _ in numbers], pa.decimal128(10, 2)),
            "ratio": pa.array([some(draw.choice([0.5, -0.0, float("inf")])) for _ in numbers], pa.float64()),
            "flag": pa.array([some(draw.random() < 0.5) for _ in numbers], pa.bool_()),
        }
    )


def write(path: Path, rows: pa.Table, *, age: float = 10.0) -> None:
    """Write a Parquet file of several row groups that last changed a while ago."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path, row_group_size=1_000)
    changed = time.time() - age
    os.utime(path, (changed, changed))


def answered(member: LocalMember) -> int:
    return member.engine.executors.local.statistics()["point_reads"]


def ask_until_held(member: LocalMember, client: Client, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """The rows of a query, asked again until it is answered from columns in memory."""
    found: list[list[tuple[Any, ...]]] = []

    def is_answered() -> bool:
        before = answered(member)
        found.append(client.execute(query.encode(), arguments or None, prepare=True).fetchall())
        return answered(member) > before

    wait_until(is_answered)
    assert all(rows == found[0] for rows in found), "the same rows, wherever they come from"
    return found[0]


ALL = "id, pair, spread, small, word, day, amount, ratio, flag"


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("id = 1234", "id + 0 = 1234"),
        ("7999 = id", "id + 0 = 7999"),
        ("pair = 777", "pair + 0 = 777"),
        ("spread = 17 and small = 2", "spread + 0 = 17 and small + 0 = 2"),
        ("spread = 17 and small = -2 and word = 'é'", "spread + 0 = 17 and small + 0 = -2 and word || '' = 'é'"),
        ("word = '' and pair = 3", "word || '' = '' and pair + 0 = 3"),
        ("small = 1 and small = 2 and pair = 3", "false"),
        ("small = 70000 and pair = 3", "false"),
    ],
)
def test_rows_of_given_values_are_those_that_duckdb_finds(
    member: LocalMember, client: Client, condition: str, same: str
) -> None:
    before = client.execute(f"select {ALL} from t where {same}".encode()).fetchall()
    assert ask_until_held(member, client, f"select {ALL} from t where {condition}") == before


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_rows_of_parameters_are_those_that_duckdb_finds(member: LocalMember, client: Client, mode: str) -> None:
    client.execute(f"set plan_cache_mode = {mode}".encode())
    query, same = f"select {ALL} from t where spread = %s and word = %s", "spread + 0 = %s and word || '' = %s"
    ask_until_held(member, client, query, 1, "a")
    draw = random.Random(5)
    before = answered(member)
    for _ in range(40):
        values = draw.randrange(500), draw.choice(["", "a", "é", "a'b", "ab" * 9, None])
        found = client.execute(query.encode(), values, prepare=True).fetchall()
        assert found == client.execute(f"select {ALL} from t where {same}".encode(), values).fetchall()
    # A value that rules the files out, or decides what is planned, may be read another way.
    assert answered(member) > before


@pytest.mark.parametrize("value", [None, -9, 3_000, 99_999_999_999])
def test_a_value_that_no_row_has_equals_nothing(member: LocalMember, client: Client, value: int | None) -> None:
    client.execute("set plan_cache_mode = force_generic_plan")
    query = "select id from t where spread = %s and small = %s"
    ask_until_held(member, client, query, 5, 1)
    before = answered(member)
    assert client.execute(query.encode(), (5, value), prepare=True).fetchall() == []
    assert client.execute(query.encode(), (value, 1), prepare=True).fetchall() == []
    assert answered(member) == before + 2


@pytest.mark.parametrize("limit", [0, 1, 3, 5, 10_000])
def test_limit_gives_the_first_rows_in_the_order_of_the_files(member: LocalMember, client: Client, limit: int) -> None:
    whole = ask_until_held(member, client, "select id, day from t where spread = 321")
    assert len(whole) > 5
    assert ask_until_held(member, client, f"select id, day from t where spread = 321 limit {limit}") == whole[:limit]


def test_a_column_may_be_given_twice_and_a_row_fetched_by_the_page(member: LocalMember, client: Client) -> None:
    rows = ask_until_held(member, client, "select word, id, word from t where spread = 8")
    assert rows == [(word, number, word) for word, number, _ in rows]
    with client.transaction(), client.cursor("c") as cursor:
        cursor.itersize = 3
        cursor.execute("select word, id, word from t where spread = 8")
        assert list(cursor) == rows


@pytest.mark.parametrize(
    "query",
    [
        "select id from t where pair = 3 or pair = 4",
        "select id from t where pair = 3 order by word",
        "select id + 1 from t where pair = 3",
        "select id from t where pair > 7990",
        "select id from t where pair = 3 limit 1 offset 1",
        "select count(*) from t where pair = 3",
        "select distinct word from t where pair = 3",
        "select id from t where pair = spread",
        "select id from t where ratio = 0.5 and pair = 3",
        "select id from t where pair is not distinct from 3",
        "select 1 from t where pair = 3",
    ],
)
def test_other_queries_are_left_to_duckdb(member: LocalMember, client: Client, query: str) -> None:
    ask_until_held(member, client, "select id, word, spread, ratio from t where pair = 3")
    before = answered(member)
    for _ in range(4):
        client.execute(query.encode(), prepare=True).fetchall()
    assert answered(member) == before


def test_queries_for_many_rows_are_left_to_duckdb(
    member: LocalMember, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_reads, "_ROWS_MOST", 1)
    ask_until_held(member, client, "select id from t where id = 5")
    before = answered(member)
    for _ in range(4):
        assert len(client.execute("select id from t where pair = 5", prepare=True).fetchall()) == 2
    assert answered(member) == before


def test_a_file_that_is_replaced_is_read_again(member: LocalMember, client: Client, lake: Path) -> None:
    file = lake / "replaced.parquet"
    write(file, pa.table({"k": [1, 2], "v": ["old", "old"]}), age=100)
    client.execute(f"create foreign table replaced options (path '{file}', format 'parquet')".encode())
    assert ask_until_held(member, client, "select v from replaced where k = 2") == [("old",)]
    write(file, pa.table({"k": [2, 3], "v": ["new", "new"]}), age=50)
    assert client.execute("select v from replaced where k = 2", prepare=True).fetchall() == [("new",)]
    assert ask_until_held(member, client, "select v from replaced where k = 2") == [("new",)]
    file.unlink()
    with pytest.raises(psycopg.Error):
        client.execute("select v from replaced where k = 2", prepare=True).fetchall()


def test_a_file_that_changed_a_moment_ago_is_not_held(member: LocalMember, client: Client, lake: Path) -> None:
    write(lake / "fresh.parquet", pa.table({"k": [1, 2]}), age=-3600)
    client.execute(f"create foreign table fresh options (path '{lake / 'fresh.parquet'}', format 'parquet')".encode())
    before = answered(member)
    for _ in range(5):
        assert client.execute("select k from fresh where k = 2", prepare=True).fetchall() == [(2,)]
    assert answered(member) == before


def test_a_stored_table_has_its_rows_of_now(member: LocalMember, client: Client) -> None:
    client.execute("create table s (k int primary key, v text, n numeric(6, 2))")
    client.execute("insert into s select g, 'v' || g, g / 4.0 from generate_series(1, 500) g")
    query = "select v, n from s where k = %s"
    assert ask_until_held(member, client, query, 44) == [("v44", Decimal("11.00"))]
    client.execute("update s set v = 'other' where k = 44")
    assert client.execute(query.encode(), (44,), prepare=True).fetchall() == [("other", Decimal("11.00"))]
    assert ask_until_held(member, client, query, 44) == [("other", Decimal("11.00"))]
    with client.transaction(force_rollback=True):
        client.execute("delete from s where k = 44")
        assert client.execute(query.encode(), (44,), prepare=True).fetchall() == []
    assert client.execute(query.encode(), (44,), prepare=True).fetchall() == [("other", Decimal("11.00"))]
    client.execute("alter table s rename v to w")
    client.execute("alter table s add v int")
    assert client.execute("select w, v from s where k = 44").fetchall() == [("other", None)]
    client.execute("drop table s")


def test_what_is_held_stays_within_its_bytes(
    member: LocalMember, client: Client, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_reads, "_COLUMN_BYTES", 4_096)
    rows = pa.table({"k": range(1_000), "v": ["x" * 100] * 1_000})
    write(lake / "large.parquet", rows)
    client.execute(f"create foreign table large options (path '{lake / 'large.parquet'}', format 'parquet')".encode())
    before = answered(member)
    for _ in range(6):
        assert client.execute("select v from large where k = 7", prepare=True).fetchall() == [("x" * 100,)]
    assert answered(member) == before
    held = member.engine.executors.local.statistics()
    assert held["held_columns"] > 0
    assert held["held_column_bytes"] <= point_reads.HELD_BYTES


def test_explain_analyze_and_limited_roles_run_the_statement(member: LocalMember, client: Client) -> None:
    ask_until_held(member, client, "select id from t where id = 6")
    before = answered(member)
    plan = client.execute("explain (analyze, distsql) select id from t where id = 6").fetchall()
    assert plan
    assert answered(member) == before

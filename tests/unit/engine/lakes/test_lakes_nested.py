"""Structs, maps and lists of them in files: jsonb columns with the values that PostgreSQL's to_jsonb returns. A column
without a matching type is left out with a notice.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from support.distributed_ground import Layout, same
from support.local_member import LocalMember, local_member
from support.nested_files import EXPECTED, NESTED
from support.postgres_server import PostgresServer

from engine.catalog.model.objects import Table
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.lakes.infer import infer_columns

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        client.execute("set TimeZone = 'America/New_York'")
        yield client


def attach(connection: Connection, path: Path, columns: str = "", **options: str) -> list[str]:
    """The notices of CREATE FOREIGN TABLE."""
    told: list[str] = []
    connection.execute("drop foreign table if exists t")
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    listed = ", ".join(f"{name} '{value}'" for name, value in {"path": str(path), **options}.items())
    connection.execute(f"create foreign table t {columns} options ({listed})")
    return told


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def types(connection: Connection) -> dict[str, str]:
    found = "select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0"
    return dict(rows(connection, found))


@pytest.mark.postgres
def test_values_are_those_of_to_jsonb(connection: Connection, tmp_path: Path, postgres: PostgresServer) -> None:
    pq.write_table(NESTED, tmp_path / "f.parquet")
    assert attach(connection, tmp_path) == []
    with psycopg.connect(postgres.dsn) as oracle:
        oracle.execute("set TimeZone = 'America/New_York'")
        for column, expressions in EXPECTED.items():
            assert types(connection)[column] == "jsonb"
            found = rows(connection, f"select {column}::text from t order by id")
            assert found == [oracle.execute(f"select ({text})::text").fetchone() for text in expressions], column


def test_parts_and_filters(connection: Connection, tmp_path: Path) -> None:
    pq.write_table(NESTED, tmp_path / "f.parquet")
    attach(connection, tmp_path)
    assert rows(connection, "select id from t where s ->> 'bb' = '1'") == [(1,)]
    assert rows(connection, "select s -> 'l' -> 0 ->> 'x' from t where id = 1") == [("1",)]
    assert rows(connection, "select id from t where s is null") == [(2,)]
    assert rows(connection, "select id from t where m @> '{\"k\": 1}' and m ? 'z'") == [(1,)]
    assert rows(connection, "select count(*), count(s), count(distinct ll) from t where id < 10") == [(3, 2, 2)]
    assert rows(connection, "select key from jsonb_object_keys((select m from t where id = 1)) as key order by 1") == [
        ("a b",),
        ("k",),
        ("z",),
    ]


def test_a_column_without_a_type_is_left_out_with_a_notice(connection: Connection, tmp_path: Path) -> None:
    wide = pa.array([Decimal("0.5")], pa.decimal256(60, 50))
    cased = pa.array([{"a": 1, "A": 2}])
    pq.write_table(pa.table({"id": [7], "wide": wide, "cased": cased, "s": [{"a": 1}]}), tmp_path / "f.parquet")
    assert attach(connection, tmp_path) == [
        'column "wide" of "t" is left out: its type in the files is decimal256(60, 50)',
        'column "cased" of "t" is left out: its type in the files is struct<a: int64, A: int64>',
    ]
    assert rows(connection, "select * from t") == [(7, {"a": 1})]
    pq.write_table(pa.table({"wide": wide}), tmp_path / "f.parquet")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match='"wide" of type decimal256'):
        attach(connection, tmp_path)


def test_files_whose_structs_differ(connection: Connection, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "s": [{"a": 1, "b": "x"}]}), tmp_path / "1.parquet")
    attach(connection, tmp_path)
    pq.write_table(pa.table({"s": [{"c": 2.5, "b": "y"}], "id": [2]}), tmp_path / "0.parquet")
    assert rows(connection, "select id, s from t order by id") == [(1, {"a": 1, "b": "x"}), (2, {"a": None, "b": "y"})]


def test_declared_columns(connection: Connection, tmp_path: Path) -> None:
    document = '{"b": 1, "a": [1.50]}'
    pq.write_table(pa.table({"s": [{"b": 1, "aa": 2}], "doc": [document]}), tmp_path / "f.parquet")
    attach(connection, tmp_path, "(doc jsonb, s json)")
    assert rows(connection, "select doc::text, s::text from t") == [('{"a": [1.50], "b": 1}', '{"b": 1, "aa": 2}')]
    attach(connection, tmp_path, "(doc json)")
    assert rows(connection, "select doc::text from t") == [(document,)]
    pq.write_table(pa.table({"s": [{"b": 1}], "doc": ["{not json"]}), tmp_path / "f.parquet")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        rows(connection, "select doc from t")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match='"s" of type text, which the files have as struct<'):
        attach(connection, tmp_path, "(s text)")


def test_json_and_csv_files(connection: Connection, tmp_path: Path) -> None:
    lines = [{"id": 1, "s": {"bb": [1, {"x": None}], "a": "é"}, "n": [[1], [2, 3]]}, {"id": 2, "s": None}]
    (tmp_path / "f.ndjson").write_text("\n".join(map(json.dumps, lines)))
    attach(connection, tmp_path)
    assert types(connection) == {"id": "bigint", "s": "jsonb", "n": "jsonb"}
    assert rows(connection, "select id, s::text, n from t order by id") == [
        (1, '{"a": "é", "bb": [1, {"x": null}]}', [[1], [2, 3]]),
        (2, None, None),
    ]
    (tmp_path / "f.csv").write_text('id,doc\n1,"{""b"":1,""a"":2}"\n')
    attach(connection, tmp_path, "(id int, doc jsonb)", format="csv")
    assert rows(connection, "select doc::text from t where doc ->> 'a' = '2'") == [('{"a": 2, "b": 1}',)]


def test_delta_tables(connection: Connection, tmp_path: Path) -> None:
    instant = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    first = pa.array([{"a": 1, "at": instant}], pa.struct([("a", pa.int32()), ("at", pa.timestamp("us", "UTC"))]))
    write_deltalake(tmp_path, pa.table({"id": [1], "s": first, "p": ["x"]}), partition_by=["p"])
    attach(connection, tmp_path)
    assert types(connection) == {"id": "bigint", "s": "jsonb", "p": "text"}
    assert rows(connection, "select s::text from t") == [('{"a": 1, "at": "2024-02-29T07:00:00-05:00"}',)]
    more = pa.array([{"a": 2, "b": "new"}], pa.struct([("a", pa.int32()), ("b", pa.string())]))
    late = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    later = pa.table({"id": [2], "s": more, "p": ["y"], "m": late})
    write_deltalake(tmp_path, later, mode="append", schema_mode="merge")
    assert rows(connection, "select s ->> 'a', s ->> 'b', s ? 'b' from t order by id") == [
        ("1", None, True),
        ("2", "new", True),
    ]
    assert rows(connection, "select s::text from t for version as of 0") == [
        ('{"a": 1, "at": "2024-02-29T07:00:00-05:00"}',)
    ]
    attach(connection, tmp_path)
    assert rows(connection, "select id, m from t order by id") == [(1, None), (2, {"k": 1})]


def test_old_instants_in_structs(connection: Connection, tmp_path: Path) -> None:
    """DuckDB reads a wall clock where Delta's tables have an instant of UTC."""
    instants = pa.table({"s": [{"at": dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)}]})
    write_deltalake(tmp_path, instants)
    (file,) = tmp_path.glob("*.parquet")
    pq.write_table(instants, file, use_deprecated_int96_timestamps=True)
    attach(connection, tmp_path)
    assert rows(connection, "select s::text from t") == [('{"at": "2024-02-29T07:00:00-05:00"}',)]
    write_deltalake(tmp_path, instants, mode="append")
    connection.execute("set sluice.engine = local")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="instants in both of Parquet's ways"):
        rows(connection, "select * from t")


@pytest.mark.parametrize(
    "text", ["select id, s, m from t where id > 1", "select s ->> 'a', count(*), max(m ->> 'k') from t group by 1"]
)
def test_over_members(tmp_path: Path, text: str) -> None:
    for number in range(6):
        maps = pa.array([[("k", number)]] * 10, pa.map_(pa.string(), pa.int64()))
        part = pa.table({"id": list(range(10)), "s": [{"b": number, "a": "x" * number}] * 10, "m": maps})
        pq.write_table(part, tmp_path / f"{number}.parquet")
    files = tuple(str(tmp_path / f"{number}.parquet") for number in range(6))
    columns = infer_columns(files, "parquet", {})
    layout = Layout({"t": Table(20_002, "public", "t", columns, "parquet", str(tmp_path), files, 1, {})})
    engine = LocalDatabase(EngineConfig(tmp_path / "data"))
    try:
        assert len(same(layout, engine, text).fragments) > 1
    finally:
        engine.close()


def test_a_file_without_any_of_the_fields(connection: Connection, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "s": [{"a": 1}]}), tmp_path / "1.parquet")
    attach(connection, tmp_path)
    pq.write_table(pa.table({"id": [2], "s": [{"c": 2.5}]}), tmp_path / "0.parquet")
    assert rows(connection, "select id, s from t order by id") == [(1, {"a": 1}), (2, {"a": None})]
    (tmp_path / "1.parquet").unlink()
    assert rows(connection, "select id, s from t") == [(2, {"a": None})]


def test_what_no_document_can_hold(connection: Connection, tmp_path: Path) -> None:
    twice = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int32()))
    zero = pa.array([[("a\0b", 1)]], pa.map_(pa.string(), pa.int32()))
    pq.write_table(pa.table({"id": [1], "twice": twice, "zero": zero, "s": [{"x": "a\0b"}]}), tmp_path / "f.parquet")
    attach(connection, tmp_path)
    assert rows(connection, "select id from t") == [(1,)]
    for column, sqlstate in (("twice", "22030"), ("zero", "22P05"), ("s", "22P05")):
        with pytest.raises(psycopg.Error) as caught:
            rows(connection, f"select {column} from t")
        assert caught.value.sqlstate == sqlstate

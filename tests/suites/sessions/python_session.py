"""Python libraries that have their own driver or their own way to run queries: ADBC, connectorx, pandas, polars, ibis,
pgcli.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import connectorx
import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa

_WORDS = {name: os.environ[f"PG{name.upper()}"] for name in ("host", "port", "user", "database")}
_URI = "postgresql://{user}@{host}:{port}/{database}".format(**_WORDS)
_ENGINE = _URI.replace("postgresql://", "postgresql+psycopg://")
_FRAME = pa.table(
    {"id": pa.array(range(300), pa.int32()), "name": [None if n % 7 == 0 else f"n{n}" for n in range(300)]}
)


@pytest.fixture(autouse=True)
def ground() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(_URI, autocommit=True) as connection:
        connection.execute("drop table if exists py_towns")
        connection.execute(
            "create table py_towns (id integer primary key, name text, area numeric(10,2), at timestamptz)"
        )
        connection.execute(
            "insert into py_towns select x, 'n' || x, x / 4.0, '2024-02-29 01:02:03+00' from generate_series(1, 500) x"
        )
        yield connection
        for name in ("py_towns", "py_made"):
            connection.execute(f"drop table if exists {name}".encode())


def _position(column: dict[str, int]) -> int:
    return column["ordinal_position"]


class TestAdbc:
    def test_browses(self) -> None:
        with adbc.connect(_URI) as connection:
            found = connection.adbc_get_objects(depth="columns", table_name_filter="py_towns").read_all().to_pylist()
            schemas = [schema for catalog in found for schema in catalog["catalog_db_schemas"] or ()]
            tables = [table for schema in schemas for table in schema["db_schema_tables"] or ()]
            assert [c["column_name"] for c in sorted(tables[0]["table_columns"], key=_position)] == [
                "id",
                "name",
                "area",
                "at",
            ]
            assert connection.adbc_get_table_schema("py_towns").field("id").type == pa.int32()
            assert "table" in connection.adbc_get_table_types()

    def test_prepares(self) -> None:
        with adbc.connect(_URI) as connection, connection.cursor() as cursor:
            cursor.execute("select name from py_towns where id = $1", (3,))
            assert cursor.fetchall() == [("n3",)]

    def test_pages(self) -> None:
        with adbc.connect(_URI) as connection, connection.cursor() as cursor:
            cursor.execute("select * from generate_series(1, 20000) x")
            reader = cursor.fetch_record_batch()
            assert sum(batch.num_rows for batch in reader) == 20_000

    def test_batches(self) -> None:
        with adbc.connect(_URI, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.executemany("update py_towns set name = $2 where id = $1", [(1, "a"), (2, "b")])
            cursor.execute("select name from py_towns where id < 3 order by id")
            assert cursor.fetchall() == [("a",), ("b",)]

    def test_cancels(self) -> None:
        with adbc.connect(_URI) as connection, connection.cursor() as cursor:
            done = threading.Event()

            def cancel() -> None:
                while not done.wait(0.3):
                    cursor.adbc_cancel()

            thread = threading.Thread(target=cancel)
            thread.start()
            try:
                # It asks when the rows are read, not before.
                cursor.execute("select pg_sleep(600)")
                with pytest.raises(adbc.Error, match=r"(?i)cancel"):
                    cursor.fetchall()
            finally:
                done.set()
                thread.join()

    def test_copies(self) -> None:
        with adbc.connect(_URI, autocommit=True) as connection, connection.cursor() as cursor:
            assert cursor.adbc_ingest("py_made", _FRAME, mode="create") in (300, -1)
            cursor.execute("select id, name from py_made order by id")
            assert cursor.fetch_arrow_table().to_pylist() == _FRAME.to_pylist()


class TestConnectorx:
    @pytest.mark.parametrize("protocol", ["binary", "csv", "cursor", "simple"])
    def test_reads(self, protocol: str) -> None:
        frame = connectorx.read_sql(_URI, "select id, name, at from py_towns", protocol=protocol, return_type="arrow")
        assert frame.num_rows == 500

    def test_reads_in_parts(self) -> None:
        asked = "select id, name from py_towns"
        frame = connectorx.read_sql(_URI, asked, partition_on="id", partition_num=3, return_type="arrow")
        assert sorted(frame.column("id").to_pylist()) == list(range(1, 501))


class TestPandas:
    def test_browses_and_reads(self) -> None:
        engine = sa.create_engine(_ENGINE)
        frame = pd.read_sql_table("py_towns", engine, index_col="id")
        assert (len(frame), str(frame["area"].dtype)) == (500, "float64")
        asked = sa.text("select name from py_towns where id = :id")
        assert pd.read_sql_query(asked, engine, params={"id": 3})["name"].tolist() == ["n3"]
        engine.dispose()

    def test_pages(self) -> None:
        engine = sa.create_engine(_ENGINE)
        with engine.connect().execution_options(stream_results=True) as connection:
            pieces = pd.read_sql_query(sa.text("select * from py_towns"), connection, chunksize=100)
            assert [len(piece) for piece in pieces] == [100] * 5
        engine.dispose()

    @pytest.mark.parametrize("method", [None, "multi"])
    def test_writes(self, method: str | None) -> None:
        engine = sa.create_engine(_ENGINE)
        frame = _FRAME.to_pandas()
        assert frame.to_sql("py_made", engine, if_exists="replace", index=False, method=method) in (300, -1)
        frame.to_sql("py_made", engine, if_exists="append", index=False, method=method)
        assert pd.read_sql("select count(*) as n from py_made", engine)["n"].tolist() == [600]
        engine.dispose()


class TestPolars:
    @pytest.mark.parametrize("engine", ["connectorx", "adbc"])
    def test_reads(self, engine: str) -> None:
        frame = pl.read_database_uri("select id, name from py_towns order by id", _URI, engine=engine)
        assert frame.row(2) == (3, "n3")

    def test_pages(self) -> None:
        with psycopg.connect(_URI) as connection:
            asked = "select id, name, area from py_towns"
            pieces = list(pl.read_database(asked, connection, iter_batches=True, batch_size=100))
            assert sum(len(piece) for piece in pieces) == 500

    def test_writes(self) -> None:
        frame = pl.from_arrow(_FRAME)
        assert isinstance(frame, pl.DataFrame)
        frame.write_database("py_made", _URI, engine="adbc")
        assert pl.read_database_uri("select count(*) as n from py_made", _URI, engine="adbc").item() == 300


class TestIbis:
    def test_browses_asks_and_writes(self) -> None:
        connection = ibis.postgres.connect(**{**_WORDS, "port": int(_WORDS["port"])})
        assert "py_towns" in connection.list_tables()
        assert "public" in connection.list_databases()
        towns = connection.table("py_towns")
        assert [str(typ) for typ in towns.schema().types] == [
            "!int32",
            "string",
            "decimal(10, 2)",
            "timestamp('UTC', 6)",
        ]
        few = towns.filter(towns.id < 11)
        found = few.aggregate(n=few.count(), total=few.area.sum()).to_pyarrow().to_pylist()
        assert [(row["n"], float(row["total"])) for row in found] == [(10, 13.75)]
        assert sum(len(batch) for batch in towns.to_pyarrow_batches(chunk_size=100)) == 500
        connection.create_table("py_made", _FRAME)
        assert connection.table("py_made").count().execute() == 300
        connection.disconnect()


def test_pgcli(tmp_path: Path) -> None:
    """Its completion is loaded from the system catalog in another thread, while the statements run."""
    told = subprocess.run(
        [
            str(Path(sys.executable).parent / "pgcli"),
            "--pgclirc",
            str(tmp_path / "rc"),
            "--warn",
            "off",
            "--less-chatty",
            _URI,
        ],
        input="\\dt\n\\d py_towns\nselect name from py_towns where id = 3;\n\\q\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PAGER": "cat", "TERM": "dumb", "HOME": str(tmp_path)},
    )
    assert told.returncode == 0, told.stderr
    assert "py_towns" in told.stdout, told.stdout + told.stderr
    assert "n3" in told.stdout


def test_pgcli_completes() -> None:
    """Runs the queries of its completer: tables, columns, functions, types, foreign keys."""
    from pgcli.pgexecute import PGExecute

    words = {**_WORDS, "port": int(_WORDS["port"])}
    executor = PGExecute(words["database"], words["user"], "", words["host"], words["port"], "")
    assert ("public", "py_towns") in list(executor.tables())
    assert ("public", "py_towns", "name") in [tuple(column)[:3] for column in executor.table_columns()]
    assert "public" in list(executor.schemata())
    assert list(executor.datatypes()) is not None
    assert len(list(executor.functions())) > 1
    assert list(executor.foreignkeys()) is not None
    assert words["database"] in list(executor.databases())

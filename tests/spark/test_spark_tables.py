"""Files as tables on Spark: all of Parquet's types, and text formats whose invalid values are errors."""

from __future__ import annotations

import datetime
import itertools
import math
import uuid
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytest_asyncio
from deltalake import write_deltalake
from sqlglot import exp
from support import stored_values

from engine.catalog.model.objects import FileFormat, Table, TableColumn
from engine.common import sql_type as st
from engine.contracts.executor import ExecutionContext, OutputColumn
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.executor import SparkExecutor
from engine.lakes import delta
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.storage_types import relation_name
from wire.errors import SqlError
from wire.types import pg_types as t

pytestmark = [pytest.mark.spark, pytest.mark.asyncio(loop_scope="module")]

_OIDS = itertools.count(40_000)
_QUERIES = itertools.count(1)
DAY = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012)
INSTANT = DAY.replace(tzinfo=datetime.UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def spark(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SparkExecutor]:
    executor = SparkExecutor(SparkConfig("local[2]"), tmp_path_factory.mktemp("member"))
    await executor.start()
    yield executor
    await executor.close()


async def rows_of(
    spark: SparkExecutor, table: Table, time_zone: str = "America/New_York", where: str = "true"
) -> list[pa.RecordBatch]:
    """The table's rows, in carriers."""
    select = (
        exp.select(*(exp.column(c.name, quoted=True) for c in table.columns)).from_(relation_name(table)).where(where)
    )
    output = tuple(OutputColumn(c.name, c.type) for c in table.columns)
    fragment = CompiledFragment("spark", select, output, (table,), small=True)
    stream = await spark.open(fragment, ExecutionContext(QueryId("m1", next(_QUERIES)), time_zone))
    rows: list[pa.RecordBatch] = []
    try:
        while (batch := await stream.next_batch()) is not None:
            rows.append(batch)
    finally:
        await stream.close()
    return rows


async def read(
    spark: SparkExecutor,
    file_format: FileFormat,
    files: list[Path],
    columns: dict[str, st.SqlType],
    time_zone: str = "America/New_York",
    **options: str,
) -> list[dict[str, Any]]:
    """The rows of a table over `files`, in carriers."""
    paths = tuple(map(str, files))
    declared = tuple(TableColumn(name, typ, i) for i, (name, typ) in enumerate(columns.items(), 1))
    path = paths[0] if paths else "nowhere"
    table = Table(next(_OIDS), "public", "t", declared, file_format, path, paths, options=options)
    return [row for batch in await rows_of(spark, table, time_zone) for row in batch.to_pylist()]


FLOATS = {"f": st.of(t.FLOAT8), "r": st.of(t.FLOAT4)}
PARQUET: dict[str, tuple[pa.Array, st.SqlType, list[Any]]] = {
    "int8 as smallint": (pa.array([-5, None], pa.int8()), st.of(t.INT2), [-5, None]),
    "int32 as bigint": (pa.array([7], pa.int32()), st.of(t.INT8), [7]),
    "uint32": (pa.array([4_000_000_000], pa.uint32()), st.of(t.INT8), [4_000_000_000]),
    "uint64": (pa.array([1 << 63], pa.uint64()), st.numeric(20, 0), [Decimal(1 << 63)]),
    "float": (pa.array([1.5], pa.float32()), st.of(t.FLOAT4), [1.5]),
    "float as double": (pa.array([1.5], pa.float32()), st.of(t.FLOAT8), [1.5]),
    "decimal": (pa.array([Decimal("1.25")], pa.decimal128(9, 2)), st.numeric(9, 2), [Decimal("1.25")]),
    "decimal widened": (pa.array([Decimal("1.25")], pa.decimal128(9, 2)), st.numeric(20, 4), [Decimal("1.2500")]),
    "text": (pa.array(["é", None]), st.of(t.TEXT), ["é", None]),
    "dictionary": (pa.array(["a", "a"]).dictionary_encode(), st.of(t.TEXT), ["a", "a"]),
    "padded": (pa.array(["ab"]), st.of(t.BPCHAR, 9), ["ab   "]),
    "bytes": (pa.array([b"\x00\xff"]), st.of(t.BYTEA), [b"\x00\xff"]),
    "fixed bytes": (pa.array([b"abcd"], pa.binary(4)), st.of(t.BYTEA), [b"abcd"]),
    "uuid": (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=1).bytes], pa.binary(16))),
        st.of(t.UUID),
        [str(uuid.UUID(int=1))],
    ),
    "date": (pa.array([DAY.date()]), st.of(t.DATE), [DAY.date()]),
    "time": (pa.array([DAY.time()], pa.time64("us")), st.of(t.TIME), [DAY.time()]),
    "timestamp": (pa.array([DAY], pa.timestamp("us")), st.of(t.TIMESTAMP), [DAY]),
    "timestamp in millis": (pa.array([DAY], pa.timestamp("ms")), st.of(t.TIMESTAMP), [DAY.replace(microsecond=789000)]),
    "timestamp in nanos": (pa.array([DAY], pa.timestamp("ns")), st.of(t.TIMESTAMP), [DAY]),
    "timestamptz": (pa.array([INSTANT], pa.timestamp("us", "UTC")), st.of(t.TIMESTAMPTZ), [INSTANT]),
    "timestamptz in nanos": (pa.array([INSTANT], pa.timestamp("ns", "UTC")), st.of(t.TIMESTAMPTZ), [INSTANT]),
    "list": (pa.array([[1, None], []], pa.list_(pa.int32())), st.of(t.array_of(t.INT4)), [[1, None], []]),
}


@pytest.mark.table
@pytest.mark.parametrize("name", PARQUET)
async def test_parquet_types(spark: SparkExecutor, tmp_path: Path, name: str) -> None:
    array, typ, expected = PARQUET[name]
    pq.write_table(pa.table({"c": array}), tmp_path / "f.parquet")
    assert [row["c"] for row in await read(spark, "parquet", [tmp_path / "f.parquet"], {"c": typ})] == expected


async def test_what_spark_cannot_read_is_named(spark: SparkExecutor, tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([datetime.time(1, 2, 3)], pa.time32("ms"))}), tmp_path / "f.parquet")
    with pytest.raises(SqlError, match=r'not supported: column "c" of Parquet type time32\[ms\] in Spark') as caught:
        await read(spark, "parquet", [tmp_path / "f.parquet"], {"c": st.of(t.TIME)})
    assert caught.value.sqlstate == "0A000"


async def test_the_old_timestamps_are_utc_wall_clock(spark: SparkExecutor, tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([DAY])}), tmp_path / "f.parquet", use_deprecated_int96_timestamps=True)
    assert await read(spark, "parquet", [tmp_path / "f.parquet"], {"c": st.of(t.TIMESTAMP)}) == [{"c": DAY}]


async def test_names_are_kept_as_they_are(spark: SparkExecutor, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a b": [1], "C`c": [2]}), tmp_path / "f.parquet")
    columns = {"C`c": st.of(t.INT8), "a b": st.of(t.INT8)}
    assert await read(spark, "parquet", [tmp_path / "f.parquet"], columns) == [{"C`c": 2, "a b": 1}]


async def test_several_files_and_none(spark: SparkExecutor, tmp_path: Path) -> None:
    for i in range(3):
        pq.write_table(pa.table({"c": [i]}), tmp_path / f"f{i}.parquet")
    got = await read(spark, "parquet", sorted(tmp_path.iterdir()), {"c": st.of(t.INT8)})  # noqa: ASYNC240
    assert sorted(row["c"] for row in got) == [0, 1, 2]
    assert await read(spark, "parquet", [], {"c": st.of(t.INT8)}) == []


CSV_COLUMNS = {
    "n": st.of(t.INT4),
    "d": st.numeric(6, 2),
    "s": st.of(t.TEXT),
    "day": st.of(t.DATE),
    "at": st.of(t.TIMESTAMP),
    "clock": st.of(t.TIME),
    "b": st.of(t.BOOL),
}
CSV = """n,d,s,day,at,clock,b
1,1.50,"a ""quoted"", b",2024-02-29,2024-02-29 12:34:56.789012,12:34:56.789012,true
2,,"two
lines",,,,f
"""


async def test_nan_is_found_beside_numbers(spark: SparkExecutor, tmp_path: Path) -> None:
    """Parquet's statistics of a row group leave out NaN; its dictionary has two zeros."""
    path = tmp_path / "floats.parquet"
    floats = pa.array([math.nan, 1.0, -0.0, -0.0])
    pq.write_table(pa.table({"f": floats, "r": floats.cast(pa.float32())}), path, row_group_size=2)
    columns = tuple(TableColumn(name, typ, i) for i, (name, typ) in enumerate(FLOATS.items(), 1))
    for lake in ("", "delta"):
        table = Table(next(_OIDS), "public", "t", columns, "parquet", str(path), (str(path),), lake=lake)
        for where, count in (("f > 3", 1), ("r > 3", 1), ("f = double('NaN')", 1), ("f = 0", 2), ("r <> 1", 3)):
            assert sum(batch.num_rows for batch in await rows_of(spark, table, where=where)) == count, where


async def test_csv(spark: SparkExecutor, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(CSV)
    assert await read(spark, "csv", [tmp_path / "f.csv"], CSV_COLUMNS, header="true") == [
        {
            "n": 1,
            "d": Decimal("1.50"),
            "s": 'a "quoted", b',
            "day": DAY.date(),
            "at": DAY,
            "clock": DAY.time(),
            "b": True,
        },
        {"n": 2, "d": None, "s": "two\nlines", "day": None, "at": None, "clock": None, "b": False},
    ]


async def test_a_csv_header_is_noticed_as_the_local_engine_notices_it(spark: SparkExecutor, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("n;s\n1;x\n2;y\n")
    columns = {"n": st.of(t.INT4), "s": st.of(t.TEXT)}
    got = await read(spark, "csv", [tmp_path / "f.csv"], columns)
    assert got == [{"n": 1, "s": "x"}, {"n": 2, "s": "y"}]


@pytest.mark.parametrize(
    ("line", "state"), [("x,1", "22P02"), ("1,x", "22007"), ("99999999999,", "22P02"), ("1", "XX001")]
)
async def test_bad_csv_is_an_error(spark: SparkExecutor, tmp_path: Path, line: str, state: str) -> None:
    (tmp_path / "f.csv").write_text(f"n,day\n1,2024-01-01\n{line}\n")
    columns = {"n": st.of(t.INT4), "day": st.of(t.DATE)}
    with pytest.raises(SqlError) as caught:
        await read(spark, "csv", [tmp_path / "f.csv"], columns, header="true", delimiter=",")
    assert caught.value.sqlstate == state


async def test_json(spark: SparkExecutor, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"n": 1, "s": "x", "d": 1.25}\n{"s": null, "n": 2}\n')
    columns = {"n": st.of(t.INT8), "s": st.of(t.TEXT), "d": st.numeric(5, 2)}
    got = await read(spark, "json", [tmp_path / "f.json"], columns)
    assert got == [{"n": 1, "s": "x", "d": Decimal("1.25")}, {"n": 2, "s": None, "d": None}]


@pytest.mark.long
async def test_a_bad_json_value_is_an_error(spark: SparkExecutor, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"n": 1}\n{"n": "x"}\n')
    with pytest.raises(SqlError) as caught:
        await read(spark, "json", [tmp_path / "f.json"], {"n": st.of(t.INT8)})
    assert caught.value.sqlstate == "22P02"


async def test_a_stored_table_gives_back_what_was_written(spark: SparkExecutor, tmp_path: Path) -> None:
    (batch,) = await rows_of(spark, stored_values.written(tmp_path))
    assert stored_values.comparable(batch) == stored_values.comparable(stored_values.ROWS)


async def test_columns_that_folders_say(spark: SparkExecutor, tmp_path: Path) -> None:
    """The columns are those of the local engine; every value is read as text first."""
    files = []
    for raw in ("01", "a%2Fb", "x y", "x=y", "__HIVE_DEFAULT_PARTITION__", "ü"):
        folder = tmp_path / f"k={raw}" / "n=7"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [1], "n": [8]}), folder / "f.parquet")
        (folder / "f.csv").write_text("3\n")
        files.append(folder)
    declared = tuple(
        TableColumn(name, typ, i)
        for i, (name, typ) in enumerate({"n": st.of(t.INT2), "x": st.of(t.INT8), "k": st.of(t.TEXT)}.items(), 1)
    )
    expected = {"01", "a/b", "x y", "x=y", None, "ü"}
    for file_format, x in (("parquet", 1), ("csv", 3)):
        paths = tuple(str(folder / f"f.{file_format}") for folder in files)
        table = Table(
            next(_OIDS), "public", "t", declared, cast("FileFormat", file_format), str(tmp_path), paths,
            partition_by=("k", "n"), options={"header": "false"} if file_format == "csv" else {},
        )  # fmt: skip
        found = [row for batch in await rows_of(spark, table) for row in batch.to_pylist()]
        assert {row["k"] for row in found} == expected
        assert {(row["n"], row["x"]) for row in found} == {(7, x)}
        assert len(found) == len(expected)


async def test_spark_opens_no_file_that_folders_exclude(spark: SparkExecutor, tmp_path: Path) -> None:
    files = [tmp_path / f"k={raw}" / "f.parquet" for raw in ("1", "2")]
    for file in files:
        file.parent.mkdir()
        pq.write_table(pa.table({"x": [1]}), file)
    files[1].write_text("not Parquet")
    paths = tuple(map(str, files))
    declared = (TableColumn("x", st.of(t.INT8), 1), TableColumn("k", st.of(t.INT4), 2))
    table = Table(next(_OIDS), "public", "t", declared, "parquet", str(tmp_path), paths, partition_by=("k",))
    assert [b.to_pylist() for b in await rows_of(spark, table, where="k = 1")] == [[{"x": 1, "k": 1}]]
    with pytest.raises(SqlError):
        await rows_of(spark, table)


async def test_a_table_whose_log_names_its_files(spark: SparkExecutor, tmp_path: Path) -> None:
    """Columns that came later, old and new instants, partitions: as in process."""
    moment = pa.array([INSTANT], pa.timestamp("us", "UTC"))
    write_deltalake(tmp_path, pa.table({"id": [1], "p": ["a b"], "m": moment}), partition_by=["p"])
    (file,) = delta.newest(str(tmp_path)).files
    pq.write_table(pa.table({"id": [1], "m": moment}), file, use_deprecated_int96_timestamps=True)
    later = pa.table(
        {"id": [2], "p": pa.array([None], pa.utf8()), "m": moment, "e": [[1.5]], "s": pa.array([3], pa.int8())}
    )
    write_deltalake(tmp_path, later, mode="append", schema_mode="merge")
    state = delta.newest(str(tmp_path))
    columns = state.table_columns("", lambda _column, _type: None)
    table = Table(
        next(_OIDS), "public", "t", columns, "parquet", str(tmp_path), state.files, state.digest,
        partition_by=state.partition_by, lake="delta",
    )  # fmt: skip
    found = [row for batch in await rows_of(spark, table) for row in batch.to_pylist()]
    assert sorted(found, key=lambda row: int(row["id"])) == [
        {"id": 1, "p": "a b", "m": INSTANT, "e": None, "s": None},
        {"id": 2, "p": None, "m": INSTANT, "e": [1.5], "s": 3},
    ]

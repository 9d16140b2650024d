"""Files of foreign tables as the local engine reads them: formats, options, odd names."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.plans import DATE, INT4, INT8, TEXT, Plans, table

from engine.catalog.model.objects import Table
from engine.common.sql_type import numeric, of
from engine.planner.codegen import Bindings, Unsupported, compile_plan, to_sql
from wire.types import pg_types as t


def read(source: Table, *names: str) -> list[tuple[Any, ...]]:
    fragment = compile_plan(Plans().read(source, *names), "local", Bindings())
    with duckdb.connect(":memory:") as connection:
        return connection.sql(to_sql(fragment.statement, "local")).fetchall()


@pytest.mark.parametrize("name", ["a[1].parquet", "b*?.parquet", "it's.parquet", "k=v.parquet", "ü {x}.parquet"])
def test_file_names_mean_themselves(name: str, tmp_path: Path) -> None:
    for other in ("a1.parquet", "bbb.parquet"):
        pq.write_table(pa.table({"x": [9]}), tmp_path / other)
    pq.write_table(pa.table({"x": [1]}), tmp_path / name)
    assert read(table("t", [str(tmp_path / name)], [("x", INT8)]), "x") == [(1,)]


def test_folders_named_like_partitions_add_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "x=7"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1]}), folder / "f.parquet")
    assert read(table("t", [str(folder / "f.parquet")], [("x", INT8)]), "x") == [(1,)]


def test_several_files_in_order_and_other_types_than_stored(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{i}.parquet") for i in range(3)]
    for i, path in enumerate(files):
        pq.write_table(pa.table({"x": pa.array([i], pa.int32()), "y": [f"{i}.5"]}), path)
    source = table("t", files, [("x", TEXT), ("y", numeric(5, 2))])
    assert read(source, "y", "x") == [(Decimal(f"{i}.50"), str(i)) for i in range(3)]


def test_characters_are_padded(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["ab", "abcd", None]}), tmp_path / "c.parquet")
    source = table("t", [str(tmp_path / "c.parquet")], [("x", of(t.BPCHAR, 8))])
    assert read(source, "x") == [("ab  ",), ("abcd",), (None,)]


def test_odd_column_names(tmp_path: Path) -> None:
    names = ['say "hi"', "SELECT", "t1", "c1", "a.b"]
    pq.write_table(pa.table({name: [i] for i, name in enumerate(names)}), tmp_path / "n.parquet")
    source = table("t", [str(tmp_path / "n.parquet")], [(name, INT8) for name in names])
    assert read(source, *names) == [(0, 1, 2, 3, 4)]


def test_columns_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(Unsupported):
        read(table("t", ["/x.parquet"], [("a", INT8), ("A", INT8)]), "a")


def test_no_files_are_no_rows() -> None:
    assert read(table("t", [], [("a", INT8)]), "a") == []


CSV: Sequence[tuple[str, dict[str, str], list[tuple[Any, ...]]]] = [
    ("a,b,c\n1,x,2020-01-31\n2,,\n", {"header": "true"}, [(1, "x", "2020-01-31"), (2, None, None)]),
    ("1|x|2020-01-31\n", {"header": "false", "delimiter": "|"}, [(1, "x", "2020-01-31")]),
    ('1,"say ""hi"", you",\n2,"",\n', {"header": "false"}, [(1, 'say "hi", you', None), (2, "", None)]),
    ("1;NULL;\n", {"header": "off", "delimiter": ";", "null": "NULL"}, None),  # type: ignore[list-item]
    ("1,'a\\'b',\n", {"header": "false", "quote": "'", "escape": "\\"}, [(1, "a'b", None)]),
]


@pytest.mark.parametrize(("text", "options", "expected"), CSV)
def test_csv(text: str, options: dict[str, str], expected: list[tuple[Any, ...]] | None, tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text(text)
    source = table("t", [str(path)], [("a", INT4), ("b", TEXT), ("c", DATE)], format="csv", options=options)
    if expected is None:
        with pytest.raises(duckdb.Error):
            read(source, "a", "b", "c")
        return
    assert [(a, b, c and c.isoformat()) for a, b, c in read(source, "a", "b", "c")] == expected


def test_csv_types(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("true,1.005,1e3,2020-01-01 00:00:00,00112233-4455-6677-8899-aabbccddeeff\n")
    types = [of(t.BOOL), numeric(10, 2), of(t.FLOAT8), of(t.TIMESTAMP), of(t.UUID)]
    columns = [(f"c{i}", typ) for i, typ in enumerate(types)]
    source = table("t", [str(path)], columns, format="csv", options={"header": "false"})
    (row,) = read(source, *(name for name, _ in columns))
    assert (row[0], row[1], row[2], row[4]) == (True, Decimal("1.01"), 1000.0, "00112233-4455-6677-8899-aabbccddeeff")
    refused = table("t", [str(path)], [("x", of(t.BYTEA))], format="csv")
    with pytest.raises(Unsupported):
        read(refused, "x")


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text('{"a": 1, "b": "x", "c": {"k": [1, 2]}}\n{"b": null, "a": 2}\n')
    source = table("t", [str(path)], [("a", INT4), ("b", TEXT), ("c", of(t.JSON))], format="json")
    assert read(source, "a", "b", "c") == [(1, "x", '{"k":[1,2]}'), (2, None, None)]

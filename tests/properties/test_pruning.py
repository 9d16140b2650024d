"""Pruning of files never changes an answer: random conditions over tables whose files contain awkward values, run
twice, once so that statistics may decide and once behind IS TRUE, which statistics do not decide.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some
from support.local_member import local_member

NAN = float("nan")
_WORDS = ["", "a", "ab", "ab ", "abc", "b%", "Z", "é", "z" * 40, "z" * 32 + "y", "\U0010ffff"]
_MOMENTS = [dt.datetime(1960, 1, 1, 0, 0, 0, 1), dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, 0, 0, 0, 999_999)]
#: Of each column: its PostgreSQL type, Arrow's, and values, few to a file.
_COLUMNS: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "i": ("int4", pa.int32(), [-5, 0, 1, 2, 3, 3, 7, None, None, None, 2**31 - 1, 9]),
    "l": ("int8", pa.int64(), [2**53 + 1, 2**53, -(2**53) - 1, None, 1, 5, 5, 5, None, 2, 3, 4]),
    "f": ("float8", pa.float64(), [NAN, 1.0, -0.0, 0.0, 2.5, None, 3.0, 3.0, NAN, NAN, None, -1.0]),
    "r": ("float4", pa.float32(), [NAN, 0.1, -0.0, 0.0, 2.5, None, 3.0, 3.0, 0.1, 0.1, None, -1.0]),
    "n": ("numeric(10,2)", pa.decimal128(10, 2), [Decimal(x) / 100 for x in (0, 1, -1, 150, 151, 999)] * 2),
    "s": ("text", pa.utf8(), [*_WORDS, None]),
    "v": ("varchar(41)", pa.utf8(), [None, *_WORDS]),
    "c": ("char(4)", pa.utf8(), ["a", "a ", "ab", None, "b", "abc ", "abcd", "", " ", "z", "Z", "b"]),
    "d": ("date", pa.date32(), [0, 1, -1, None, 10_000, 10_001, 10_002, None, None, None, 2, 3]),
    "m": ("timestamp", pa.timestamp("us"), [*_MOMENTS, None] * 3),
    "z": ("timestamptz", pa.timestamp("us", "UTC"), [*_MOMENTS, None] * 3),
    "p": ("text", pa.utf8(), ["x", "x", "y", "y", None, "x", "y", "", "", "z", None, "z"]),
}
_CONSTANTS = {
    "i": ["-5", "1", "3", "8", "2147483648", "2.5", "null"],
    "l": ["9007199254740993", "5", "3", "0", "null"],
    "f": ["'NaN'", "1.0", "0", "3", "-1", "2.7", "null"],
    "r": ["'NaN'", "0.1", "0.1::float4", "0", "3", "2.7"],
    "n": ["0.01", "1.5", "1.505", "9.99", "0", "null"],
    "s": ["'ab'", "'ab '", "'é'", "'zzz'", "''", "null"],
    "v": ["'ab'", "'ab '", "'" + "z" * 40 + "'", "''"],
    "c": ["'a'", "'a  '", "'abc'", "''"],
    "d": ["'1970-01-01'", "'1997-05-19'", "'1969-12-31'", "'infinity'", "timestamp '1970-01-02'"],
    "m": ["'2000-01-01'", "'2000-01-01 00:00:00.999999'", "'1960-01-01 00:00:00.000001'", "'-infinity'", "date '2000-01-01'"],
    "z": ["'2000-01-01 00:00+00'", "'2000-01-01 00:00:00.999999+00'", "'1960-01-01 01:00+02'", "timestamp '2000-01-01'"],
    "p": ["'x'", "'y'", "''", "'w'"],
}  # fmt: skip
#: Files of one row group, and the least and the greatest value.
_EXTREMES: list[tuple[list[float | None], tuple[str | None, str | None]]] = [
    ([NAN, 1.0], ("1", "NaN")),
    ([0.0, 2.0], ("0", "2")),
    ([0.5, 5.0, None], ("0.5", "5")),
    ([-0.0], ("-0", "-0")),
    ([NAN], ("NaN", "NaN")),
    ([None], (None, None)),
]
_OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
_NAMES = ", ".join(_COLUMNS)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Tables of the same rows: `foreign_rows` in files of two row groups, `stored_rows` by several commits, `parted_rows` too."""
    data = tmp_path_factory.mktemp("pruning")
    _write(data / "files")
    with local_member(data) as member, member.connect() as connection:
        connection.execute("set timezone to 'UTC'")
        types = ", ".join(f"{name} {typ}" for name, (typ, _, _) in _COLUMNS.items())
        connection.execute(f"create foreign table foreign_rows ({types}) options (path 'files', format 'parquet')")
        connection.execute(f"create table stored_rows ({types})")
        connection.execute(f"create table parted_rows ({types}) partition by list (p)")
        count = 12
        for first in range(0, count, 4):
            chosen = f"select {_NAMES} from foreign_rows where i is distinct from 0 or true offset {first} limit 4"
            for table in ("stored_rows", "parted_rows"):
                connection.execute(f"insert into {table} {chosen}".encode())
        for number in range(len(_EXTREMES)):
            options = f"options (path 'extremes/{number}.parquet', format 'parquet')"
            connection.execute(f"create foreign table extremes{number} (f float8, r float4) {options}".encode())
        member.engine.store.publish()
        yield connection


def _write(folder: Path) -> None:
    folder.mkdir()
    for number in range(3):
        arrays = [pa.array(values[4 * number : 4 * number + 4], typ) for _, typ, values in _COLUMNS.values()]
        table = pa.Table.from_arrays(arrays, names=list(_COLUMNS))
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=2)
    extremes = folder.parent / "extremes"
    extremes.mkdir()
    for number, (values, _) in enumerate(_EXTREMES):
        rows = pa.table({"f": pa.array(values, pa.float64()), "r": pa.array(values, pa.float32())})
        pq.write_table(rows, extremes / f"{number}.parquet")


def _comparisons(name: str) -> some.SearchStrategy[str]:
    constant = some.sampled_from(_CONSTANTS[name])
    plain = some.builds("{} {} {}".format, some.just(name), some.sampled_from(_OPERATORS), constant)
    turned = some.builds("{} {} {}".format, constant, some.sampled_from(_OPERATORS), some.just(name))
    listed = some.builds(
        "{} {} ({}, {})".format, some.just(name), some.sampled_from(["in", "not in"]), constant, constant
    )
    nulls = some.sampled_from([f"{name} is null", f"{name} is not null"])
    between = some.builds("{} between {} and {}".format, some.just(name), constant, constant)
    return plain | turned | listed | nulls | between


_LIKES = some.builds(
    "{} {} {}".format, some.sampled_from(["s", "v", "c", "p"]), some.sampled_from(["like", "not like"]),
    some.sampled_from(["'ab%'", "'ab'", "'z%y'", "'b\\%%'", "'_b%'", "''", "'%'", "null", "'é%'"]),
)  # fmt: skip
_LEAVES = some.one_of(*(_comparisons(name) for name in _COLUMNS), _LIKES)
CONDITIONS = some.recursive(
    _LEAVES,
    lambda inner: (
        some.builds("({} {} {})".format, inner, some.sampled_from(["and", "or"]), inner)
        | some.builds("(not {})".format, inner)
    ),
    max_leaves=4,
)


@settings(
    max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(condition=CONDITIONS, table=some.sampled_from(["foreign_rows", "stored_rows", "parted_rows"]))
@example(condition="f > 3", table="foreign_rows")
@example(condition="f = 'NaN'", table="foreign_rows")
@example(condition="not f <= 3", table="foreign_rows")
@example(condition="s >= 'z'", table="stored_rows")
@example(condition="p = ''", table="parted_rows")
@example(condition="p is null", table="parted_rows")
def test_an_answer_is_the_same_without_the_files_left_out(
    connection: psycopg.Connection[tuple[object, ...]], condition: str, table: str
) -> None:
    def rows(where: str) -> list[str]:
        query = f"select {_NAMES} from {table} where {where}"
        return sorted(str(row) for row in connection.execute(query.encode()))

    try:
        whole = rows(f"({condition}) is true")
    except psycopg.Error as error:
        with pytest.raises(type(error)):
            rows(condition)
        return
    assert rows(condition) == whole


@pytest.mark.parametrize("table", ["foreign_rows", "stored_rows", "parted_rows"])
def test_nan_is_found_beside_numbers(connection: psycopg.Connection[tuple[object, ...]], table: str) -> None:
    """The first file's first row group has NaN and 1.0, of which its statistics tell the latter only."""
    for condition, count in (
        ("f > 3", 3),
        ("f = 'NaN'", 3),
        ("f <> 1", 9),
        ("r > 2.5", 3),
        ("f between 2.9 and 'NaN'", 5),
    ):
        found = connection.execute(f"select count(*) from {table} where {condition}".encode()).fetchone()
        assert found == (count,), condition
    found = connection.execute(f"select max(f)::text, min(f) from {table} where i = -5 or i = 0".encode()).fetchone()
    assert found == ("NaN", 1.0)


@pytest.mark.parametrize("number", range(len(_EXTREMES)))
def test_the_extremes_of_a_whole_file_are_those_of_its_values(
    connection: psycopg.Connection[tuple[object, ...]], number: int
) -> None:
    """Statistics do not say them: NaN is left out, and the least value is told as -0 where it is 0."""
    _, expected = _EXTREMES[number]
    for column in ("f", "r"):
        query = f"select min({column})::text, max({column})::text, max({column}) filter (where true)::text from extremes{number}"
        assert connection.execute(query.encode()).fetchone() == (*expected, expected[1])


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("i > 7", "1 of 3"),
        ("i = 8", "0 of 3"),
        ("i = 100 and s > 'a'", "1 of 3"),
        ("i is null", "2 of 3"),
        ("p in ('z', 'yy')", "1 of 3"),
        ("not (m > '1950-01-01')", "0 of 3"),
        ("d < '1970-01-01' or d > '2000-01-01'", "1 of 3"),
        ("s like 'zz%'", "2 of 3"),
        ("n < -5", "0 of 3"),
        ("n = 0.005", None),
        ("f > 100", None),
        ("r = 100", None),
        ("c = 'q'", None),
        ("upper(s) = 'Q'", None),
        ("i = null::int", "0 of 3"),
    ],
)
def test_what_is_left_out_is_told(
    connection: psycopg.Connection[tuple[object, ...]], condition: str, files: str | None
) -> None:
    lines = [
        str(line) for (line,) in connection.execute(f"explain select s from stored_rows where {condition}".encode())
    ]
    found = [line.strip().removeprefix("Files: ") for line in lines if "Files:" in line]
    assert found == ([] if files is None else [files])


def test_a_partitions_value_and_a_parameters_are_judged(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("prepare by_p (text) as select count(*) from parted_rows where p = $1")
    assert connection.execute("execute by_p ('x')").fetchone() == (3,)
    lines = str(connection.execute("explain select 1 from parted_rows where p = 'x'").fetchall())
    assert "Files: 2 of " in lines

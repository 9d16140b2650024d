"""Small files as tables in memory: which are kept and when, that the tables equal the files, and what is left alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
import sqlglot
from sqlglot import exp
from support.aged_files import write_aged
from support.local_member import local_member

from engine.executors.engine_config import EngineConfig
from engine.executors.local import small_files, statements
from engine.executors.local.database import LocalDatabase
from engine.executors.local.small_files import Placed, SmallFiles
from engine.executors.local.statements import is_scan, readers_of
from engine.sql.trees.engine_dialects import DIALECTS


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallFiles]:
    database = LocalDatabase(EngineConfig(tmp_path / "member", local_threads=1))
    yield SmallFiles(database)
    assert database.statistics()["cursors"] == 0
    database.close()


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def total(path: str) -> str:
    return f'SELECT SUM("t0"."n") AS "s" FROM READ_PARQUET([\'{path}\'], "hive_partitioning" = FALSE) AS "t0"'


def answer(small: SmallFiles, placed: Placed) -> list[Any]:
    cursor = small._database.borrow("UTC")
    reader = cursor.run(placed.statement, (), 2048, placed.parameters)
    found = reader.read_all().to_pylist()
    small._database.give_back(cursor, healthy=True)
    return [next(iter(row.values())) for row in found]


def placed(small: SmallFiles, text: str, parameters: Mapping[str, Any] | None = None) -> Placed:
    """The statement placed, once what it reads has been read before."""
    assert small.place(text, parameters or {}, ()) is None
    found = small.place(text, parameters or {}, ())
    assert found is not None
    return found


def test_a_file_is_kept_when_it_is_read_again(tmp_path: Path, small: SmallFiles) -> None:
    found = placed(small, total(write_aged(tmp_path / "a.parquet", numbers(1, 2, 3))))
    assert "READ_PARQUET" not in found.statement
    assert answer(small, found) == [6]
    small.release(found)
    assert small.statistics()["small_tables"] == 1


def test_two_statements_that_load_it_at_once_make_one_table(tmp_path: Path, small: SmallFiles) -> None:
    text = total(write_aged(tmp_path / "a.parquet", numbers(1, 2, 3)))
    assert small.place(text, {}, ()) is None
    others: list[Placed | None] = []

    class Late:
        """The lock of a statement before which another one loads the table."""

        def acquire(self, *, blocking: bool) -> bool:
            small._loading = lock
            others.append(small.place(text, {}, ()))
            return lock.acquire(blocking=blocking)

    lock = small._loading
    small._loading = Late()  # type: ignore[assignment]
    for found in (small.place(text, {}, ()), *others):
        assert found is not None
        assert answer(small, found) == [6]
        small.release(found)
    cursor = small._database.borrow("UTC")
    made = cursor.run("SELECT COUNT(*) AS n FROM duckdb_tables() WHERE table_name LIKE 'small_%'", (), 2048).read_all()
    small._database.give_back(cursor, healthy=True)
    assert small.statistics()["small_tables"] == made["n"][0].as_py() == 1


def test_another_statement_over_the_file_finds_it(tmp_path: Path, small: SmallFiles) -> None:
    path = write_aged(tmp_path / "a.parquet", numbers(1, 2, 3))
    small.release(placed(small, total(path)))
    found = small.place(total(path).replace("SUM", "MAX"), {}, ())
    assert found is not None
    assert answer(small, found) == [3]
    small.release(found)


def test_a_changed_file_is_another(tmp_path: Path, small: SmallFiles) -> None:
    path = write_aged(tmp_path / "a.parquet", numbers(1, 2, 3))
    small.release(placed(small, total(path)))
    write_aged(tmp_path / "a.parquet", numbers(1, 2, 4), age=5.0)
    found = placed(small, total(path))
    assert answer(small, found) == [7]
    small.release(found)


def test_a_file_that_changed_just_now_is_not_kept(tmp_path: Path, small: SmallFiles) -> None:
    text = total(write_aged(tmp_path / "a.parquet", numbers(1), age=0.0))
    assert [small.place(text, {}, ()) for _ in range(3)] == [None] * 3


def test_the_files_of_a_parameter(tmp_path: Path, small: SmallFiles) -> None:
    files = [write_aged(tmp_path / f"{i}.parquet", numbers(i)) for i in (1, 2, 4)]
    text = (
        'SELECT SUM("t0"."n") AS "s" FROM READ_PARQUET($r1, "hive_partitioning" = FALSE, "file_row_number" = TRUE) AS "t0" '
        'WHERE "t0"."file_row_number" >= $r1_first AND "t0"."file_row_number" < $r1_end'
    )
    for chosen, expected in ((files[:2], 3), (files[1:], 6)):
        found = placed(small, text, {"r1": chosen, "r1_first": 0, "r1_end": 1})
        assert answer(small, found) == [expected]
        small.release(found)


def test_a_statement_is_placed_whole_or_not_at_all(tmp_path: Path, small: SmallFiles) -> None:
    little = write_aged(tmp_path / "little.parquet", numbers(1))
    large = write_aged(tmp_path / "large.parquet", pa.table({"n": np.random.default_rng(1).random(700_000)}))
    both = f"{total(little)} UNION ALL {total(large)}"
    small.release(placed(small, total(little)))
    assert [small.place(both, {}, ()) for _ in range(3)] == [None] * 3
    # What it would have read is not in use for ever.
    assert not any(small._users.values())


def test_csv_is_kept_with_its_options(tmp_path: Path, small: SmallFiles) -> None:
    path = tmp_path / "a.csv"
    pc.write_csv(numbers(1, 2), path)
    os.utime(path, (time.time() - 10, time.time() - 10))
    reader = f"READ_CSV(['{path}'], \"columns\" = {{'n': 'BIGINT'}}, \"header\" = TRUE)"
    found = placed(small, f'SELECT SUM("t0"."n") AS "s" FROM {reader} AS "t0"')
    assert answer(small, found) == [3]
    small.release(found)


def test_a_file_that_cannot_be_read_is_the_statements_error(tmp_path: Path, small: SmallFiles) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more")
    os.utime(path, (0, 0))
    assert [small.place(total(str(path)), {}, ()) for _ in range(3)] == [None] * 3


def test_what_was_used_longest_ago_makes_room(
    tmp_path: Path, small: SmallFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write_aged(tmp_path / f"{i}.parquet", numbers(i)) for i in range(3)]
    first = placed(small, total(paths[0]))
    size = small.statistics()["small_table_bytes"]
    monkeypatch.setattr(small_files, "_KEPT_BYTES", 2 * size)
    small.release(placed(small, total(paths[1])))
    small.release(placed(small, total(paths[2])))
    assert small.statistics() == {"small_tables": 2, "small_table_bytes": 2 * size}
    # In use, it stayed, though it was the oldest.
    assert answer(small, first) == [0]
    small.release(first)


def test_what_tables_take_is_what_they_take_of_memory(tmp_path: Path, small: SmallFiles) -> None:
    """The files have a hundredth of it."""
    path = write_aged(tmp_path / "a.parquet", numbers(*[7] * 500_000))
    small.release(placed(small, total(path)))
    assert os.stat(path).st_size < 100_000
    assert small.statistics()["small_table_bytes"] >= 4_000_000


def test_a_table_that_takes_too_much_is_given_up(
    tmp_path: Path, small: SmallFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_files, "_TABLE_BYTES", 1_000_000)
    path = write_aged(tmp_path / "a.parquet", numbers(*[7] * 500_000))
    assert [small.place(total(path), {}, ()) for _ in range(4)] == [None] * 4
    assert small._table_bytes() == 0


def test_long_texts_count_as_memory_of_their_table(tmp_path: Path, small: SmallFiles) -> None:
    """A file of a megabyte whose table takes forty."""
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 40, pa.int32()), pa.array(["x" * (1 << 20)]))
    path = write_aged(tmp_path / "a.parquet", pa.table({"n": list(range(40)), "v": shared}))
    for _ in range(3):
        assert small.place(total(path), {}, ()) is None
    assert small.statistics() == {"small_tables": 0, "small_table_bytes": 0}
    assert small._table_bytes() == 0


def test_rows_are_measured_before_a_table_is_made(tmp_path: Path, small: SmallFiles) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50_000, np.int32)), pa.array(["x" * 100_000]))
    many = pa.array(np.zeros(small_files._TABLE_BYTES // 16 + 1, np.int64))
    for name, values in (("long", long), ("many", many)):
        path = write_aged(tmp_path / f"{name}.parquet", pa.table({"n": values}))
        assert os.path.getsize(path) < small_files._READER_BYTES
        statement = total(path).replace("SUM", "COUNT")
        assert [small.place(statement, {}, ()) for _ in range(3)] == [None] * 3
    assert next(small._numbers) == 1


def test_inputs_run_there_if_they_are_small(small: SmallFiles) -> None:
    text = 'SELECT SUM("t0"."n") AS "s" FROM "edge_1" AS "t0"'
    found = small.place(text, {}, [numbers(1)])
    assert found is not None
    assert (found.statement, found.kept) == (text, ())
    many = pa.table({"n": pa.array(range(small_files.INPUT_BYTES // 8 + 1), pa.int64())})
    assert small.place(text, {}, [many]) is None


def test_what_reads_nothing_or_is_not_ours_stays_where_it_is(tmp_path: Path, small: SmallFiles) -> None:
    path = write_aged(tmp_path / "a.parquet", numbers(1))
    for text in (
        'SELECT 1 AS "c"',
        f"select sum(n) from read_parquet('{path}')",
        "not a statement (",
        total(path) + ";",
    ):
        assert [small.place(text, {}, ()) for _ in range(3)] == [None] * 3


def test_plain_scans() -> None:
    reader = 'READ_PARQUET([\'/a.parquet\'], "hive_partitioning" = FALSE) AS "t0"'
    assert is_scan(f'SELECT CAST("t0"."n" AS BIGINT) AS "c1", "t0"."m" AS "c2" FROM {reader}')
    assert is_scan(f'SELECT "t1"."c1" AS "c2" FROM (SELECT "t0"."n" AS "c1" FROM {reader}) AS "t1"')
    for other in (
        f'SELECT SUM("t0"."n") AS "c1" FROM {reader}',
        f'SELECT "t0"."n" AS "c1" FROM {reader} WHERE "t0"."n" > 1',
        f'SELECT "t0"."n" AS "c1" FROM {reader} ORDER BY "t0"."n" NULLS LAST',
        f'SELECT "t0"."n" AS "c1" FROM {reader} LIMIT 1',
        f'SELECT DISTINCT "t0"."n" AS "c1" FROM {reader}',
        f'SELECT "t0"."n" AS "c1" FROM {reader} GROUP BY "t0"."n"',
        'SELECT "t0"."n" AS "c1" FROM "edge_1" AS "t0"',
    ):
        assert readers_of(other) is not None
        assert not is_scan(other)


def test_a_statement_that_has_its_tree_is_not_parsed(
    tmp_path: Path, small: SmallFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = total(write_aged(tmp_path / "a.parquet", numbers(1, 2, 3))) + " LIMIT 1"
    tree = sqlglot.parse_one(text, dialect=DIALECTS["local"])
    assert isinstance(tree, exp.Expression)
    parsed: list[str] = []
    monkeypatch.setattr(statements, "_parse", parsed.append)
    assert small.place(text, {}, (), tree) is None
    found = small.place(text, {}, (), tree)
    assert found is not None
    assert answer(small, found) == [6]
    small.release(found)
    assert not parsed


def test_what_a_member_compiles_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(statements, "_parse", parsed.append)
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("create table of_trees (a int)")
        connection.execute("insert into of_trees values (1), (2)")
        rows = [connection.execute("select sum(a), 'once' from of_trees").fetchone() for _ in range(2)]
    assert rows == [(3, "once")] * 2
    assert not parsed

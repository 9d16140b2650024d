"""Tables with more files than a plan reads footers of: right answers whatever is known yet, and files that appear,
disappear and change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_member import local_member

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.lakes import foreign_files
from engine.planner.optimizer import footers
from engine.planner.optimizer.column_bounds import Comparison
from engine.planner.optimizer.input_size import known_groups
from engine.planner.optimizer.pruning import files_passing
from wire.types import pg_types as t

_AT_ONCE: Final = 4
_FILES: Final = 11
_ROWS: Final = 10


@pytest.fixture(autouse=True)
def few_footers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "_AT_ONCE", _AT_ONCE)
    monkeypatch.setattr(footers, "_SAMPLE", 2)


def _write(file: Path, values: Sequence[int | None], **more: Sequence[Any]) -> None:
    pq.write_table(pa.table({"id": pa.array(values, pa.int64()), **more}), file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(_FILES):
        _write(folder / f"{number:02}.parquet", range(number * _ROWS, (number + 1) * _ROWS))
    return folder


def _table(folder: Path) -> Table:
    files, version = foreign_files.list_files(str(folder), "parquet")
    columns = (TableColumn("id", st.of(t.INT8), 1),)
    return Table(1, "public", "t", columns, "parquet", str(folder), files, version)


def _passing(table: Table, value: int) -> list[str]:
    found = files_passing(table, Comparison("id", st.of(t.INT8), "=", value))
    return [os.path.basename(file) for file in found]


def test_each_plan_reads_some_footers_until_all_are_known(folder: Path) -> None:
    table, counts = _table(folder), []
    for _ in range(4):
        counts.append(len(_passing(table, 37)))
    # Of those that are known one may have the row; the others may.
    assert counts == [1 + 7, 1 + 3, 1, 1]
    assert not footers.awaits_footers(table)
    assert _passing(table, 37) == ["03.parquet"]
    assert _passing(table, -1) == []


def test_a_table_with_more_footers_than_are_remembered_has_a_sample(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footers, "_FOOTERS_MOST", _FILES)
    table = _table(folder)
    assert {len(_passing(table, 37)) for _ in range(4)} == {_FILES - 2}
    assert not footers.awaits_footers(table)


def test_rows_of_files_that_are_not_known_are_estimated_by_the_others(folder: Path) -> None:
    known = known_groups(_table(folder), None)
    assert (known.known, known.unknown, known.unseen) == (_AT_ONCE, _FILES - _AT_ONCE, 0)
    assert sum(group.end - group.first for group in known.groups) * known.scale == _FILES * _ROWS


def test_only_a_file_that_came_or_changed_is_read_again(folder: Path) -> None:
    while footers.awaits_footers(table := _table(folder)):
        footers.read_footers(table)
    _write(folder / "11.parquet", [1000])
    _write(folder / "03.parquet", [37, 2000, 2001])
    os.unlink(folder / "05.parquet")
    table = _table(folder)
    assert footers._find_unknown(table) == footers._keys(
        table, [str(folder / "03.parquet"), str(folder / "11.parquet")]
    )
    footers.read_footers(table)
    assert _passing(table, 1000) == ["03.parquet", "11.parquet"]
    assert _passing(table, 2000) == ["03.parquet"]
    assert _passing(table, 35) == []
    assert _passing(table, -1) == []


@pytest.fixture
def connection(tmp_path: Path, folder: Path) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    # Only one file has this column, and no plan has looked there when the first ones are run.
    _write(folder / "05.parquet", [55, None], late=["here", "null"])
    with local_member(tmp_path / "data") as member, member.connect() as connection:
        connection.execute(f"create foreign table files (id bigint, late text) options (path '{folder}')".encode())
        yield connection


def test_answers_are_right_before_all_footers_are_known(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    for _ in range(5):
        assert connection.execute("select * from files where id = 55").fetchall() == [(55, "here")]
        assert connection.execute("select late from files where id = 37").fetchall() == [(None,)]
        assert connection.execute("select late from files where id is null").fetchall() == [("null",)]
        assert connection.execute("select count(*), count(late) from files").fetchall() == [(102, 2)]


def test_a_statement_sees_files_that_come_go_and_change(
    connection: psycopg.Connection[tuple[Any, ...]], folder: Path
) -> None:
    def found(value: int) -> int:
        return len(connection.execute("select from files where id = %s", (value,), prepare=True).fetchall())

    assert [found(37) for _ in range(7)] == [1] * 7
    _write(folder / "99.parquet", [37, 500])
    assert (found(37), found(500)) == (2, 1)
    _write(folder / "03.parquet", [38])
    assert (found(37), found(38)) == (1, 1)
    os.unlink(folder / "99.parquet")
    assert (found(37), found(500)) == (0, 0)


def test_explain_leaves_out_more_files_as_more_is_known(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    def files() -> str:
        lines = [row[0].strip() for row in connection.execute("explain select * from files where id = 37")]
        return next((line for line in lines if line.startswith("Files:")), "")

    connection.execute("prepare p as select * from files where id = 37")
    told = [files() for _ in range(6)]
    assert told[-1] == f"Files: 1 of {_FILES}"
    for _ in range(2):
        assert connection.execute("execute p").fetchall() == [(37, None)]


def test_keys_of_more_new_files_than_a_plan_reads_footers_of_are_checked(
    connection: psycopg.Connection[tuple[Any, ...]],
) -> None:
    connection.execute("create table keyed (id int, p int, primary key (id, p)) partition by list (p)")
    for first in (0, 100):
        connection.execute("insert into keyed select %s + n, n %% 9 from generate_series(0, 17) n", (first,))
    for first in (0, 9, 100, 109):
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("insert into keyed select %s + n, n %% 9 from generate_series(0, 8) n", (first,))
    assert connection.execute("select count(*) from keyed").fetchall() == [(36,)]

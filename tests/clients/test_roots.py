"""Foreign tables and COPY stay below their configured folders: links, `..`, wildcards, and a link that replaces a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_member import LocalMember, local_member, say

from engine.statements.shared.copy_files import NewFile, open_file
from wire.errors import InsufficientPrivilege


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders with a file each: `in`, which is allowed, and `out`, which is not; links lead from the one to the other."""
    folder = tmp_path_factory.mktemp("ground")
    for name in ("in", "out"):
        (folder / name / "deep").mkdir(parents=True)
        pq.write_table(pa.table({"a": [name]}), folder / name / "deep" / "a.parquet")
    (folder / "in" / "linked").symlink_to(folder / "out" / "deep")
    (folder / "in" / "mixed").mkdir()
    (folder / "in" / "mixed" / "b.parquet").symlink_to(folder / "out" / "deep" / "a.parquet")
    (folder / "in" / "lake").mkdir()
    (folder / "in" / "[a]").mkdir()
    return folder


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, ground: Path) -> Iterator[LocalMember]:
    roots = (ground / "in",)
    with local_member(tmp_path_factory.mktemp("roots"), roots=roots, copy_roots=roots) as running:
        yield running


@pytest.fixture
def connection(local: LocalMember) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with local.connect() as made:
        made.execute("drop foreign table if exists t")
        yield made


#: Paths below the folder that is allowed, as somebody may say them.
_OUTSIDE = [
    "in/../out/deep/a.parquet", "out/deep", "out/*/a.parquet", "in/linked/a.parquet", "in/linked", "in/l*/a.parquet",
    "in/*/*.parquet", "in/**/*.parquet", "in/[l]inked/a.parquet", "in/?ixed/b.parquet", "in/mixed", "in/*/../../out/deep/a.parquet",
]  # fmt: skip


@pytest.mark.parametrize("path", _OUTSIDE)
def test_a_foreign_table_reads_nothing_outside(
    connection: psycopg.Connection[tuple[object, ...]], ground: Path, path: str
) -> None:
    for columns in ("(a text)", ""):
        made = say(connection, f"create foreign table t {columns} options (path '{ground}/{path}', format 'parquet')")
        told = made if made.error is not None else say(connection, "select * from t")
        assert told.error is not None, told.rows
        assert told.error[0] == "42501", told.error
        say(connection, "drop foreign table if exists t")


def test_a_link_that_takes_a_files_place_is_not_read(
    connection: psycopg.Connection[tuple[object, ...]], ground: Path
) -> None:
    """Asked for with every statement, not only when the table is made."""
    file = ground / "in" / "lake" / "a.parquet"
    pq.write_table(pa.table({"a": ["in"]}), file)
    connection.execute(f"create foreign table t (a text) options (path '{file}', format 'parquet')".encode())
    assert connection.execute("select * from t").fetchall() == [("in",)]
    file.unlink()
    file.symlink_to(ground / "out" / "deep" / "a.parquet")
    try:
        told = say(connection, "select * from t")
        assert told.error is not None, told.rows
        assert told.error[0] == "42501"
    finally:
        file.unlink()


def test_copy_takes_no_wildcards_for_more_than_their_letters(
    connection: psycopg.Connection[tuple[object, ...]], ground: Path
) -> None:
    connection.execute(f"copy (select 7) to '{ground}/in/[a]/*.csv' csv".encode())
    connection.execute("create temporary table c (a int4)")
    connection.execute(f"copy c from '{ground}/in/[a]/*.csv' csv".encode())
    assert connection.execute("select * from c").fetchall() == [(7,)]
    for path in _OUTSIDE:
        for direction in ("from", "to"):
            told = say(connection, f"copy c {direction} '{ground}/{path}' csv")
            assert told.error is not None, path
            assert told.error[0] in {"42501", "42809", "58P01"}, (path, told.error)
    assert (ground / "out" / "deep" / "a.parquet").read_bytes()[:4] == b"PAR1"


def test_a_folder_that_becomes_a_link_between_check_and_use(ground: Path) -> None:
    """COPY opens what it has checked: a path that leads elsewhere by then is refused, to read and to write."""
    checked = ground / "in" / "linked" / "a.parquet"
    with pytest.raises(InsufficientPrivilege, match="lies outside"):
        open_file(checked, str(checked))
    with pytest.raises(InsufficientPrivilege, match="lies outside"):
        NewFile(ground / "in" / "linked" / "new.csv", "new.csv")
    assert [file.name for file in (ground / "out" / "deep").iterdir()] == ["a.parquet"]

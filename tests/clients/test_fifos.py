"""FIFOs where files are expected: every statement that reads or writes files refuses them at once, and no thread of the
member waits.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member, say

#: A statement that waits for the other end of a FIFO would hang: this ends the test and says nothing about speed.
_HANG_SECONDS = "20s"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("fifos"))


@pytest.fixture(scope="module")
def local(folder: Path) -> Iterator[LocalMember]:
    with local_member(folder / "data", roots=(folder,), copy_roots=(folder,)) as running:
        yield running


@pytest.fixture
def connection(local: LocalMember) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local.connect() as made:
        made.execute(f"set statement_timeout = '{_HANG_SECONDS}'".encode())
        made.execute("create temporary table t (a int4)")
        yield made


@pytest.fixture
def fifo(folder: Path) -> Iterator[Path]:
    (folder / "lake").mkdir()
    made = folder / "lake" / "f.csv"
    os.mkfifo(made)
    yield made
    # Whoever still waits for the other end meets it here, so that the member can stop.
    os.close(os.open(made, os.O_RDWR | os.O_NONBLOCK))
    shutil.rmtree(folder / "lake")


def _refused(connection: psycopg.Connection[tuple[Any, ...]], statement: str) -> None:
    told = say(connection, statement)
    assert told.error is not None, statement
    assert told.error[0] == "42809", (statement, told.error)
    assert "is not a regular file" in str(told.error[1])


@pytest.mark.parametrize("form", ["csv", "text", "binary", "parquet", "json"])
def test_copy_from(connection: psycopg.Connection[tuple[Any, ...]], fifo: Path, form: str) -> None:
    _refused(connection, f"copy t from '{fifo}' (format {form})")
    assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_copy_to(connection: psycopg.Connection[tuple[Any, ...]], fifo: Path, form: str) -> None:
    """Nor is a FIFO replaced by a file, as another file would be."""
    _refused(connection, f"copy t to '{fifo}' (format {form})")
    assert fifo.is_fifo()


def test_a_link_to_a_device(connection: psycopg.Connection[tuple[Any, ...]], folder: Path) -> None:
    (folder / "zero").symlink_to("/dev/zero")
    told = say(connection, f"copy t from '{folder}/zero'")
    assert told.error is not None
    assert told.error[0] == "42501", "the path that it leads to lies outside"


@pytest.mark.parametrize("path", ["f.csv", "", "*.csv"])
def test_foreign_tables(connection: psycopg.Connection[tuple[Any, ...]], fifo: Path, path: str) -> None:
    place = fifo.parent / path if path else fifo.parent
    for columns in ("(a int4)", ""):
        _refused(connection, f"create foreign table g {columns} options (path '{place}', format 'csv')")


def test_a_foreign_table_whose_folder_gets_one(connection: psycopg.Connection[tuple[Any, ...]], fifo: Path) -> None:
    """Each statement looks its files up anew."""
    later = fifo.parent / "later"
    later.mkdir()
    (later / "a.csv").write_text("1\n")
    connection.execute(f"create foreign table g (a int4) options (path '{later}', format 'csv')".encode())
    try:
        assert connection.execute("select * from g").fetchall() == [(1,)]
        os.mkfifo(later / "b.csv")
        _refused(connection, "select * from g")
    finally:
        connection.execute("drop foreign table g")

"""A full disk: below the tables, the catalog, and the rows that a cursor keeps. A statement that needs space is refused
with 53100 and leaves nothing behind, one that needs none continues, and when there is space again everything works.

The disk is a small file system in memory, which only root may mount; where that is not possible, the test is skipped.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.member_process import MemberProcess
from support.member_state import spool_files, wait_idle
from support.recoveries import Recovery

ROWS = 1_000
MUCH = "select x, md5(x::text) s from generate_series(1, 1000000) x"


def hold(connection: psycopg.Connection[Any], rows: int) -> None:
    """Declare a cursor whose rows the member keeps after its transaction: on disk, because they are many."""
    connection.execute("begin")
    query = f"select x, md5(x::text) s from generate_series(1, {rows}) x"
    connection.execute(f"declare c cursor with hold for {query}".encode())
    assert len(connection.execute("fetch 10 from c").fetchall()) == 10
    connection.execute("commit")


class Disk:
    """A file system of a few megabytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Fill the file system completely."""
        with self._ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def clear(self) -> None:
        self._ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    yield Disk(folder)
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def member(disk: Disk, tmp_path: Path) -> Iterator[MemberProcess]:
    """A member whose tables, catalog and cursor rows are on the small disk."""
    (disk.folder / "data").mkdir()
    (disk.folder / "tmp").mkdir()
    environment = {"SLUICE_SPARK__START": "lazy", "TMPDIR": str(disk.folder / "tmp")}
    with MemberProcess(disk.folder / "data", environment=environment, log=tmp_path / "log") as running:
        yield running


def files(disk: Disk) -> set[Path]:
    """Return the Parquet files below the tables."""
    return set((disk.folder / "data" / "tables").rglob("*.parquet"))


def test_a_disk_is_full_and_has_room_again(member: MemberProcess, disk: Disk) -> None:
    with member.connect() as writing, member.connect() as reading:
        writing.execute("create table t as select x from generate_series(1, 1000) x")
        # Where temporary files go is settled by the first one.
        hold(writing, 300_000)
        writing.execute("close c")
        before = files(disk)
        disk.fill()
        for statement in (
            f"create table u as {MUCH}",
            "insert into t select x from generate_series(1, 1000000) x",
            "create schema s",
        ):
            fault = Recovery(f"the disk is full: {statement[:14]} ...")
            with pytest.raises(psycopg.errors.DiskFull):
                writing.execute(statement.encode())
            fault.reached("told")
            assert reading.execute("select count(*) from t").fetchone() == (ROWS,)
            assert files(disk) == before
        with pytest.raises(psycopg.errors.DiskFull):
            hold(writing, 300_000)
        assert not [*(disk.folder / "tmp").iterdir(), *spool_files(member)]
        assert reading.execute("select count(*) from t").fetchone() == (ROWS,)
        disk.clear()
        fault = Recovery("the disk has room again")
        writing.execute("insert into t values (0)")
        fault.reached("a change committed")
        writing.execute("create schema s")
        assert reading.execute("select count(*) from t").fetchone() == (ROWS + 1,)
        writing.execute("drop table t")
    wait_idle(member)

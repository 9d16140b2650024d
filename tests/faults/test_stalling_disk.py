"""A network file system whose server does not answer: the statement that reads its files waits, and no other client does."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.member_process import MemberProcess
from support.stalling_folder import StallingFolder, is_possible, stalling_folder

from engine.lakes.local_disks import are_local, look_up

#: Against a test that waits for ever.
_LONG_SECONDS: Final = 60
pytestmark = pytest.mark.skipif(not is_possible(), reason="needs /dev/fuse and the privilege to mount")
#: Statements of which each takes another path where the files are on a local disk, with their only row.
STATEMENTS = {
    "select v from far where k = 2": "two",
    "select count(*), max(v) from far": "3",
    "select v from far order by k limit 1": "one",
    "select l.v from far f join far l on l.k = f.k where f.k = 3": "three",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, StallingFolder]]:
    base = tmp_path_factory.mktemp("disk")
    source, mount = base / "source", base / "mount"
    source.mkdir()
    mount.mkdir()
    file = source / "a.parquet"
    pq.write_table(pa.table({"k": pa.array([1, 2, 3], pa.int64()), "v": ["one", "two", "three"]}), file)
    changed = time.time() - 10
    os.utime(file, (changed, changed))
    with stalling_folder(source, mount) as served:
        yield mount, served


@pytest.fixture(scope="module")
def member(folder: tuple[Path, StallingFolder], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    environment = {"SLUICE_SPARK__START": "lazy"}
    with MemberProcess(tmp_path_factory.mktemp("member"), environment=environment) as running:
        with running.connect() as client:
            client.execute("create table near as select x from generate_series(1, 3) x")
            client.execute(f"create foreign table far options (path '{folder[0] / '*.parquet'}')".encode())
        yield running


def test_such_a_mount_is_not_local(folder: tuple[Path, StallingFolder]) -> None:
    paths = [str(folder[0]), str(folder[0].parent / "source")]
    look_up(paths)
    assert [are_local([path]) for path in paths] == [False, True]


def ask_others(member: MemberProcess, other: psycopg.Connection[Any]) -> None:
    for number in range(1, 20):
        assert other.execute("select sum(x) + %s from near", (number,)).fetchone() == (6 + number,)
        with psycopg.connect(member.dsn) as late:
            assert late.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_only_who_reads_it_waits(folder: tuple[Path, StallingFolder], member: MemberProcess, statement: str) -> None:
    with member.connect() as reader, member.connect() as other, ThreadPoolExecutor(2) as threads:
        # Repeated, so that whatever is kept is kept.
        answers = {str(reader.execute(statement.encode(), prepare=True).fetchone()[0]) for _ in range(4)}  # type: ignore[index]
        with folder[1].stalled():
            waiting = threads.submit(lambda: reader.execute(statement.encode(), prepare=True).fetchone())
            threads.submit(ask_others, member, other).result(timeout=_LONG_SECONDS)
            assert not waiting.done()
        row = waiting.result()
        assert row is not None
        assert {*answers, str(row[0])} == {STATEMENTS[statement]}

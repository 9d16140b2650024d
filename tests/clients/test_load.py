"""`sluice load`, as a process: every kind of file, the columns that it creates, and that a failure loads nothing."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_member import LocalMember, local_member


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(Path(tmp_path_factory.mktemp("load"))) as running:
        yield running


def load(sluice: LocalMember, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "server.cli.main", "load", *map(str, arguments)]
    return subprocess.run(
        [*command, "--host", "127.0.0.1", "--port", str(sluice.port), "--user", "tester"],
        check=False,
        capture_output=True,
        text=True,
    )


def test_every_kind_of_file(sluice: LocalMember, tmp_path: Path) -> None:
    rows = pa.table({"n": pa.array([1, None, 3], pa.int64()), "Text": ["a\tb", None, "c\\d\n\u00e9"]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    (tmp_path / "rows.json").write_text('{"Text": "j", "n": 4}\n{"n": 5}\n')
    (tmp_path / "rows.csv").write_text('Text,n\n"x,y",6\n,7\n')
    (tmp_path / "bare.tsv").write_text("8\tq\n")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b'Text,n\n"z",9\n'))
    names = ("rows.parquet", "rows.json", "rows.csv", "bare.tsv", "rows.csv.gz")
    done = load(sluice, *(tmp_path / name for name in names), "--table", "public.t", "--create")
    assert done.stderr == ""
    assert done.stdout.startswith("public.t: 9 rows, ")
    with sluice.connect() as connection:
        assert connection.execute('select n, "Text" from t order by n').fetchall() == [
            (1, "a\tb"), (3, "c\\d\n\u00e9"), (4, "j"), (5, None), (6, "x,y"), (7, None), (8, "q"), (9, "z"), (None, None),
        ]  # fmt: skip
        connection.execute("drop table t")


def test_a_failure_loads_nothing(sluice: LocalMember, tmp_path: Path) -> None:
    with sluice.connect() as connection:
        connection.execute("create table u (a int)")
        (tmp_path / "1.csv").write_text("a\n1\n2\n")
        (tmp_path / "2.csv").write_text("a\n3\nx\n")
        failed = load(sluice, tmp_path / "1.csv", tmp_path / "2.csv", "--table", "u")
        assert failed.returncode == 1
        assert failed.stderr == (
            'sluice: invalid input syntax for type integer: "x"\nsluice: COPY u, line 3, column a: "x"\n'
        )
        assert connection.execute("select count(*) from u").fetchone() == (0,)
        assert load(sluice, tmp_path, "--format", "csv", "--no-header", "--table", "u").returncode == 1
        unknown = load(sluice, tmp_path / "1.what", "--table", "u")
        assert unknown.stderr.endswith("1.what: its name does not say what it is; --format does\n")
        connection.execute("drop table u")

"""Attackers that connect to the mesh port without the cluster's secret, or with a stolen one, and the limits of what
they can make a member do.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.hostile_peer import NAME, hostile_peer
from support.member_fork import fork_command
from support.member_process import MemberProcess, wait_until

from engine.plan_ir.spec import ReaderSpec

_ROWS = "SELECT t1.c1 FROM READ_CSV($r1, columns = {'c1': 'VARCHAR'}, delim = '|', hive_partitioning = FALSE) AS t1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "private.txt").write_text("a private line\n")
    (folder / "lake").mkdir()
    (folder / "lake" / "link.csv").symlink_to(folder / "private.txt")
    pq.write_table(pa.table({"x": [1, 2, 3]}), folder / "lake" / "t.parquet")
    return folder


@pytest.fixture(scope="module")
def member(folder: Path) -> Iterator[MemberProcess]:
    """The first member of a cluster, whose secret nobody has given."""
    data = folder / "m1"
    data.mkdir()
    environment = {
        "SLUICE_SPARK__START": "lazy", "SLUICE_ROOTS": f"{folder / 'lake'}:{data}", "SLUICE_CLUSTER__FAILURE_AFTER": "3600",
    }  # fmt: skip
    with MemberProcess(data, environment=environment, log=data / "log") as member:
        yield member


@pytest.fixture(scope="module")
def secret(folder: Path, member: MemberProcess) -> bytes:
    file = folder / "m1" / ".sluice" / "cluster-secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file.read_bytes().strip()


def _states(member: MemberProcess) -> dict[str, str]:
    with member.connect() as connection:
        return dict(connection.execute("select id, state from sluice.members").fetchall())


def test_nobody_joins_on_loopback_without_the_secret(member: MemberProcess) -> None:
    # Others of these tests join with the secret, and are remembered.
    known = _states(member).get(NAME)
    # Of what is no secret: the key of HMAC that stands for none.
    for guess in (b"\0", b"guess"):
        with hostile_peer(member.mesh, guess) as stranger:
            assert stranger.goodbye is not None
            assert stranger.goodbye.reason == "secret"
    assert known != "up"
    assert _states(member).get(NAME) == known


def test_a_stolen_secret_makes_nobody_a_writer_of_files(member: MemberProcess, secret: bytes, folder: Path) -> None:
    taken = folder / "taken"
    with hostile_peer(member.mesh, secret) as stranger:
        assert _states(member)[NAME] == "up"
        for statement in (
            f"COPY (SELECT content FROM read_text('{folder / 'private.txt'}')) TO '{taken}'",
            f"COPY (SELECT 1) TO '{taken}'",
            f"SELECT content FROM read_text('{folder / 'private.txt'}')",
            f"SELECT * FROM read_csv('{folder / 'private.txt'}')",
            f"SELECT * FROM '{folder / 'lake' / 't.parquet'}'",
            f"ATTACH '{taken}'",
            "SELECT current_setting('temp_directory')",
        ):
            ended = stranger.run("m1", statement)
            assert (ended.sqlstate, ended.message.partition(":")[0]) == (
                "42501",
                "a member may not have another run this statement",
            )
    assert not taken.exists()
    assert member.log is not None
    assert ": refused to run a statement for another member" in member.log.read_text()


def test_a_stolen_secret_reads_within_the_roots_and_no_member_s_own_files(
    member: MemberProcess, secret: bytes, folder: Path
) -> None:
    with hostile_peer(member.mesh, secret) as stranger:
        for file in (
            folder / "private.txt",
            folder / "lake" / ".." / "private.txt",
            folder / "lake" / "link.csv",
            folder / "m1" / ".sluice" / "cluster-secret",
            folder / "m1" / "x" / ".." / ".sluice" / "catalog.sqlite",
            "private.txt",
            "~/.pgpass",
            "file:///etc/passwd",
        ):
            assert stranger.run("m1", _ROWS, ReaderSpec(1, (str(file),))).sqlstate == "42501", file
            assert stranger.run("m1", _ROWS.replace("$r1", f"['{file}']")).sqlstate == "42501", file


def test_whoever_is_given_the_secret_s_file_joins(member: MemberProcess, secret: bytes, folder: Path) -> None:
    data = folder / "m2"
    data.mkdir()
    seeds = {
        "SLUICE_CLUSTER__SEEDS": f"127.0.0.1:{member.mesh[1]}",
        "SLUICE_SPARK__START": "lazy",
        "SLUICE_MEMBER": "m2",
    }
    refused = fork_command(["serve", "--data", str(data), "--check"], {**os.environ, **seeds})
    assert refused.returncode == 2
    assert "cluster.secret: expected the secret of the cluster" in refused.stderr
    given = {**seeds, "SLUICE_CLUSTER__SECRET_FILE": str(folder / "m1" / ".sluice" / "cluster-secret")}
    with MemberProcess(data, environment=given, log=data / "log") as other:
        with other.connect() as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        wait_until(lambda: _states(other).get("m1") == "up")

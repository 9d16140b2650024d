"""`sluice cluster`: what a user starts, sees and stops."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_cluster import LocalCluster, cluster_command, forked_command, processes_over

from server.cluster.files import MemberProcess, process_of, started_at


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    pq.write_table(pa.table({"x": [1, 2, 3]}), folder / "t.parquet")
    with LocalCluster(folder, 2, 1, command=cluster_command) as cluster:
        yield cluster


def test_members_run_where_they_were_asked_to_and_know_each_other(cluster: LocalCluster) -> None:
    assert list(cluster.members) == ["m1", "m2", "l1"]
    assert cluster.port_of("m1") == cluster.port
    assert [member["role"] for member in cluster.members.values()] == ["data", "data", "lite"]
    for name in cluster.members:
        with cluster.connect(name) as connection:
            rows = connection.execute("select id, role, state from sluice.members order by id").fetchall()
            assert rows == [("l1", "lite", "up"), ("m1", "data", "up"), ("m2", "data", "up")]
    assert f"psql -h 127.0.0.1 -p {cluster.port}" in cluster.told


def test_the_secret_is_its_owners_alone(cluster: LocalCluster) -> None:
    assert stat.S_IMODE((cluster.folder / "secret").stat().st_mode) == 0o600
    assert len((cluster.folder / "secret").read_text().strip()) >= 32


def test_they_share_a_catalog_and_relative_paths(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as here, cluster.connect("m2") as there:
        here.execute("create foreign table t options (path 't.parquet', format 'parquet')")
        assert there.execute("select sum(x) from t").fetchone() == (6,)
        there.execute("drop foreign table t")
        with pytest.raises(psycopg.errors.UndefinedTable):
            here.execute("select sum(x) from t")


def test_a_second_cluster_is_refused_in_the_same_place(cluster: LocalCluster) -> None:
    done = forked_command("up", "--data", str(cluster.folder))
    assert done.returncode == 1
    assert "runs in" in done.stderr
    assert len(cluster.members) == 3


@pytest.mark.long
def test_status_shows_each_member_and_tells_when_one_is_missing(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "c", 2, command=cluster_command) as cluster:
        done = cluster_command("status", "--data", str(cluster.folder))
        assert done.returncode == 0, done.stdout
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("m")]
        assert [line[0] for line in lines] == ["member", "m1", "m2"]
        assert all(line[-1] == "up" for line in lines[1:])
        victim = cluster.members["m2"]
        process = process_of(MemberProcess("m2", "data", "", "", "", victim["pid"], victim["started"]))
        assert process is not None
        process.kill()
        psutil.wait_procs([process])
        done = cluster_command("status", "--data", str(cluster.folder))
        assert done.returncode == 1
        assert "ended" in done.stdout


def test_down_twice_and_status_of_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        done = forked_command("down", "--data", str(tmp_path))
        assert done.returncode == 0
        assert "no cluster runs" in done.stdout
    assert forked_command("status", "--data", str(tmp_path)).returncode == 1


def test_a_member_that_cannot_start_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = cluster_command("up", "--members", "2", "--listen", listen, "--data", str(tmp_path))
    assert done.returncode == 1
    assert "member m1 ended with status 1" in done.stderr
    assert f"cannot listen on {listen}" in done.stderr
    assert not (tmp_path / "cluster.json").exists()
    assert processes_over(tmp_path) == []


def test_a_stranger_that_has_a_members_number_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        record = {"name": "m1", "role": "data", "listen": "127.0.0.1:1", "mesh": "127.0.0.1:1", "console": "127.0.0.1:1",
                  "pid": stranger.pid, "started": started_at(stranger.pid) - 60}  # fmt: skip
        (tmp_path / "cluster.json").write_text(json.dumps({"members": [record]}))
        done = cluster_command("down", "--data", str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert stranger.poll() is None
        stranger.communicate(os.linesep.encode())


def test_wrong_words_are_named(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text("{")
    for words, told in (
        (("up", "--listen", "nowhere", "--data", str(tmp_path)), "--listen"),
        (("up", "--lite-routing", "maybe", "--data", str(tmp_path)), "--lite-routing"),
        (("down", "--data", str(tmp_path)), "cluster.json cannot be read"),
    ):
        done = forked_command(*words)
        assert done.returncode != 0
        assert told in done.stderr


@pytest.mark.long
def test_a_member_that_does_not_end_in_order_is_told(tmp_path: Path) -> None:
    """One whose process ends without having closed what it had: as a crash while it ends does."""
    with LocalCluster(tmp_path, 2, 0, command=cluster_command) as cluster:
        crashing = psutil.Process(cluster.members["m2"]["pid"])
        crashing.suspend()
        first = process_of(MemberProcess(**cluster.members["m1"]))
        down = subprocess.Popen(
            [sys.executable, "-m", "server.cli.main", "cluster", "down", "--data", str(cluster.folder)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if first is not None:
            first.wait(60)
        crashing.kill()
        told = down.communicate(timeout=60)[1]
        assert down.returncode == 1
        assert "m2 did not end in order" in told
        assert "m1 did not" not in told

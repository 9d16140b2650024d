"""`sluice spark-env`: executors whose Python has none of our libraries use those of the archive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import tpch
from support.member_process import MemberProcess, register_tpch
from support.member_state import wait_idle
from support.standalone_spark import StandaloneSpark
from typer.testing import CliRunner

from server.cli.main import app


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "env.tar.gz"
    target.write_bytes(b"mine")
    ended = CliRunner().invoke(app, ["spark-env", str(target)])
    assert (ended.exit_code, ended.stderr) == (1, f"sluice: {target}: File exists\n")
    assert target.read_bytes() == b"mine"


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_tasks_use_its_libraries(tmp_path: Path) -> None:
    bare = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert subprocess.run([bare, "-c", "import pyarrow"], capture_output=True, check=False).returncode == 1
    packed = CliRunner().invoke(app, ["spark-env", str(tmp_path / "env.tar.gz"), "--python", str(bare)])
    assert packed.exit_code == 0, packed.output
    tables = tpch.generate(tmp_path / "tpch", 0.01, "parquet")
    with StandaloneSpark(tmp_path / "spark") as spark:
        conf = "\n".join(f'"{name}" = "{value}"' for name, value in spark.conf.items())
        (tmp_path / "sluice.toml").write_text(f"{packed.stdout}{conf}\n")
        flags = ("--config", str(tmp_path / "sluice.toml"), "--spark-master", spark.master)
        with MemberProcess(tmp_path / "member", *flags, log=tmp_path / "member.log") as member:
            with member.connect(options="-c sluice.engine=spark") as connection:
                register_tpch(connection, tables)
                rows = connection.execute("select l_orderkey, l_comment from lineitem").fetchall()
                [counted] = connection.execute("select count(*) from lineitem").fetchall()
                assert counted == (len(rows),)
                # What Spark lacks is computed by the local engine's functions inside of tasks.
                [keys] = connection.execute(
                    "select count(distinct to_jsonb(l_orderkey) #>> '{}') from lineitem"
                ).fetchall()
                assert keys == (len({key for key, _ in rows}),)
                connection.execute("create table copied as select * from lineitem")
                assert connection.execute("select count(*) from copied").fetchall() == [counted]
                connection.execute("drop table copied")
            wait_idle(member)

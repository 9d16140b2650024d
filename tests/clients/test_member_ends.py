"""The output of a member when it ends: its log, and no messages of libraries that find the interpreter partly torn down.

A member of `MemberProcess` is a forked process, which skips the interpreter's regular shutdown. The other members in these tests
are started as processes of their own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.member_process import MemberProcess

#: `sluice serve --data ...`, whose close fails at its end where the second argument says so.
_PROGRAM = """
import sys
from server import serving
from server.config.config import load

class Failing(serving.Member):
    async def close(self):
        await super().close()
        raise RuntimeError("a close that fails")

if sys.argv[2] == "fails":
    serving.Member = Failing
flags = dict.fromkeys(("listen", "mesh", "console"), "127.0.0.1:0")
sys.exit(serving.run(load(None, {**flags, "data": sys.argv[1], "spark": {"start": "lazy"}, "log_level": "warning"})))
"""
_LINE = re.compile(r"\d{4}-\d\d-\d\d \S+ UTC \[\d+\] (LOG|WARNING):  ")


def test_only_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        MemberProcess(tmp_path, environment={"SLUICE_SPARK__START": "lazy"}, log=log) as member,
        member.connect() as client,
    ):
        assert client.execute("select count(*) from generate_series(1, 10)").fetchone() == (10,)
    said = log.read_text().splitlines()
    assert [line for line in said if not _LINE.match(line)] == []


@pytest.mark.parametrize("close", ["succeeds", "fails"])
def test_nothing_of_objects_that_are_left(tmp_path: Path, close: str) -> None:
    """DuckDB's binding counts its objects when the interpreter ends, and finds none."""
    command = (sys.executable, "-c", _PROGRAM, str(tmp_path), close)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as member:
        assert member.stdout is not None
        assert "sluice ready" in member.stdout.readline()
        member.send_signal(signal.SIGTERM)
        _, said = member.communicate(timeout=240)
    assert "leaked" not in said
    assert ("a close that fails" in said) == (close == "fails")
    assert member.returncode == (close == "fails")

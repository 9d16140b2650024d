"""What a member says when it ends: what it logs, and nothing of libraries that find the interpreter half gone."""

from __future__ import annotations

import re
from pathlib import Path

from support.member_process import MemberProcess

_LINE = re.compile(r"\d{4}-\d\d-\d\d \S+ (INFO|WARNING) ")


def test_only_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        MemberProcess(tmp_path, environment={"SLUICE_SPARK__START": "lazy"}, log=log) as member,
        member.connect() as client,
    ):
        assert client.execute("select count(*) from generate_series(1, 10)").fetchone() == (10,)
    said = log.read_text().splitlines()
    assert [line for line in said if not _LINE.match(line)] == []

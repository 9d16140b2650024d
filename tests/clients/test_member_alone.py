"""A member without a cluster configuration: it listens for clients only."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import psutil
from support.member_process import MemberProcess


def _listening(member: MemberProcess) -> set[int]:
    """The ports that the member's own process listens on."""
    connections = psutil.Process(member.pid).net_connections("inet")
    return {c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN}


def _own(member: MemberProcess) -> set[int]:
    return {int(member.ready[key].rstrip("/").rpartition(":")[2]) for key in ("listen", "console")}


def test_it_listens_for_clients_and_on_no_mesh_port(tmp_path: Path) -> None:
    with MemberProcess(tmp_path, environment={"SLUICE_SPARK__START": "lazy"}) as member, member.connect() as connection:
        assert "mesh" not in member.ready
        assert connection.execute("select id, address, state from sluice.members").fetchall() == [("m1", "", "up")]
        connection.execute("set sluice.distribution = always")
        assert connection.execute("select count(*) from generate_series(1, 1000) g").fetchone() == (1000,)
        assert _listening(member) == _own(member)
        with urllib.request.urlopen(member.ready["console"] + "status", timeout=30) as answer:
            assert [m["id"] for m in json.load(answer)["members"]] == ["m1"]
        assert not (tmp_path / ".sluice" / "cluster-secret").exists()

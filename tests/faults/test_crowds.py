"""The maximum number of clients, and one more: it is refused, the others are served, and superusers can still connect."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from support.member_process import MemberProcess, wait_until
from support.member_state import client_sockets, status
from support.recoveries import Recovery

RESERVED = 3


@pytest.mark.parametrize("most", [20, pytest.param(500, marks=pytest.mark.long)])
def test_a_full_member(tmp_path: Path, most: int) -> None:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_MAX_CONNECTIONS": str(most)}
    with MemberProcess(tmp_path, environment=environment) as member, ExitStack() as open_:
        with member.connect() as first:
            first.execute("create role boss login superuser")
            first.execute("create role many login")
        with ThreadPoolExecutor(8) as threads:
            come = list(threads.map(lambda _number: member.connect(user="many"), range(most - RESERVED)))
        for connection in come:
            open_.enter_context(connection)
        with pytest.raises(psycopg.OperationalError, match="remaining connection slots are reserved"):
            member.connect(user="many")
        bosses = [open_.enter_context(member.connect(user="boss")) for _ in range(RESERVED)]
        for user in ("many", "boss"):
            with pytest.raises(psycopg.OperationalError, match="sorry, too many clients already"):
                member.connect(user=user)
        for number, connection in enumerate([*come, *bosses]):
            assert connection.execute("select %s::int4", (number,)).fetchone() == (number,)
        come[0].close()
        fault = Recovery(f"one of {most} sessions ends")
        wait_until(lambda: len(status(member)["connections"]) == most - 1)
        with member.connect(user="boss") as again:
            assert again.execute("select 1").fetchone() == (1,)
        fault.reached("another one is let in")
        open_.close()
        wait_until(lambda: not client_sockets(member))

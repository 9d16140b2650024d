"""`sluice.memory_max` where several members run a statement: each enforces the limit, and the error's hint names it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from support.fault_ground import ROWS, Ground, connect, participants, wait_clean
from support.member_state import status


@pytest.mark.long
def test_every_member_keeps_the_limit(tmp_path: Path) -> None:
    grouped = "select array_agg(s order by x) as a from t where x < {} group by x % 7"
    lists = f"select count(*) from ({grouped}) as l where a[1] <> ''"
    with ExitStack() as stack:
        members = Ground(tmp_path, stack).three()
        with members[0].connect() as admin:
            admin.execute("create role tester superuser login")
            admin.execute("create role narrow login")
            admin.execute("grant select on t to narrow")
            admin.execute("alter role narrow set sluice.memory_max = '16MB'")
        with connect(members[0], user="narrow") as narrow, connect(members[0]) as wide:
            assert participants(narrow) == {"m1", "m2", "m3"}
            with pytest.raises(psycopg.errors.OutOfMemory) as caught:
                narrow.execute(lists.format(ROWS).encode())
            assert caught.value.diag.message_hint == "The limit is sluice.memory_max, which ALTER ROLE sets."
            assert narrow.execute(lists.format(10_000).encode()).fetchone() == (7,)
            assert wide.execute(lists.format(ROWS).encode()).fetchone() == (7,)
            assert [status(member)["counters"]["local"]["role_databases"] for member in members] == [1, 1, 1]
        wait_clean(*members)

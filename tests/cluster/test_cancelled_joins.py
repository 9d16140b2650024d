"""Distributed joins that are cancelled at random moments, with a member killed in between: no member holds anything of
them, and each member that is told to end does so in order (`MemberProcess` checks its status).

By hand: `CANCELS=500 pytest tests/cluster/test_cancelled_joins.py`; `SEED` repeats the moments of a run.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from support.fault_ground import Ground, Running, connect, mesh_address, wait_clean, wait_up
from support.member_process import wait_until
from support.member_state import status

CANCELS = int(os.environ.get("CANCELS", "20"))
#: Its sides are large enough to be stored in tables while they arrive, and each row meets so many that it outlasts every moment.
_SIDE = "(select x, s || x || s || x || s || x || s || x as s from t)"
JOIN = f"select count(*) from {_SIDE} a join {_SIDE} b on a.x % 100 = b.x % 100 where a.s < b.s"
#: Between the moment that the statement is sent and its cancel. A cancel that overtakes the statement cancels nothing.
MOMENT_SECONDS = (0.05, 4.0)


@pytest.mark.long
def test_cancelled_joins_leave_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    chance = random.Random(seed)
    print(f"SEED={seed}")
    with ExitStack() as stack:
        ground = Ground(tmp_path, stack)
        m1, m2, m3 = ground.three()
        for number in range(CANCELS):
            if number == CANCELS // 2:
                running = Running(connection := connect(m1), JOIN)
                time.sleep(chance.uniform(0.2, 1))
                m3.kill()
                with pytest.raises(psycopg.Error):
                    running.result()
                connection.close()
                wait_clean(m1, m2, others=1)
                m3 = ground.start("m3", mesh_address(m1))
                wait_up(m1, m2, m3)
            with connect(chance.choice((m1, m2, m3))) as connection:
                running = Running(connection, JOIN)
                wait_until(lambda c=connection: c.info.transaction_status is TransactionStatus.ACTIVE)
                time.sleep(chance.uniform(*MOMENT_SECONDS))
                connection.cancel()
                with pytest.raises(psycopg.errors.QueryCanceled):
                    running.result()
        wait_clean(m1, m2, m3)
        for member in (m1, m2, m3):
            wait_until(lambda m=member: not status(m)["connections"])
            assert status(member)["counters"]["local"]["cursors"] == 0

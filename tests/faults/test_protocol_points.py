"""A member that is paused in the middle of a query, and a black hole between members.

Members that are killed at such points are tested in `tests/cluster/test_faults.py`, and so are those that are paused
for longer than `cluster.failure_after`. A shorter pause loses no member, and so no query: the answer is late, and
right.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from support.fault_ground import ROWS, Ground, Running, Wire, connect, held, suspended, wait_clean
from support.member_process import wait_until
from support.recoveries import Recovery

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
SUM = (ROWS, ROWS * (ROWS - 1) // 2)
QUERY = "select count(*), sum(x) from t"
ALONE = "-c sluice.engine=local -c sluice.distribution=off"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_participant_stands_still_for_a_while(tmp_path: Path, stack: ExitStack) -> None:
    """The participant is paused before its start, in mid-stream, and when nearly all rows have been read."""
    m1, m2, m3 = Ground(tmp_path, stack).three()
    with connect(m1) as connection, m2.connect(options=ALONE) as neighbour:
        for rows in (0, 10, ROWS - 10):
            if rows:
                connection.execute("begin")
                assert len(list(suspended(connection, rows))) == rows
            m3.send(signal.SIGSTOP)
            running = Running(connection, "fetch all from c" if rows else QUERY)
            assert neighbour.execute(QUERY).fetchone() == SUM
            m3.send(signal.SIGCONT)
            if rows:
                assert len(running.result()) == ROWS - rows
                connection.execute("commit")
            else:
                assert running.result() == [SUM]
            wait_clean(m1, m2, m3)


def test_a_black_hole_before_the_first_batch(tmp_path: Path, stack: ExitStack) -> None:
    """Data connections to the initiator are accepted and not relayed: the query waits, and can be cancelled."""
    wire = stack.enter_context(Wire())
    m1, m2, m3 = Ground(tmp_path, stack).three(wire)
    with connect(m1) as connection, m2.connect(options=ALONE) as neighbour:
        wire.hold(True)
        running = Running(connection, QUERY)
        wait_until(lambda: "mesh.queries" in held(m2) and "mesh.queries" in held(m3))
        assert neighbour.execute(QUERY).fetchone() == SUM
        fault = Recovery("data connections are swallowed, the query is cancelled")
        connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result()
        fault.reached("told")
        wire.hold(False)
        fault = Recovery("data connections are carried again")
        wait_clean(m1, m2, m3)
        assert connection.execute(QUERY).fetchone() == SUM
        fault.reached("another query answered, nothing left")
        wait_clean(m1, m2, m3)

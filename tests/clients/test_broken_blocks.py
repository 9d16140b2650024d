"""A transaction block that fails in the extended protocol can be ended in the extended protocol, as postgres.js does
it.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from support.local_member import local_member


def test_the_portal_that_an_error_broke_takes_what_ends_the_block(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        # Prepared statements go by Parse, Bind, Execute, always in the unnamed portal.
        for mending, status in ((b"rollback to s", psycopg.pq.TransactionStatus.INTRANS), (b"rollback", None)):
            for statement in (b"begin", b"savepoint s"):
                connection.execute(statement, prepare=True)
            with pytest.raises(psycopg.errors.DivisionByZero):
                connection.execute(b"select 1 / 0", prepare=True)
            connection.execute(mending, prepare=True)
            assert connection.info.transaction_status == (status or psycopg.pq.TransactionStatus.IDLE)
            connection.execute(b"rollback")

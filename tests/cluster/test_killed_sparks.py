"""Members and Python workers killed while the Sparks of three members write their shares of a statement: it fails with
an error that permits a retry, or continues, and none of its rows is visible, duplicated or left. All tests share one
set of members and run in order; the later ones have fewer members.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support.child_processes import python_workers
from support.fault_ground import ROWS, Ground, connect, held
from support.member_process import MemberProcess, wait_until
from support.swept_files import require_swept

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

_SPARK: Final = {"SLUICE_SPARK__MASTER": "local[1]", "SLUICE_SPARK__DRIVER_MEMORY": "600m"}
_OPTIONS: Final = "-c sluice.engine=spark -c sluice.distribution=always"
#: Rows that take their time, so that somebody can come between.
_INSERT: Final = "insert into {} select x, s, x % 97, length(repeat(s, 400)) from t"
_SHORT: Final = "insert into {} select x, s, 1, 1 from t where x % 10 = 1"


@dataclass
class Sparks:
    """alive: the members that have not been killed. rows: how many each table has."""

    folder: Path
    alive: list[MemberProcess]
    rows: dict[str, int]

    @property
    def staged(self) -> list[Path]:
        """Files that somebody has begun to write for a statement."""
        return list(self.folder.glob("tables/*/_staging-*/**/*.parquet"))

    def require_as_before(self, member: MemberProcess) -> None:
        with member.connect() as session:
            for table, rows in self.rows.items():
                asked = f"select count(*) from {table}".encode()
                assert session.execute(asked).fetchone() == (rows,)

    def require_swept(self) -> None:
        with self.alive[0].connect() as session:
            require_swept(session, self.folder)


@pytest.fixture(scope="module")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sparks]:
    """Three members, each with a Spark that has started. Spark alone writes `by_spark`, Python workers `by_tasks`."""
    folder = tmp_path_factory.mktemp("sparks")
    with ExitStack() as stack:
        made = Sparks(folder, list(Ground(folder, stack, _SPARK).three()), {})
        with connect(made.alive[0], options=_OPTIONS) as session:
            for table, check in (("by_spark", ""), ("by_tasks", " check (k < 5000)")):
                session.execute(f"create table {table} (id bigint, note text, k int{check}, n int)".encode())
                session.execute(_SHORT.format(table).encode())
                made.rows[table] = ROWS // 10
        yield made


def test_a_worker_is_killed_and_its_task_tried_again(sparks: Sparks) -> None:
    with connect(sparks.alive[0], options=_OPTIONS) as session:
        running = Change(session, _INSERT.format("by_tasks") + " where x % 2 = 0")
        wait_until(lambda: sparks.staged, 120)
        for worker in python_workers(sparks.alive[-1].pid):
            worker.kill()
        running.end()
        sparks.rows["by_tasks"] += ROWS // 2
        sparks.require_as_before(sparks.alive[-1])
        counted = "select count(*) from (select id from by_tasks where n > 1 group by id having count(*) = 1) as once"
        assert session.execute(counted).fetchone() == (ROWS // 2,)
    sparks.require_swept()


@pytest.mark.parametrize("table", ["by_spark", "by_tasks"])
def test_a_member_is_killed_while_its_spark_writes(sparks: Sparks, table: str) -> None:
    insert = _INSERT.format(table)
    with connect(sparks.alive[0], options=_OPTIONS) as session:
        running = Change(session, insert)
        wait_until(lambda: len(sparks.staged) >= len(sparks.alive), 120)
        sparks.alive.pop().kill()
        with pytest.raises(psycopg.errors.SerializationFailure, match=r"member m[23] was lost"):
            running.end()
        assert list(sparks.folder.glob("tables/*/_staging-*")) == []
        for member in sparks.alive:
            wait_until(lambda m=member: not held(m))
            sparks.require_as_before(member)
        sparks.require_swept()
        assert session.execute(_SHORT.format(table).encode()).statusmessage == f"INSERT 0 {ROWS // 10}"
        sparks.rows[table] += ROWS // 10
        sparks.require_as_before(sparks.alive[-1])
    sparks.require_swept()


class Change:
    """A statement in a thread of its own."""

    def __init__(self, session: psycopg.Connection[Any], statement: str) -> None:
        self._session, self._statement = session, statement.encode()
        self._error: psycopg.Error | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Wait for it, as long as the test may take. Raises its error."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._session.execute(self._statement)
        except psycopg.Error as error:
            self._error = error

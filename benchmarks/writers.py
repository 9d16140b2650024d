"""Checks many sessions that write to one table at once: no acknowledged change is lost, and none is there twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import errors

from benchmarks.client_thread import ClientThread, run_clients
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.member import Member, running

_WRITERS: Final = 8
_SECONDS: Final = 60.0


class _Writer(ClientThread):
    """Inserts, and occasionally updates and deletes, rows of its own until the time is over.

    kept: the rows that must exist, by id, as the server acknowledged them.
    """

    def __init__(self, number: int, connection: psycopg.Connection[Any]) -> None:
        super().__init__(number, connection, _SECONDS)
        self.kept: dict[int, int] = {}
        self.conflicts = 0

    def take_step(self, number: int) -> None:
        row = self.number * 1_000_000 + number
        self._repeated("insert into written values (%s, 0)", (row,))
        self.kept[row] = 0
        if number % 10 == 5:
            self._repeated("update written set value = value + 1 where id = %s", (row,))
            self.kept[row] = 1
        elif number % 10 == 9:
            self._repeated("delete from written where id = %s", (row - 1,))
            del self.kept[row - 1]

    def _repeated(self, statement: str, arguments: tuple[int, ...]) -> None:
        """Repeat a statement until it is committed: a conflict (40001) has changed nothing."""
        while True:
            try:
                count = self.connection.execute(statement.encode(), arguments).rowcount
            except errors.SerializationFailure:
                self.conflicts += 1
                continue
            if count != 1:
                raise RuntimeError(f"{statement} {arguments}: {count} rows")
            self.commits += 1
            return


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "writers") as member, member.connect("auto") as connection:
        connection.execute("create table written (id bigint not null, value int)")
        writers = _written(member)
        found = [(int(row[0]), int(row[1])) for row in connection.execute("select id, value from written")]
    expected = {row: value for writer in writers for row, value in writer.kept.items()}
    yield Figure("acknowledged commits", sum(writer.commits for writer in writers), "commits")
    yield Figure("conflicts, retried", sum(writer.conflicts for writer in writers), "")
    yield Figure("lost or wrong rows", len(expected.items() - set(found)), "rows", 0)
    yield Figure("duplicate or unacknowledged rows", len(found) - len(expected.items() & set(found)), "rows", 0)


def _written(member: Member) -> list[_Writer]:
    writers = [_Writer(number, member.connect("auto")) for number in range(_WRITERS)]
    run_clients(writers)
    return writers


MEASURE: Final = Measure(
    "writers",
    "Eight concurrent writers of one table",
    f"{_WRITERS} sessions insert rows of their own into one table for {_SECONDS:.0f} s in autocommit mode, and update "
    "or delete some of them; a statement that fails with a conflict (40001) is retried. At the end the table is "
    "compared with the acknowledged changes.",
    _run,
)

"""Measures commits per second with 1, 8 and 32 clients that insert one row at a time, with few relations in the
catalog and with many.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import sql

from benchmarks import processor
from benchmarks.client_thread import ClientThread, run_clients
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.member import Member, started

_CLIENTS: Final = (1, 8, 32)
_RELATIONS: Final = 20_000
_SECONDS: Final = 10.0
_WARM: Final = 3
_BAR: Final = 4.0
_INSERT: Final = "insert into committed (id, name) values (%s, %s)"


class _Client(ClientThread):
    """Inserts rows."""

    def take_step(self, number: int) -> None:
        self.connection.execute(_INSERT, (self.number, "a row"), prepare=True)
        self.commits += 1


def _run(ground: Ground) -> Iterator[Figure]:
    for relations in (0, _RELATIONS):
        with (
            started(ground.folder(f"commits-{relations}"), 'start = "lazy"') as member,
            member.connect("local") as connection,
        ):
            connection.execute("create table committed (id bigint not null, name text, at timestamptz default now())")
            _fill(ground, connection, relations)
            words = f"{relations:,} relations" if relations else "few relations"
            rates: dict[int, float] = {}
            for clients in _CLIENTS:
                ground.say(f"{clients} clients, {words}")
                rates[clients], cost = _rate(member, clients)
                yield Figure(f"{words}, {clients} clients", rates[clients], "commits/s")
                yield Figure(f"{words}, {clients} clients: processor time per commit", cost, "ms")
            for clients in _CLIENTS[1:]:
                yield Figure(
                    f"{words}: {clients} clients relative to 1", rates[clients] / rates[1], "×", _BAR, at_least=True
                )


def _fill(ground: Ground, connection: psycopg.Connection[Any], relations: int) -> None:
    """Create relations, each in its own transaction: within one transaction, the cost of a statement grows with the
    earlier definitions.
    """
    if relations:
        ground.say(f"{relations:,} relations")
    for number in range(relations):
        connection.execute(sql.SQL("create view {} as select 1 as one").format(sql.Identifier(f"many_{number}")))


def _rate(member: Member, count: int) -> tuple[float, float]:
    """Return the commits per second, and the milliseconds of the member's processor time for each. Raises RuntimeError
    for a lost row.
    """
    clients = [_Client(number, member.connect("local"), _SECONDS) for number in range(count)]
    for client in clients:
        for _ in range(_WARM):
            client.connection.execute(_INSERT, (-1, "warm"), prepare=True)
    with member.connect("local") as connection:
        [before] = connection.execute("select count(*) from committed").fetchone() or (0,)
        begun, used = time.monotonic(), processor.seconds(member.pid)
        run_clients(clients)
        took, used = time.monotonic() - begun, processor.seconds(member.pid) - used
        [after] = connection.execute("select count(*) from committed").fetchone() or (0,)
    commits = sum(client.commits for client in clients)
    if after - before != commits:
        raise RuntimeError(f"{commits} rows were acknowledged, {after - before} are there")
    return commits / took, used / commits * 1000


MEASURE: Final = Measure(
    "commits",
    "Commits of many clients",
    "`insert into committed (id, name) values ($1, $2)` through psycopg, prepared, in autocommit mode, by "
    f"{', '.join(map(str, _CLIENTS))} clients for {_SECONDS:.0f} s each, on a member without Spark; the rows are "
    f"counted. Measured with few relations in the catalog, and with {_RELATIONS:,} views.",
    _run,
)

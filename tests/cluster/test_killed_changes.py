"""Members killed at random moments of changes that all of them compute and write: each change takes place completely or
not at all, acknowledged changes are there, and VACUUM leaves every file that a table has, and no other.

The test runs random changes one after the other and kills a member during each: one that writes, or the initiator
itself. The model is the expected contents of the tables, computed on the members before each change. Whether a change
is running, committing or over when the kill comes is left to chance: all three must be right.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support.campaigns import PARTS
from support.fault_ground import Ground, connect, mesh_address, wait_clean, wait_up
from support.member_process import MemberProcess
from support.recoveries import Recovery
from support.swept_files import require_swept

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

_SIGNS: Final = "count(*), sum(id), sum(v), sum(id * (v + 1) % 1000003)"
_TABLES: Final = ("a", "b")
_Signs = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """statements: one transaction. after: the rows of each table that it changes, as they should be then."""

    statements: Sequence[str]
    after: Mapping[str, str]


def change(chance: random.Random) -> Change:
    kind = chance.choice(("insert", "update", "delete", "merge", "both", "made"))
    rest, more = chance.randrange(10), chance.randrange(1, 9)
    match kind:
        case "insert":
            rows = f"select x + {rest}, x % {more} from t where x % 20 = {rest}"
            return Change([f"insert into a {rows}"], {"a": f"select * from a union all {rows}"})
        case "update":
            met, changed = f"id % 10 < {rest}", f"v + {more}"
            after = f"select id, case when {met} then {changed} else v end as v from a"
            return Change([f"update a set v = {changed} where {met}"], {"a": after})
        case "delete":
            return Change([f"delete from a where id % 10 = {rest}"], {"a": f"select * from a where id % 10 <> {rest}"})
        case "merge":
            rows = f"select x as id from t where x % 40 = {rest}"
            merge = f"merge into a using ({rows}) as s on a.id = s.id when matched then update set v = a.v + {more} "
            kept = f"select id, case when id in ({rows}) then v + {more} else v end as v from a"
            added = f"{rows} and x not in (select id from a)"
            after = f"{kept} union all select id, 1 from ({added}) as n"
            return Change([f"{merge} when not matched then insert values (s.id, 1)"], {"a": after})
        case "both":
            rows = f"select x, {more} from t where x % 30 = {rest}"
            moved = f"id % 10 = {rest}"
            added = f"table b union all {rows} union all select * from a where {moved}"
            return Change(
                [
                    f"insert into b {rows}",
                    f"insert into b select * from a where {moved}",
                    f"delete from a where {moved}",
                ],
                {
                    "a": f"select * from a where not {moved}",
                    "b": added,
                },
            )
        case _:
            return Change(["create table made as table a", "insert into b select * from made", "drop table made"],
                          {"b": "table b union all table a"})  # fmt: skip


class Walk:
    """folder: shared by the members."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._ground = Ground(folder, stack)
        self._members = list(self._ground.three())
        with self._members[0].connect() as connection:
            for table in _TABLES:
                connection.execute(
                    f"create table {table} as select x as id, 1::bigint as v from t where x % 5 = 0".encode()
                )

    def step(self, chance: random.Random) -> None:
        made = change(chance)
        before, after = self._signs({}), self._signs(made.after)
        first, killed = chance.randrange(3), chance.randrange(3)
        answered = threading.Event()
        errors: list[psycopg.Error] = []
        session = connect(self._members[first], autocommit=False)

        def run() -> None:
            try:
                for statement in made.statements:
                    session.execute(statement.encode())
                session.commit()
            except psycopg.Error as error:
                errors.append(error)
            finally:
                answered.set()

        running = threading.Thread(target=run)
        running.start()
        time.sleep(chance.uniform(0.0, 1.2))
        self._members[killed].kill()
        running.join()
        with suppress(psycopg.Error):
            session.close()
        alive = [member for number, member in enumerate(self._members) if number != killed]
        wait_clean(*alive)
        found = self._signs({}, alive[0])
        said = f"{made.statements}: {errors}"
        if not errors:
            assert found == after, said
        elif first == killed:
            assert found in (before, after), said
        else:
            assert errors[0].sqlstate in ("40001", "57P01"), said
            assert found == before, said
        self._require_swept(alive[0])
        assert self._signs({}, alive[1]) == found
        self._start_again(killed, alive[0])

    def _signs(self, rows: Mapping[str, str], member: MemberProcess | None = None) -> tuple[_Signs, ...]:
        """What tells a table's rows from others: of each table, with these rows instead."""
        with (member or self._members[0]).connect() as connection:
            asked = [f"select {_SIGNS} from ({rows.get(table, f'table {table}')}) as x" for table in _TABLES]
            [*signs] = (connection.execute(query.encode()).fetchone() for query in asked)
        return tuple(tuple(found) for found in signs if found is not None)

    def _require_swept(self, member: MemberProcess) -> None:
        """Of a member that is gone, whoever commits next writes to Delta's logs what it committed."""
        with member.connect() as connection:
            connection.execute("comment on table a is 'swept'")
            require_swept(connection, self.folder)

    def _start_again(self, number: int, seed: MemberProcess) -> None:
        fault = Recovery("a member that was killed amid changes is started again")
        self._members[number] = self._ground.start(f"m{number + 1}", mesh_address(seed))
        wait_up(*self._members)
        fault.reached("takes part")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("seed", range(3)[::PARTS])
def test_killed_while_members_write(seed: int, tmp_path: Path, stack: ExitStack) -> None:
    walk = Walk(tmp_path, stack)
    chance = random.Random(seed)
    for _ in range(8):
        walk.step(chance)

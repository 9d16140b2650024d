"""`sluice.memory_max`: the limit of the memory that the statements of one role may hold on a member, together."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.answers import value
from support.local_member import LocalMember, local_member, say

#: What cannot be spilled, and takes some 40 MB: a list of every value, by group.
LISTS = "select count(*) from (select g % 3, array_agg(g) a from generate_series(1, {}) g group by 1) x where a[1] > 0"
#: What can be spilled.
SORTED = "select max(n) from (select row_number() over (order by g::int8 * 7919 % 1000003, g) n from generate_series(1, {}) g) x"

TOLD = (
    "53200",
    "out of memory",
    'Statements of user "narrow" may hold 33554432 bytes together.',
    "The limit is sluice.memory_max, which ALTER ROLE sets.",
)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path, local_threads=1) as member:
        with member.connect() as admin:
            admin.execute("create role tester superuser login")
            admin.execute("create role narrow login")
            admin.execute("create role wide login")
            admin.execute("grant create on schema public to narrow, wide")
            admin.execute("alter role narrow set sluice.memory_max = '32MB'")
            admin.execute("alter role narrow set cursor_buffer_size = '1GB'")
        yield member


def test_what_cannot_be_spilled_ends_the_statement(local: LocalMember) -> None:
    with local.connect(user="narrow") as narrow, local.connect(user="wide") as wide:
        assert value(narrow, "show sluice.memory_max") == "32MB"
        said = say(narrow, LISTS.format(4_000_000))
        assert said.error is not None
        assert said.error[:4] == TOLD
        assert value(wide, LISTS.format(4_000_000)) == 3
        assert value(narrow, LISTS.format(1_000_000)) == 3


def test_what_can_be_spilled_is(local: LocalMember) -> None:
    with local.connect(user="narrow") as narrow:
        assert value(narrow, SORTED.format(3_000_000)) == 3_000_000
    assert local.engine.monitor.statistics()["local"]["role_databases"] == 1


def test_sessions_of_a_role_share_it(local: LocalMember) -> None:
    """One holds most of it, the hash table of a join in a cursor that is read to its first row; the other finds too little."""
    held = "declare c cursor for select g from generate_series(1, 5000000) g join generate_series(1, 400000) h on h = g"
    with local.connect(user="narrow") as one, local.connect(user="narrow") as other, local.connect(user="wide") as wide:
        assert value(other, LISTS.format(2_600_000)) == 3
        one.execute("begin")
        one.execute(held.encode())
        assert one.execute("fetch 1 from c").fetchone() is not None
        told = [say(other, LISTS.format(2_600_000)) for _ in range(2)]
        assert [said.error and said.error[:4] for said in told] == [TOLD, TOLD]
        assert value(wide, LISTS.format(2_600_000)) == 3
        one.execute("rollback")
        assert value(other, LISTS.format(2_600_000)) == 3


def test_who_exceeds_it_costs_nobody_else_anything(local: LocalMember) -> None:
    def narrow(_: int) -> str | None:
        with local.connect(user="narrow") as connection:
            said = say(connection, LISTS.format(4_000_000))
            return said.error[0] if said.error is not None else None

    def wide(_: int) -> Any:
        with local.connect(user="wide") as connection:
            return value(connection, LISTS.format(500_000))

    with ThreadPoolExecutor(8) as threads:
        failing, going = threads.map(narrow, range(4)), threads.map(wide, range(4))
        assert list(failing) == ["53200"] * 4
        assert list(going) == [3] * 4
    assert local.engine.monitor.statistics()["local"]["cursors"] == 0


def test_rows_that_are_told_are_counted(local: LocalMember) -> None:
    with local.connect(user="narrow") as narrow:
        narrow.execute("create table t (a int8, b text)")
        insert = "insert into t select g, repeat('x', 100) from generate_series(1, {}) g returning a, b"
        said = say(narrow, insert.format(600_000))
        assert said.error is not None
        assert said.error[:4] == TOLD
        assert value(narrow, "select count(*) from t") == 0
        assert len(narrow.execute(insert.format(1000).encode()).fetchall()) == 1000
        narrow.execute("insert into t select g, repeat('x', 100) from generate_series(1, 600000) g")
        assert value(narrow, "select count(*) from t") == 601_000


def test_system_catalog_and_small_files_are_within_it(local: LocalMember) -> None:
    with local.connect(user="narrow") as narrow:
        narrow.execute("create table few as select g from generate_series(1, 3) g")
        for _ in range(3):
            assert value(narrow, "select sum(g) from few") == 6
            assert value(narrow, "select count(*) from pg_class where relname = 'few'") == 1
        said = say(narrow, "select count(a) from (select array_agg(a.oid) a from pg_proc a, pg_proc b, pg_proc c) x")
        assert said.error is not None
        assert said.error[:4] == TOLD


def test_too_little_for_anything(local: LocalMember) -> None:
    with local.connect() as admin:
        admin.execute("alter role narrow set sluice.memory_max = '1kB'")
    with local.connect(user="narrow") as narrow:
        said = say(narrow, "select count(*) from generate_series(1, 100000) g")
        assert said.error is not None
        assert said.error[0] == "53200"
        for forbidden in ("set sluice.memory_max = 0", "reset sluice.memory_max"):
            said = say(narrow, forbidden)
            assert said.error is not None
            assert said.error[0] == "42501"


def test_databases_that_nobody_uses_are_few(local: LocalMember) -> None:
    with local.connect() as admin:
        for number in range(12):
            admin.execute(f"create role r{number} login".encode())
            admin.execute(f"alter role r{number} set sluice.memory_max = '32MB'".encode())
    for number in range(12):
        with local.connect(user=f"r{number}") as connection:
            assert value(connection, "select sum(g) from generate_series(1, 10) g") == 55
    assert local.engine.monitor.statistics()["local"]["role_databases"] == 8

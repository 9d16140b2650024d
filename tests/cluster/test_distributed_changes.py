"""INSERT ... SELECT, UPDATE, DELETE and MERGE whose participants write: the tables are the same as if one member had
written them, and a failed statement leaves nothing. All tests share one set of members, except the test that kills two
of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.fault_ground import ROWS, Ground, Running, connect, wait_clean, wait_running
from support.member_process import MemberProcess, wait_until

_CHANGES = (
    "insert into {} select x, s, x % 97, x / 3.0 from t where x % 5 in (1, 2)",
    "update {} set k = k + 1000, price = price * 2 where id % 3 = 0",
    "delete from {} where id % 10 = 7",
    "update {} set k = -1 from (select x from t where x % 1000 = 1) as odd where odd.x = id",
    "delete from {} where k in (select x from t where x between 20 and 30)",
    "merge into {} as d using (select x + 300000 as x, s from t where x % 20 = 1) as n on d.id = n.x "
    "when matched and d.id % 3 = 0 then delete when matched then update set note = 'merged' "
    "when not matched then insert (id, note) values (n.x, 'new')",
)
#: One that no test waits for.
_ENDLESS = "insert into d select a.x, b.s, 1, 1 from t a join t b on a.x % 10 = b.x % 10 where a.x * b.x % 7 = 3"

_NUMBERS = itertools.count(1)


@dataclass
class Spread:
    """members: three, which share a folder of tables."""

    folder: Path
    members: list[MemberProcess]

    @property
    def staged(self) -> list[Path]:
        return sorted(self.folder.glob("tables/*/_staging-*"))

    @property
    def files(self) -> set[Path]:
        return set(self.folder.glob("tables/**/*.parquet"))


@contextmanager
def _three_members(folder: Path) -> Iterator[Spread]:
    """Their table d has rows that all of them wrote: a file at least for each who is to change some."""
    with ExitStack() as stack:
        members = list(Ground(folder, stack).three())
        with connect(members[0]) as connection:
            _make(connection, "d")
        yield Spread(folder, members)


def _make(connection: psycopg.Connection[Any], name: str) -> None:
    connection.execute(
        f"create table {name} (id bigint, note text, k int check (k < 5000), price numeric(12, 3))".encode()
    )
    connection.execute(f"insert into {name} select x, s, x % 89, x / 7.0 from t where x % 5 in (1, 3)".encode())


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    with _three_members(tmp_path_factory.mktemp("spread")) as spread:
        yield spread


@pytest.fixture
def pair(spread: Spread) -> tuple[str, str]:
    """Two tables of the test's own, with equal rows that all members wrote. (They stay: to drop them would have files go while
    another test counts them.)"""
    number = next(_NUMBERS)
    names = f"d{number}", f"w{number}"
    with connect(spread.members[0]) as connection:
        for name in names:
            _make(connection, name)
    return names


def plan(connection: psycopg.Connection[Any], statement: str) -> str:
    return "\n".join(line for (line,) in connection.execute(f"explain (distsql) {statement}").fetchall())


def writers(plan: str) -> set[str]:
    """The members of the fragment that a MUTATE tops."""
    [writing] = [part for part in re.split(r"^Fragment ", plan, flags=re.MULTILINE) if "MUTATE" in part]
    return set(re.findall(r"Instance \d+: (\w+)", writing))


@pytest.mark.long
def test_participants_write_what_one_member_would(spread: Spread, pair: tuple[str, str]) -> None:
    d, w = pair
    with connect(spread.members[0]) as all_, spread.members[1].connect(options="-c sluice.distribution=off") as one:
        for change in _CHANGES:
            told = plan(all_, change.format(d))
            assert "INTENT-COLLECTOR" in told, told
            assert writers(told) == {"m1", "m2", "m3"}, told
            assert writers(plan(one, change.format(w))) == {"m2"}
            before = spread.files
            tag = all_.execute(change.format(d).encode()).statusmessage
            assert len(spread.files - before) > 1, change
            assert tag == one.execute(change.format(w).encode()).statusmessage, change
            for difference in (f"table {d} except all table {w}", f"table {w} except all table {d}"):
                assert one.execute(f"select count(*) from ({difference}) as x".encode()).fetchone() == (0,), change
    assert spread.staged == []


@pytest.mark.parametrize(
    "change",
    [
        "insert into {} select x + 700000, s, x % 97, 1.5 from t where x % 100 = 3 returning *",
        "update {} set k = k + 1 where id % 50 = 3 returning id, k * 2",
        "update {} as d set note = 'odd' from (select x from t where x % 500 = 1) as odd where odd.x = d.id returning d.*, x",
        "delete from {} where id % 40 = 3 returning id + 1 as next",
    ],
)
def test_rows_that_are_returned_travel_and_files_do_not(spread: Spread, pair: tuple[str, str], change: str) -> None:
    d, w = pair
    with connect(spread.members[0]) as all_, spread.members[1].connect(options="-c sluice.distribution=off") as one:
        assert writers(plan(all_, change.format(d))) == {"m1", "m2", "m3"}
        assert writers(plan(one, change.format(w))) == {"m2"}
        here, there = (session.execute(change.format(name).encode()) for session, name in ((all_, d), (one, w)))
        assert here.statusmessage == there.statusmessage
        assert sorted(here.fetchall(), key=repr) == sorted(there.fetchall(), key=repr) != []
    assert spread.staged == []


def test_rows_without_columns_cross(spread: Spread) -> None:
    name = f"n{next(_NUMBERS)}"
    with connect(spread.members[0]) as all_:
        all_.execute(f"create table {name} ()".encode())
        insert = f"insert into {name} select from t where x % 50 = 1"
        assert writers(plan(all_, insert)) == {"m1", "m2", "m3"}
        assert all_.execute(insert.encode()).statusmessage == "INSERT 0 12000"
        assert len(all_.execute(f"table {name}".encode()).fetchall()) == 12000
        assert all_.execute(f"select from {name} limit 5".encode()).fetchall() == [()] * 5
        assert all_.execute(f"delete from {name} where random() < 2".encode()).statusmessage == "DELETE 12000"


@pytest.mark.parametrize(
    "change",
    [
        "insert into {} select nullif(x % 5000, 3), 'new' from t on conflict do nothing",
        "insert into {} select x, 'new' from t where x % 50 = 1 on conflict (id) do nothing returning id, note",
        "insert into {} select x, 'newer' from t where x % 4 = 0 and x < 12000 on conflict (id) do update "
        "set note = excluded.note || {}.note returning *",
        "insert into {} select x, 'newest' from t where x % 6 = 0 and x < 16000 on conflict (id) do update "
        "set note = excluded.note where {}.id % 4 > 0",
    ],
)
def test_conflicts_are_found_where_keys_meet(spread: Spread, change: str) -> None:
    number = next(_NUMBERS)
    names = keyed, single = f"keyed{number}", f"single{number}"
    with connect(spread.members[0]) as all_, spread.members[1].connect(options="-c sluice.distribution=off") as one:
        for name in names:
            all_.execute(f"create table {name} (id bigint unique, note text)".encode())
            all_.execute(f"insert into {name} select x, 'old' from t where x % 9 < 2".encode())
        changes = [re.sub("{}", name, change) for name in names]
        assert len(writers(plan(all_, changes[0]))) == 3
        here, there = all_.execute(changes[0].encode()), one.execute(changes[1].encode())
        assert here.statusmessage == there.statusmessage
        if here.description:
            assert sorted(here.fetchall()) == sorted(there.fetchall()) != []
        for difference in (f"table {keyed} except all table {single}", f"table {single} except all table {keyed}"):
            assert one.execute(f"select count(*) from ({difference}) as x".encode()).fetchone() == (0,)


def test_keys_of_expressions_hold_whoever_writes(spread: Spread) -> None:
    with connect(spread.members[0]) as session:
        session.execute("create table folded (id bigint, note text)")
        session.execute("create unique index on folded ((id % 5000)) where note is not null")
        change = "insert into folded select x, case when x < 5000 then 'kept' end from t"
        assert writers(plan(session, change)) == {"m1", "m2", "m3"}
        session.execute(change.encode())
        with pytest.raises(psycopg.errors.UniqueViolation, match="folded_expr_idx"):
            session.execute("insert into folded select x, 'more' from t where x between 5001 and 5100")
        again = "insert into folded select x, 'more' from t on conflict ((id % 5000)) where note is not null do nothing"
        assert session.execute(again.encode()).statusmessage == "INSERT 0 0"


def test_each_value_of_a_sequence_is_given_once(spread: Spread) -> None:
    with connect(spread.members[2]) as session:
        session.execute("create table numbered (n int generated always as identity, x bigint, m serial)")
        change = "insert into numbered (x) select x from t where x % 100 = 1"
        assert writers(plan(session, change)) == {"m1", "m2", "m3"}
        given = session.execute(f"{change} returning n, m").fetchall()
        count = ROWS // 100
        assert sorted(n for n, _ in given) == sorted(m for _, m in given) == list(range(1, count + 1))
        assert session.execute("select currval('numbered_m_seq'), lastval()").fetchone() == (count, count)
        told = "count(*), count(distinct n), max(n), count(distinct m), max(m), count(distinct x)"
        assert session.execute(f"select {told} from numbered").fetchone() == (count,) * 6
        with session.transaction():
            session.execute("create table begun (n bigserial, x bigint)")
            session.execute("insert into begun (x) select x from t where x % 1000 = 1")
            assert session.execute("select count(distinct n), max(n) from begun").fetchone() == (600, 600)


def test_partitions_and_order_are_kept_by_each_who_writes(spread: Spread) -> None:
    with connect(spread.members[1]) as session:
        session.execute("create table parted (id bigint, p int) partition by list (p) with (sort_by = 'id')")
        change = "insert into parted select x, x % 2 from t where x % 1000 < 2"
        assert writers(plan(session, change)) == {"m1", "m2", "m3"}
        assert session.execute(change).statusmessage == f"INSERT 0 {ROWS // 500}"
        counted = session.execute("select p, count(*), count(distinct id) from parted group by p order by p").fetchall()
        assert counted == [(p, ROWS // 1000, ROWS // 1000) for p in (0, 1)]
    assert {file.parent.name for file in spread.files} >= {"p=0", "p=1"}
    assert spread.staged == []


def test_a_folder_is_copied_by_those_who_make_the_rows(spread: Spread) -> None:
    before = spread.files
    with connect(spread.members[0]) as session:
        target = spread.folder / "files" / "out"
        tag = session.execute(
            f"copy (select x, s from t where x % 2 = 0) to '{target}/' (format parquet)"
        ).statusmessage
        assert tag == f"COPY {ROWS // 2}"
        assert len(list(target.glob("part-*.parquet"))) == 3
        assert spread.files == before
        session.execute("create table copied (x bigint, s text)")
        assert session.execute("copy copied from 'out/' (format parquet)").statusmessage == tag
        told = "select count(distinct x), sum(x) from"
        expected = session.execute(f"{told} t where x % 2 = 0").fetchone()
        assert session.execute(f"{told} copied").fetchone() == expected
    assert spread.staged == []


@pytest.mark.parametrize("form", ["csv, header", "json"])
def test_each_writes_rows_of_text(spread: Spread, form: str) -> None:
    suffix = form.partition(",")[0]
    target = spread.folder / "files" / f"out-{suffix}"
    with connect(spread.members[0]) as session:
        tag = session.execute(f"copy (select x, s from t where x % 2 = 0) to '{target}/' (format {form})".encode())
        assert tag.statusmessage == f"COPY {ROWS // 2}"
        assert len(list(target.glob(f"part-*.{suffix}"))) == 3
        options = f"path '{target}', format '{suffix}'" + (", header 'true'" if "header" in form else "")
        session.execute(f"create foreign table parts_{suffix} (x bigint, s text) options ({options})".encode())
        told = "select count(distinct x), sum(x), min(s), max(s) from"
        expected = session.execute(f"{told} t where x % 2 = 0").fetchone()
        assert session.execute(f"{told} parts_{suffix}".encode()).fetchone() == expected
    assert spread.staged == []


def test_an_error_of_one_row_leaves_nothing(spread: Spread) -> None:
    before = spread.files
    with connect(spread.members[0]) as session:
        with pytest.raises(psycopg.errors.CheckViolation) as caught:
            session.execute(f"insert into d select x, s, case when x = {ROWS - 5} then 9000 else 1 end, 1 from t")
        assert f"Failing row contains ({ROWS - 5}, row " in (caught.value.diag.message_detail or "")
        told = caught.value.diag
        assert (told.schema_name, told.table_name, told.constraint_name) == ("public", "d", "d_k_check")
    assert spread.staged == []
    assert spread.files == before
    wait_clean(*spread.members)


def test_each_who_writes_asks_the_check_option_of_a_view(spread: Spread) -> None:
    with connect(spread.members[0]) as session:
        session.execute("create table base (id bigint, k int); insert into base select x, x % 97 from t")
        session.execute("create view even as select k as rest, id from base where id % 2 = 0 with check option")
        change = "update even set rest = rest + 1000 where id % 3 = 0"
        assert writers(plan(session, change)) == {"m1", "m2", "m3"}
        known = session.execute("select count(*) from even where id % 3 = 0").fetchone()
        assert session.execute(change).statusmessage == f"UPDATE {known[0] if known else 0}"
        assert session.execute("select count(*) from base where k >= 1000").fetchone() == known
        before = spread.files
        with pytest.raises(psycopg.errors.WithCheckOptionViolation, match='check option for view "even"') as caught:
            session.execute(f"insert into even (id, rest) select x + (x = {ROWS - 6})::int, 1 from t where x % 2 = 0")
        assert caught.value.diag.message_detail == f"Failing row contains ({ROWS - 5}, 1)."
        assert spread.files == before
    assert spread.staged == []


def test_a_cancelled_statement_leaves_nothing(spread: Spread) -> None:
    before = spread.files
    with connect(spread.members[0]) as session:
        running = Running(session, _ENDLESS)
        wait_running(*spread.members)
        session.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result()
    assert spread.staged == []
    assert spread.files == before
    wait_clean(*spread.members)


def test_members_are_killed_while_they_write(tmp_path: Path) -> None:
    with _three_members(tmp_path) as spread:
        _kill_two(spread)


def _kill_two(spread: Spread) -> None:
    m1, m2, m3 = spread.members
    notices: list[str] = []
    with connect(m1) as session:
        session.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary or ""))
        before = spread.files
        running = Running(session, _ENDLESS)
        wait_running(m2, m3)
        wait_until(lambda: spread.staged != [])
        m3.kill()
        with pytest.raises(psycopg.Error) as caught:
            running.result()
        assert caught.value.sqlstate == "40001"
        assert spread.staged == []
        assert spread.files == before
        wait_clean(m1, m2)
        assert writers(plan(session, _CHANGES[0].format("d"))) == {"m1", "m2"}
        session.execute("set sluice.fault_policy = retry")
        running = Running(session, _ENDLESS)
        wait_running(m2)
        m2.kill()
        wait_until(lambda: [notice for notice in notices if notice.endswith("it runs again on m1")])
        session.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result()
        assert spread.staged == []
        assert spread.files == before
    wait_clean(m1)

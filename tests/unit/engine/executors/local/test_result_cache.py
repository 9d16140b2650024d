"""Results of repeated statements: a session that may be answered with a kept result is told what its twin without them is
told, whatever changes in between; what is kept, and what is not.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until
from support.shared_members import two_members

from engine.contracts.materialized_results import BatchesStream
from engine.executors.local import result_cache
from engine.executors.local.result_cache import HELD_BYTES, RESULT_BYTES, UNSTABLE, ResultCache
from engine.executors.local.work import LocalWork
from engine.lakes import file_stamps
from engine.lakes.local_disks import look_up
from engine.sql.functions.registry import load

Client = psycopg.Connection[tuple[Any, ...]]
#: How long a file must have been unchanged here, so that its state is relied upon.
_SETTLED_SECONDS: Final = 0.02
#: Functions of DuckDB that are unstable by name, and have no influence on a statement's rows.
_WITHOUT_INFLUENCE: Final = {"error", "getvariable"}


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stamps, "_SETTLED_NS", int(_SETTLED_SECONDS * 1e9))


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as member, member.connect() as client:
        client.execute("create table t (k int, v text, n numeric(10, 2), at timestamptz)")
        client.execute(
            "insert into t select i, 'v' || i, i / 4.0, timestamptz '2024-03-30 23:00+00' + i * interval '1 hour'"
            " from generate_series(1, 9) i"
        )
        yield member


@pytest.fixture
def client(member: LocalMember) -> Iterator[Client]:
    with member.connect() as client:
        yield client


def answers(member: LocalMember) -> int:
    return int(member.engine.executors.local.statistics()["cached_answers"])


def say(client: Client, statement: str, *arguments: Any) -> tuple[Any, ...]:
    """Return the rows or the error that a client receives."""
    try:
        cursor = client.execute(statement.encode(), arguments or None, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary
    return cursor.statusmessage, sorted(cursor.fetchall(), key=repr) if cursor.description else None


def settle() -> None:
    time.sleep(_SETTLED_SECONDS * 1.5)


def ask_until_kept(member: LocalMember, client: Client, statement: str, *arguments: Any) -> tuple[Any, ...]:
    """Ask three times, the last of which at least is answered from memory. Returns what was told each time."""
    settle()
    before = answers(member)
    told = [say(client, statement, *arguments) for _ in range(3)]
    assert told[0] == told[1] == told[2]
    assert answers(member) > before, statement
    return told[0]


# -- what is kept ----------------------------------------------------------------------------------------------------

KEPT: Final = (
    "select k, v, n, at from t order by k",
    "select count(*), sum(n), max(v), array_agg(k order by k) from t", "select v from t where k > 100",
    "select k % 2 as odd, avg(n) from t group by 1", "select a.v, b.v from t a join t b on a.k = b.k + 1",
    "select count(*) from generate_series(1, 1000) i",
    "select at::date, at::text, to_char(at, 'HH24:MI') from t",
    "select v, 'now() random() user' from t where v not in ('today', 'it''s now')",
    """select k as "user", v as "now" from t where k < 3""",
    "with r as (select k from t) select 10 / k from r",)  # fmt: skip
NOT_KEPT: Final = (
    "select random() < 2 from t", "select k from t where gen_random_uuid() is not null",
    "select clock_timestamp() > at from t",
    "select now() > at from t", "select current_date - at::date > 0 from t", "select age(at) is null from t",
    "select (at::time)::timetz from t", "select nextval('numbers') > 0 from t",
    "select k from t tablesample bernoulli (100)",
    "select pg_sleep(0.0)::text from t", "select relname from pg_class where relname = 't'",
    "select statement_timestamp() > at from t",
    "select 1 / (k - 1) from t", "select repeat(v, 40000) from t",)  # fmt: skip


@pytest.mark.parametrize("statement", KEPT)
def test_the_result_of_a_repeated_statement_is_kept(member: LocalMember, client: Client, statement: str) -> None:
    told = ask_until_kept(member, client, statement)
    with member.connect(options="-c sluice.result_cache=off") as twin:
        assert say(twin, statement) == told
    # As text, a page at a time, and in another session too.
    with member.connect() as other, other.transaction(), other.cursor("c") as cursor:
        cursor.itersize = 2
        cursor.execute(statement.encode())
        assert sorted(cursor, key=repr) == told[1]


@pytest.mark.parametrize("statement", NOT_KEPT)
def test_the_result_of_a_statement_that_may_differ_is_not_kept(
    member: LocalMember, client: Client, statement: str
) -> None:
    client.execute("create sequence if not exists numbers")
    settle()
    before = answers(member)
    for _ in range(5):
        say(client, statement)
    assert answers(member) == before


def test_a_setting_turns_it_off(member: LocalMember, client: Client) -> None:
    statement = "select count(v) from t"
    told = ask_until_kept(member, client, statement)
    client.execute("set sluice.result_cache = off")
    before = answers(member)
    assert [say(client, statement) for _ in range(3)] == [told] * 3
    assert answers(member) == before
    client.execute("set sluice.result_cache = on")
    assert say(client, statement) == told
    assert answers(member) == before + 1


def test_what_is_read_in_part_or_explained_is_not_kept(member: LocalMember, client: Client) -> None:
    statement = "select k, v || '!' from t order by k"
    settle()
    before = answers(member)
    for _ in range(4):
        with client.transaction(), client.cursor("c") as cursor:
            cursor.execute(statement.encode())
            assert cursor.fetchone() == (1, "v1!")
        client.execute(f"explain analyze {statement}".encode())
    assert answers(member) == before


def test_the_memory_of_results_is_bounded(member: LocalMember, client: Client) -> None:
    settle()
    held = member.engine.executors.local.statistics
    for number in range(HELD_BYTES // 200_000 + 20):
        for _ in range(2):
            client.execute(f"select repeat('x', 200000) || {number}, k from t where k = 1".encode())
    statistics = held()
    assert 0 < statistics["cached_result_bytes"] <= HELD_BYTES
    assert RESULT_BYTES < HELD_BYTES / 8


# -- the key ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_values_of_other_types_are_other_values(member: LocalMember, mode: str) -> None:
    """Values that are equal in Python, or are printed alike."""
    values: Sequence[tuple[str, Sequence[Any]]] = (
        ("numeric", (Decimal(1), Decimal("1.0"), Decimal("1.00"), 0, None)),
        ("float8", (0.0, -0.0, float("nan"), float("inf"), 1.0, None)),
        ("text", ("1", "1.0", "", "None", "null", "'", None)),
        ("bool", (True, False, None)),
        ("int8", (1, 0, 2**40, None)),
        ("date", (dt.date(2024, 1, 1), dt.date(1, 1, 1), None)),
        ("bytea", (b"", b"1", b"\\x31", None)),
    )
    options = f"-c plan_cache_mode={mode} -c sluice.result_cache="
    with member.connect(options=options + "on") as kept, member.connect(options=options + "off") as twin:
        settle()
        for typ, each in values:
            for statement in (
                f"select k, %s::{typ} as x from t where k < 3",
                f"select k from t where (%s::{typ})::text < v",
            ):
                for _ in range(3):
                    told = [say(kept, statement, value) for value in each]
                    assert repr(told) == repr([say(twin, statement, value) for value in each])


def test_time_zones_and_styles_are_kept_apart(member: LocalMember, client: Client) -> None:
    statement = "select at, at::text, at::date, extract(hour from at), to_char(at, 'TZ') from t"
    with member.connect(options="-c sluice.result_cache=off") as twin:
        for _ in range(3):
            for setting in ("timezone = 'UTC'", "timezone = 'Asia/Tokyo'", "datestyle = 'german'", "datestyle = 'iso'",
                            "timezone = 'Europe/Berlin'", "intervalstyle = 'sql_standard'", "extra_float_digits = 0"):  # fmt: skip
                for each in (client, twin):
                    each.execute(f"set {setting}".encode())
                assert say(client, statement) == say(twin, statement), setting


# -- what changes ----------------------------------------------------------------------------------------------------

ASKED: Final = (
    "select * from w order by 1, 2", "select count(*), sum(k), min(v) from w", "select v, count(*) from w group by v",
    "select w.v, o.v from w join other o using (k)", "select * from shown",
)  # fmt: skip
#: Statements, each of which changes what the others say; `+` by another session, `m2` on another member.
CHANGES: Final = (
    "insert into w values (10, 'ten')", "+insert into w values (11, 'eleven')",
    "m2 insert into w values (12, 'twelve')",
    "update w set v = 'x' where k = 1", "+update w set v = 'v1' where k = 1",
    "m2 delete from w where k = 12", "m2 update w set k = k + 1",
    "alter table w add column more int default 4", "+alter table w drop column more",
    "alter table w rename column v to u",
    "m2 alter table w rename column u to v", "alter table w alter column k type bigint", "analyze w",
    "vacuum w",
    "+create or replace view shown as select k from w where k > 5",
    "m2 create or replace view shown as select k from w where k < 5",
    "begin", "insert into w values (20, 'own')", "+insert into w values (21, 'others')", "savepoint s",
    "delete from w",
    "rollback to s", "update other set v = 'in transaction'", "rollback",
    "begin isolation level repeatable read",
    "select count(*) from w", "+insert into w values (22, 'after the snapshot')", "m2 delete from other",
    "commit",
    "truncate w", "+insert into w values (1, 'again')", "create temporary table w (k int, v text)",
    "insert into w values (7, 'temporary')",
    "drop table w", "alter table w rename to old_w", "create table w as select k, v || '!' as v from old_w",
    "create schema nearer",
    "create table nearer.w (k int, v text)", "set search_path = nearer, public",
    "insert into nearer.w values (99, 'nearer')",
    "set search_path = public", "+revoke select on w from reader", "set role reader", "reset role",
    "+grant select on w to reader",
    "set role reader", "reset role", "+drop view shown", "drop table w cascade",
    "create table w (v text, k int)",)  # fmt: skip


@pytest.mark.parametrize("executions", [1, 2])
def test_every_change_is_seen(executions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same session is asked with and without kept results, in whatever transaction it is."""
    monkeypatch.setattr(result_cache, "_EXECUTIONS", executions)
    with two_members(tmp_path) as (first, second):
        settings = "-c sluice.engine=local -c sluice.result_cache="
        with (
            first.connect(options=settings + "on") as kept,
            first.connect() as other,
            second.connect() as remote,
        ):
            for statement in ("create table w (k int, v text)", "create table other (k int, v text)", "create role reader",
                              "insert into w select i, 'v' || i from generate_series(1, 9) i", "insert into other select * from w",
                              "create view shown as select v from w", "grant select on w, other to reader"):  # fmt: skip
                other.execute(statement.encode())
            for change in ("select 1", *CHANGES):
                session = other if change[0] == "+" else remote if change.startswith("m2 ") else kept
                say(session, change.removeprefix("+").removeprefix("m2 "))
                settle()
                for statement in ASKED:
                    told = [say(kept, statement) for _ in range(3)]
                    kept.execute("set sluice.result_cache = off")
                    expected = say(kept, statement)
                    kept.execute("set sluice.result_cache = on")
                    assert told == [expected] * 3, change
            assert answers(first) > 50


def test_earlier_versions_are_other_rows(member: LocalMember, client: Client) -> None:
    client.execute("create table versions (k int)")
    of_version = "select count(*) from versions for version as of {}"
    for number in (1, 2, 3):
        client.execute(f"insert into versions values ({number})".encode())
        published = partial(say, client, of_version.format(number))
        wait_until(lambda published=published: published()[0] == "SELECT 1")
    settle()
    for _ in range(3):
        counts = [say(client, of_version.format(number)) for number in (1, 2, 3)]
        assert [told[1] for told in counts] == [[(1,)], [(2,)], [(3,)]]
        assert say(client, "select count(*) from versions") == ("SELECT 1", [(3,)])


def write(path: Path, *numbers: int) -> None:
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), path, compression="none")


def replaced_by_name(path: Path, *numbers: int) -> None:
    """A new file of the same size and times takes the place of the old one."""
    before, new = path.stat(), path.with_name("new")
    write(new, *numbers)
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def overwritten(path: Path, *numbers: int) -> None:
    """The file itself gets other contents of the same size, and its old times."""
    before, new = path.stat(), path.with_name("new")
    write(new, *numbers)
    path.write_bytes(new.read_bytes())
    new.unlink()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.mark.parametrize("change", [replaced_by_name, overwritten, write])
def test_files_that_change_are_read_again(member: LocalMember, client: Client, tmp_path: Path, change: Any) -> None:
    path = tmp_path / "f.parquet"
    write(path, 1, 2, 3)
    client.execute(f"create foreign table f_{change.__name__} options (path '{path}', format 'parquet')".encode())
    statement = f"select sum(n) from f_{change.__name__}"
    assert ask_until_kept(member, client, statement) == ("SELECT 1", [(6,)])
    change(path, 4, 5, 6)
    # A moment after the change, too.
    assert say(client, statement) == ("SELECT 1", [(15,)])
    assert ask_until_kept(member, client, statement) == ("SELECT 1", [(15,)])
    path.unlink()
    assert say(client, statement)[0] == "58P01"


def test_files_that_come_and_go_are_noticed(member: LocalMember, client: Client, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.parquet", number)
    client.execute(f"create foreign table folder options (path '{tmp_path}', format 'parquet')".encode())
    statement = "select sum(n), count(*) from folder"
    assert ask_until_kept(member, client, statement) == ("SELECT 1", [(3, 3)])
    write(tmp_path / "3.parquet", 3)
    assert say(client, statement) == ("SELECT 1", [(6, 4)])
    (tmp_path / "0.parquet").unlink()
    assert ask_until_kept(member, client, statement) == ("SELECT 1", [(6, 3)])


@pytest.mark.parametrize(("file_format", "text"), [("csv", "n\n{}\n"), ("json", '{{"n": {}}}\n')])
def test_text_files_that_change_are_read_again(
    member: LocalMember, client: Client, tmp_path: Path, file_format: str, text: str
) -> None:
    path = tmp_path / f"f.{file_format}"
    path.write_text(text.format(1))
    options = f"path '{path}', format '{file_format}'" + (", header 'true'" if file_format == "csv" else "")
    client.execute(f"create foreign table f_{file_format} (n int) options ({options})".encode())
    statement = f"select n from f_{file_format}"
    assert ask_until_kept(member, client, statement) == ("SELECT 1", [(1,)])
    path.write_text(text.format(2))
    assert say(client, statement) == ("SELECT 1", [(2,)])


def test_a_file_that_is_replaced_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    """The rows may be those of the old file or of the new one."""
    path = tmp_path / "f.parquet"
    write(path, 1)
    settle()
    look_up([str(path)])
    cache = ResultCache()
    work = LocalWork(f"SELECT n FROM READ_PARQUET(['{path}']) AS t", pa.schema([("n", pa.int64())]), 2048)
    batch = pa.RecordBatch.from_pydict({"n": [1]})

    async def run(meanwhile: Callable[[], None]) -> None:
        stream = cache.observe(work, lambda: BatchesStream([batch]))
        assert await stream.next_batch() == batch
        meanwhile()
        assert await stream.next_batch() is None

    asyncio.run(run(lambda: None))
    assert cache.find(work) is None, "it was executed once"
    asyncio.run(run(lambda: replaced_by_name(path, 2)))
    settle()
    assert cache.find(work) is None
    asyncio.run(run(lambda: None))
    found = cache.find(work)
    assert found is not None
    assert asyncio.run(found.next_batch()) == batch


# -- functions that are not determined by their arguments ------------------------------------------------------------


def test_duckdbs_unstable_functions_are_known() -> None:
    connection = duckdb.connect()
    rows = connection.execute(
        "select function_name, function_type, stability, macro_definition from duckdb_functions()"
        " where function_type in ('scalar', 'aggregate', 'macro')"
    ).fetchall()
    unstable = {name for name, kind, stability, _ in rows if kind != "macro" and stability != "CONSISTENT"}
    unstable |= {"current_timestamp", "localtime", "localtimestamp"}
    unstable -= _WITHOUT_INFLUENCE
    calls = re.compile(rf"\b({'|'.join(sorted(unstable))})\b", re.IGNORECASE)
    unstable |= {name for name, _, _, body in rows if body and calls.search(body)}
    assert unstable - UNSTABLE - {"pg_conf_load_time", "pg_postmaster_start_time", "histogram_values"} == set()


def test_volatile_functions_of_ours_are_known() -> None:
    for function in load():
        if function.volatility == "volatile" and isinstance(function.local, str):
            assert not result_cache._is_stable(f"SELECT {function.local}"), function.name


@pytest.mark.parametrize(
    ("text", "stable"),
    [
        ("SELECT 'now()', \"now\" FROM t", True), ("SELECT 'it''s', NOW()", False), ("SELECT 'a' || RANDOM() || 'b'", False),
        ('SELECT "random"()', False), ('SELECT "a""b", \'"\', TODAY() AS "x"', False),
        ("SELECT CURRENT_DATE", False), ("SELECT 1 -- '", False),
        ("SELECT e'\\'' || NOW() || ''", False), ("SELECT $$'$$, NOW()", False), ("SELECT known, nowhere FROM users", True),
        ("SELECT GETVARIABLE('sluice_cursor'), ERROR('x')", True), ("SELECT 'open", False),
    ],
)  # fmt: skip
def test_texts_are_searched_outside_of_literals(text: str, stable: bool) -> None:
    assert result_cache._is_stable(text) is stable

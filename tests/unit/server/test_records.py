"""Records of statements: what a session parses, plans, runs and has suspended, and the history of ended statements."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from support.local_member import LocalMember, local_member

from engine.contracts.activity import StatementReport
from engine.contracts.query_id import QueryId
from engine.monitor.record import History, StatementRecord


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("records")) as member:
        yield member


def ended(member: LocalMember, text: str) -> StatementReport:
    """The last statement that has ended with this text in it."""
    newest = member.clients.host.ended.history.newest(1000)
    return next(told for told in newest if text in told.sql)


def under_way(member: LocalMember, pid: int) -> list[StatementReport]:
    return [record.report() for record in member.clients.registry.statements() if record.pid == pid]


def test_a_statement_that_has_ended_says_where_its_time_went(member: LocalMember) -> None:
    with member.connect() as connection:
        connection.execute("select n from generate_series(1, 1000) n /* ended */")
        told, pid = ended(member, "/* ended */"), connection.info.backend_pid
    assert (told.state, told.rows, told.engine, told.sqlstate) == ("finished", 1000, "local", None)
    assert (told.user, told.database, told.pid) == ("tester", "sluice", pid)
    assert told.ended is not None
    assert told.ended >= told.started
    phases = told.phases
    assert None not in (
        phases.parse,
        phases.bind,
        phases.plan,
        phases.compile,
        phases.start,
        phases.first_row,
        phases.run,
    )
    assert told.reason
    assert under_way(member, pid) == []


def test_a_prepared_statement_is_recorded_at_each_execution(member: LocalMember) -> None:
    with member.connect() as connection:
        before = len(member.clients.host.ended.history)
        for number in range(3):
            connection.execute("select %s::int4 /* prepared */", (number,), prepare=True)
        newest = member.clients.host.ended.history.newest(len(member.clients.host.ended.history) - before)
    assert [(told.rows, told.state) for told in newest if "/* prepared */" in told.sql] == [(1, "finished")] * 3


def test_what_fails_or_is_cancelled_says_why(member: LocalMember) -> None:
    with member.connect() as connection:
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("selec 1 /* misspelt */")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("select 1 / (n - 1) from generate_series(1, 3) n /* divided */")
        connection.execute("set statement_timeout = 50")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("select pg_sleep(100) /* slept */")
    assert (ended(member, "misspelt").state, ended(member, "misspelt").sqlstate) == ("failed", "42601")
    assert (ended(member, "divided").state, ended(member, "divided").error) == ("failed", "division by zero")
    assert (ended(member, "slept").state, ended(member, "slept").sqlstate) == ("cancelled", "57014")


def test_a_cursor_is_suspended_until_it_is_closed(member: LocalMember) -> None:
    with member.connect() as connection:
        pid = connection.info.backend_pid
        connection.execute("begin")
        connection.execute("declare c cursor for select n from generate_series(1, 5000) n")
        connection.execute("fetch 7 from c")
        [told] = under_way(member, pid)
        assert (told.state, told.portal, told.rows, told.engine) == ("suspended", "c", 7, "local")
        with member.connect() as other:
            listed = other.execute("select query_id, state, rows from sluice.queries where pid = %s", (pid,)).fetchall()
        assert listed == [(told.id, "suspended", 7)]
        assert ended(member, "fetch 7").rows == 7
        connection.execute("close c")
        assert under_way(member, pid) == []
    over = ended(member, "declare c cursor")
    assert (over.id, over.state, over.rows) == (told.id, "finished", 7)


def test_a_portal_goes_on_under_its_record(member: LocalMember) -> None:
    with member.connect(autocommit=False) as connection, connection.cursor("p") as cursor:
        cursor.execute("select n from generate_series(1, 100) n")
        cursor.fetchmany(10)
        [first] = under_way(member, connection.info.backend_pid)
        cursor.fetchmany(10)
        [second] = under_way(member, connection.info.backend_pid)
    assert (first.id, first.rows, second.rows) == (second.id, 10, 20)


def test_changes_count_their_rows_and_pipelined_ones_are_one_statement(member: LocalMember) -> None:
    with member.connect() as connection:
        connection.execute("create table counted (n int4)")
        connection.execute("insert into counted select n from generate_series(1, 40) n")
        before = len(member.clients.host.ended.history)
        with connection.cursor() as cursor:
            cursor.executemany("insert into counted values (%s)", [(n,) for n in range(100)])
        assert ended(member, "from generate_series(1, 40)").rows == 40
        newest = member.clients.host.ended.history.newest(len(member.clients.host.ended.history) - before)
        inserted = [told for told in newest if "insert into counted values" in told.sql]
        assert sum(told.rows for told in inserted) == 100
        # How many executions arrive together is the network's matter.
        assert len(inserted) < 100


def test_passwords_are_not_kept(member: LocalMember) -> None:
    with member.connect() as connection, pytest.raises(psycopg.errors.UndefinedObject):
        connection.execute("alter role nobody_here password 'guess'")
    assert ended(member, "alter role nobody_here").sql == "alter role nobody_here password '***'"


def test_a_session_that_ends_leaves_no_record_under_way(member: LocalMember) -> None:
    connection = member.connect()
    pid = connection.info.backend_pid
    connection.execute("begin")
    connection.execute("declare left_open cursor for select n from generate_series(1, 5000) n")
    connection.close()
    with member.connect() as other:
        while other.execute("select 1 from pg_stat_activity where pid = %s", (pid,)).fetchone():
            pass
    assert under_way(member, pid) == []
    assert ended(member, "declare left_open").state == "finished"


def record(number: int, text: str = "select 1") -> StatementRecord:
    made = StatementRecord(1, "ann", "sluice", text, lambda: QueryId("m1", number))
    made.end("finished")
    return made


def test_the_history_is_bounded_in_number_and_in_bytes() -> None:
    history = History(statements_max=10)
    for number in range(25):
        history.add(record(number))
    assert [told.id for told in history.newest(100)] == [f"m1:{number}" for number in range(24, 14, -1)]
    assert history.find("m1:24") is not None
    assert history.find("m1:3") is None

    history = History(bytes_max=100_000)
    for number in range(100):
        history.add(record(number, "x" * 100_000), b"y" * 100)
    assert history.size <= 100_000
    assert 1 <= len(history) < 10
    assert {len(told.sql) for told in history.newest(100)} == {10_000}

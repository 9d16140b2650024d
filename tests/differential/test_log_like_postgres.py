"""The member's log beside PostgreSQL 15's, for the same clients: severities, messages, details and statements, line by line."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from support.member_process import MemberProcess, wait_until
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

_FIELD = re.compile(r".*?((?:LOG|INFO|NOTICE|WARNING|ERROR|FATAL|DETAIL|HINT|CONTEXT|STATEMENT):  .*)")
Connection = psycopg.Connection[tuple[object, ...]]
Connect = Callable[..., Connection]


@pytest.fixture(scope="module")
def logging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    folder = tmp_path_factory.mktemp("logging")
    with MemberProcess(folder / "data", environment={"SLUICE_SPARK__START": "lazy"}, log=folder / "log") as member:
        yield member


def _said(text: str) -> list[str]:
    """Without prefixes, durations and members of one server alone."""
    lines = []
    for line in text.splitlines():
        found = _FIELD.fullmatch(line)
        lines.append(re.sub(r"\d+\.\d{3} ms", "N ms", found[1] if found else line))
    return lines


def _logged(log: Path, connect: Connect, script: Callable[[Connection], None]) -> list[str]:
    """The lines that a script leaves in a log, from its own first line to its last."""
    begins = len(log.read_text())
    with connect() as connection:
        script(connection)
        connection.execute("set log_statement = 'all'")
        connection.execute("select 'over'")
    wait_until(lambda: "select 'over'" in log.read_text()[begins:])
    lines = _said(log.read_text()[begins:])
    return lines[: lines.index("LOG:  statement: select 'over'")]


def _tried(connection: Connection, *statements: str) -> None:
    for statement in statements:
        with contextlib.suppress(psycopg.Error):
            connection.execute(statement.encode())


def _classes(connection: Connection) -> None:
    for kind in ("ddl", "mod", "all", "none"):
        connection.execute(f"set log_statement = '{kind}'".encode())
        _tried(
            connection,
            "create table log_t (a int)", "create view log_v as select a from log_t", "create index on log_t (a)",
            "insert into log_t values (1),\n(2)", "update log_t set a = a", "delete from log_t where a = 3",
            "with gone as (delete from log_t where a = 4 returning a) select * from gone",
            "truncate log_t", "explain select 1", "explain analyze delete from log_t where a = 5", "select 1; select 2",
            "begin", "declare c cursor for select 1", "fetch c", "commit", "show timezone", "set timezone = 'utc'",
            "prepare p as insert into log_t values ($1)", "execute p(1)", "deallocate p",
            "select 3 as a into log_u", "create table log_w as select 1 as a", "comment on table log_t is 'said'",
            "create sequence log_s", "grant select on log_t to public", "lock table log_t", "analyze log_t",
            "drop sequence log_s", "drop view log_v", "drop table log_t, log_u, log_w",
        )  # fmt: skip


def _extended(connection: Connection) -> None:
    connection.execute("set log_statement = 'all'")
    connection.execute("select %s::int", (1,))
    connection.execute("select %s::int + 1", (1,), prepare=True)
    connection.execute("set log_statement = 'none'")
    connection.execute("set log_parameter_max_length = 0")
    connection.execute("set log_min_duration_statement = 0")
    connection.execute("select %s::int", (2,))
    connection.execute("select 1 / %s::int", (1,), prepare=True)


def _durations(connection: Connection) -> None:
    connection.execute("set log_duration = on")
    connection.execute("select 1,\n2")
    connection.execute("set log_duration = off")
    connection.execute("set log_min_duration_statement = 0")
    connection.execute("select 1; select 2")
    connection.execute("set log_statement = 'all'")
    connection.execute("select 3")
    connection.execute("set log_statement = 'none'")
    connection.execute("set log_min_duration_statement = '1h'")
    connection.execute("select 4")


def _errors(connection: Connection) -> None:
    _tried(
        connection, "select * from nowhere", "select 1 /\n0", "selec 1", "create table log_k (a int primary key)",
        "insert into log_k values (1), (1)", "commit",
        "set log_error_verbosity = terse", "insert into log_k values (1), (1)",
        "set log_error_verbosity = verbose", "select nothing",
        "set log_error_verbosity = default", "set log_min_error_statement = fatal", "select nothing",
        "set log_min_error_statement = error", "set log_min_messages = log", "select nothing", "commit",
        "set log_min_messages = fatal", "set log_statement = 'all'", "select 1",
        "set log_min_messages = warning", "set log_statement = 'none'", "drop table log_k",
    )  # fmt: skip


@pytest.mark.parametrize("script", [_classes, _extended, _durations, _errors])
def test_the_log_of_a_session(
    script: Callable[[Connection], None], logging: MemberProcess, postgres: PostgresServer
) -> None:
    assert logging.log is not None
    expected = _logged(postgres.log, lambda: psycopg.connect(postgres.dsn, autocommit=True), script)
    ours = _logged(logging.log, logging.connect, script)
    # Values of parameters are rows, which this log does not have; the place in the source is PostgreSQL's own.
    expected = [line for line in expected if not re.match(r"DETAIL:  parameters:|.*LOCATION:  ", line)]
    assert ours == expected
    assert len(ours) >= 5, "each script leaves something"


def test_who_may_set_what(logging: MemberProcess, postgres: PostgresServer) -> None:
    """The settings of the log are the superuser's, the connection's or the server's, as in PostgreSQL."""
    names = "'^log_(connections|disconnections|destination|duration|error|line_prefix|min_|statement$)'"
    listed = f"select name, context, vartype from pg_settings where name ~ {names} order by name"
    statements = (
        "set log_connections = on",
        "set log_destination = 'jsonlog'",
        "set log_line_prefix = 'x'",
        "reset all",
    )

    def answers(connection: Connection) -> list[object]:
        told: list[object] = []
        for statement in statements:
            try:
                connection.execute(statement.encode())
            except psycopg.Error as error:
                told.append((error.sqlstate, error.diag.message_primary))
        return told

    with logging.connect() as ours, psycopg.connect(postgres.dsn, autocommit=True) as theirs:
        assert answers(ours) == answers(theirs)
        assert set(ours.execute(listed.encode())) <= {
            ("log_destination", "sighup", "enum"), *theirs.execute(listed.encode())
        }  # fmt: skip


def test_settings_that_change_nothing_say_so(logging: MemberProcess) -> None:
    with logging.connect() as connection:
        told = dict(
            connection.execute(
                "select name, extra_desc from pg_settings where name in ('geqo', 'work_mem', 'seq_page_cost', 'log_statement')"
            ).fetchall()
        )
    assert (
        told["geqo"]
        == "This algorithm attempts to do planning without exhaustive searching. It changes nothing in Sluice."
    )
    assert told["seq_page_cost"] == "It changes nothing in Sluice."
    assert "changes nothing" not in f"{told['work_mem']}{told['log_statement']}"


def test_connections_come_and_go(tmp_path: Path) -> None:
    settings = {f"SLUICE_SETTINGS__LOG_{name}": "on" for name in ("CONNECTIONS", "DISCONNECTIONS")}
    environment = {**settings, "SLUICE_SETTINGS__LOG_LINE_PREFIX": "%a|%u|%d|%h|%b|%e|", "SLUICE_SPARK__START": "lazy"}
    log = tmp_path / "log"
    with MemberProcess(tmp_path / "data", environment=environment, log=log) as member:
        with member.connect(application_name="told") as connection:
            connection.execute("select 1")
        with pytest.raises(psycopg.OperationalError):
            member.connect(dbname="no\nsuch")
        wait_until(lambda: "no\n\tsuch" in log.read_text() and "disconnection" in log.read_text())
    lines = log.read_text()
    known = "told|tester|sluice|127.0.0.1|client backend|00000|LOG:  "
    assert re.search(r"^\[unknown\]\|\[unknown\]\|\[unknown\]\|127\.0\.0\.1\|client backend\|00000\|LOG:  connection received: "
                     r"host=127\.0\.0\.1 port=\d+$", lines, re.MULTILINE)  # fmt: skip
    assert f"{known}connection authorized: user=tester database=sluice application_name=told\n" in lines
    assert re.search(
        re.escape(f"{known}disconnection: session time: 0:00:") + r"\d\d\.\d{3} user=tester database=sluice "
        r"host=127\.0\.0\.1 port=\d+$",
        lines,
        re.MULTILINE,
    )
    assert '|127.0.0.1|client backend|3D000|FATAL:  database "no\n\tsuch" does not exist\n' in lines


def test_json_and_plans(tmp_path: Path) -> None:
    """An object a line with PostgreSQL's keys; a text of a client stays within its line, a password is nowhere."""
    environment = {
        "SLUICE_SETTINGS__LOG_DESTINATION": "jsonlog", "SLUICE_SETTINGS__LOG_STATEMENT": "ddl",
        "SLUICE_SPARK__START": "lazy",
    }  # fmt: skip
    log = tmp_path / "log"
    with MemberProcess(tmp_path / "data", environment=environment, log=log) as member, member.connect() as connection:
        _tried(
            connection, "create role r login password 'hidden'", "alter role r password hidden", "select 1\n/ 0",
            "set auto_explain.log_min_duration = 0", "select a from generate_series(1, 3) as s (a) where a = 2",
            "set auto_explain.log_analyze = on", "reset auto_explain.log_min_duration", "select 5",
        )  # fmt: skip
    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert "hidden" not in text
    own = [line for line in lines if line["backend_type"] == "client backend"]
    created, wrong, divided, plan, refused = own
    assert created["message"] == "statement: create role r login password '***'"
    assert (wrong["error_severity"], wrong["state_code"], wrong["message"]) == ("ERROR", "42601", "syntax error")
    assert (divided["message"], divided["statement"]) == ("division by zero", "select 1\n/ 0")
    assert (divided["user"], divided["dbname"], divided["remote_host"]) == ("tester", "sluice", "127.0.0.1")
    assert re.match(r"duration: \d+\.\d{3} ms  plan:\nQuery Text: select a from generate_series", plan["message"])
    assert "generate_series" in plan["message"].split("\n", 2)[2]
    assert refused["message"] == "not supported: auto_explain.log_analyze = on"

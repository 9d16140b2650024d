"""Trino's Python client and its SQLAlchemy dialect through the HTTP door of a real member."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
import sqlalchemy as sa
from support.certificates import Authority
from support.local_member import LocalMember, local_member
from support.member_process import wait_until
from trino.auth import BasicAuthentication
from trino.dbapi import Connection, connect
from trino.exceptions import HttpError, TrinoUserError
from trino.transaction import IsolationLevel

from server.auth.client_tls import ClientTls, ClientTlsFiles
from server.auth.gate import Access
from server.auth.hba import parse
from server.http.session import Bounds

_UTC = dt.UTC


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("trino"), http=Bounds(rows_max=40_000)) as running:
        with running.connect() as connection:
            connection.execute(
                "create table towns (id integer primary key, name varchar(20) not null, area numeric(10,2))"
            )
            connection.execute("insert into towns values (1, 'Ulm', 118.69), (2, 'Bonn', 141.06), (3, 'Wien', null)")
            connection.execute("comment on column towns.area is 'km2'")
        yield running


@pytest.fixture(autouse=True)
def nothing_left(member: LocalMember) -> Iterator[None]:
    """After every test no session of its clients is left."""
    yield
    with member.connect() as connection:
        _wait_until_alone(connection)


def _wait_until_alone(connection: psycopg.Connection[Any]) -> None:
    others = "select count(*) from pg_stat_activity where pid <> pg_backend_pid()"
    wait_until(lambda: connection.execute(others).fetchone() == (0,))


def _connect(member: LocalMember, **more: Any) -> Connection:
    whole = {"user": "ann", "catalog": "sluice", "schema": "public", "timezone": "UTC", **more}
    made: Connection = connect(host="127.0.0.1", port=member.http_port, **whole)  # type: ignore[no-untyped-call]
    return made


def _all(connection: Connection, sql: str, *parameters: Any) -> list[list[Any]]:
    cursor = connection.cursor()
    cursor.execute(sql, parameters or None)
    return list(cursor.fetchall())


#: What is asked, what Trino calls its type, what the client makes of it.
_VALUES: list[tuple[str, str, object]] = [
    ("1", "integer", 1),
    ("cast(7 as smallint)", "smallint", 7),
    ("9223372036854775807", "bigint", 9223372036854775807),
    ("true", "boolean", True),
    ("1.50", "decimal(3,2)", Decimal("1.50")),
    ("cast(-12.5 as decimal(10,2))", "decimal(10,2)", Decimal("-12.50")),
    ("cast(2.5 as decimal)", "decimal(38,0)", Decimal(3)),
    ("decimal '0.10'", "decimal(3,2)", Decimal("0.10")),
    ("1.5e0", "double", 1.5),
    ("infinity()", "double", float("inf")),
    ("cast(0.1 as real)", "real", 0.1),
    ("'it''s'", "varchar", "it's"),
    ("cast('ab' as varchar(5))", "varchar(5)", "ab"),
    ("cast('ab' as char(3))", "char(3)", "ab "),
    ("cast(null as integer)", "integer", None),
    ("null", "varchar", None),
    ("x'00ff41'", "varbinary", b"\x00\xffA"),
    ("date '2024-02-29'", "date", dt.date(2024, 2, 29)),
    ("time '10:11:12.5'", "time(6)", dt.time(10, 11, 12, 500_000)),
    ("timestamp '2024-02-29 01:02:03.000004'", "timestamp(6)", dt.datetime(2024, 2, 29, 1, 2, 3, 4)),
    (
        "timestamp '2024-02-29 01:02:03 +02:00'",
        "timestamp(6) with time zone",
        dt.datetime(2024, 2, 28, 23, 2, 3, tzinfo=_UTC),
    ),
    ("interval '3' day + interval '2' hour", "varchar", "3 days 02:00:00"),
    ("uuid 'f47ac10b-58cc-4372-a567-0e02b2c3d479'", "uuid", uuid.UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")),
    ("cast('{\"a\": 1}' as json)", "json", '{"a": 1}'),
    ("array[1, null, 3]", "array(integer)", [1, None, 3]),
    ("array[array['a'], array['b']]", "array(array(varchar))", [["a"], ["b"]]),
    ("array[date '2024-02-29']", "array(date)", [dt.date(2024, 2, 29)]),
    ("array[decimal '1.20']", "array(decimal(3,2))", [Decimal("1.20")]),
    ("concat('a', null)", "varchar", None),
    ("if(1 > 2, 'a', 'b')", "varchar", "b"),
]


@pytest.mark.parametrize(("sql", "type_name", "value"), _VALUES, ids=[sql for sql, _, _ in _VALUES])
def test_values_and_types(member: LocalMember, sql: str, type_name: str, value: object) -> None:
    cursor = _connect(member).cursor()
    cursor.execute(f"select {sql}")
    assert cursor.fetchall() == [[value]]
    assert cursor.description[0][1] == type_name


@pytest.mark.parametrize(("said", "zone"), [("+05:30", "<+05:30>-05:30"), ("Asia/Tokyo", "Asia/Tokyo")])
def test_offsets_are_east_of_greenwich(member: LocalMember, said: str, zone: str) -> None:
    """The Python client knows no offsets; others do."""
    headers = {"X-Trino-User": "ann", "X-Trino-Time-Zone": said}
    address = f"http://127.0.0.1:{member.http_port}/v1/statement"
    told = requests.post(address, "select current_setting('TimeZone')", headers=headers, timeout=30).json()
    while "data" not in told:
        told = requests.get(told["nextUri"], timeout=30).json()
    assert told["data"] == [[zone]]


def test_a_long_statement_is_translated_until_its_timeout(member: LocalMember) -> None:
    """Its translation takes seconds: it blocks nobody else, and ends with the statement."""
    headers = {"X-Trino-User": "ann", "X-Trino-Session": "statement_timeout=50ms"}
    address = f"http://127.0.0.1:{member.http_port}/v1/statement"
    before = member.engine.planning.statistics()["interrupted"]
    told = requests.post(address, "select 1" + ", 1" * 200_000, headers=headers, timeout=60).json()
    with member.connect() as other:
        assert other.execute("select 1").fetchone() == (1,)
    while "error" not in told:
        told = requests.get(told["nextUri"], timeout=60).json()
    assert told["error"]["message"] == "canceling statement due to statement timeout"
    assert member.engine.planning.statistics()["interrupted"] == before + 1


def test_the_last_answer_can_be_requested_again(member: LocalMember) -> None:
    headers = {"X-Trino-User": "ann"}
    base = f"http://127.0.0.1:{member.http_port}/v1/statement"
    told = requests.post(base, "select 7", headers=headers, timeout=60).json()
    while "nextUri" in told:
        uri = told["nextUri"]
        told = requests.get(uri, timeout=60).json()
    assert (told["data"], requests.get(uri, timeout=60).json()) == ([[7]], told)
    assert requests.delete(uri, timeout=60).status_code == 204
    assert requests.get(uri.rpartition("/")[0] + "/99", timeout=60).status_code == 404


def test_results_that_nobody_fetches_are_bounded_in_number(tmp_path: Path) -> None:
    with local_member(tmp_path, http=Bounds(abandoned_after=600)) as member:
        headers = {"X-Trino-User": "ann"}
        base = f"http://127.0.0.1:{member.http_port}/v1/statement"
        answers = [requests.post(base, "select 1", headers=headers, timeout=60).json() for _ in range(501)]
        assert [answer.get("error", {}).get("message") for answer in answers[499:]] == [
            None,
            "too many queries: the results of 500 wait for their clients\n"
            "HINT: Fetch them to their ends, or give them up with DELETE.",
        ]
        while "nextUri" in answers[0]:
            answers[0] = requests.get(answers[0]["nextUri"], timeout=60).json()
        assert "error" not in requests.post(base, "select 1", headers=headers, timeout=60).json()


def test_a_statement_longer_than_trino_takes_is_refused(member: LocalMember) -> None:
    address = f"http://127.0.0.1:{member.http_port}/v1/statement"
    answer = requests.post(address, "select '" + "x" * 1_000_000 + "'", headers={"X-Trino-User": "ann"}, timeout=60)
    assert (answer.status_code, answer.json()["detail"]) == (413, "a statement may have 1000000 bytes")


def test_parameters(member: LocalMember) -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=zone)
    given = [
        1,
        "x'y?",
        None,
        2.5,
        b"\x00\x01",
        Decimal("1.20"),
        dt.date(2024, 2, 29),
        moment,
        [1, 2],
        True,
        float("inf"),
    ]
    [row] = _all(_connect(member), "select " + ", ".join("?" * len(given)), *given)
    assert row == given
    assert row[7].utcoffset() == dt.timedelta(0)


@pytest.mark.parametrize("legacy", [True, False])
def test_prepared_statements_travel_with_the_client(member: LocalMember, legacy: bool) -> None:
    connection = _connect(member, legacy_prepared_statements=legacy)
    assert _all(connection, "select name from towns where id = ? and name <> '?' limit ?", 2, 5) == [["Bonn"]]
    cursor = connection.cursor()
    with pytest.raises(TrinoUserError, match="incorrect number of parameters: expected 1 but found 2") as raised:
        cursor.execute("select ?", (1, 2))
    assert raised.value.error_name == "INVALID_PARAMETER_USAGE"


def test_a_long_result_comes_in_pages(member: LocalMember) -> None:
    cursor = _connect(member).cursor()
    cursor.execute("select x, x % 7 from generate_series(1, 30000) as g(x) order by x")
    rows = cursor.fetchall()
    assert len(rows) == 30_000
    assert rows[0] == [1, 1]
    assert rows[-1] == [30_000, 30_000 % 7]


def test_a_result_is_bounded(member: LocalMember) -> None:
    with pytest.raises(Exception, match="the result has more than 40000 rows") as raised:
        _all(_connect(member), "select * from generate_series(1, 40001)")
    assert getattr(raised.value, "error_type", None) == "INSUFFICIENT_RESOURCES"
    assert "http.rows_max" in str(raised.value)


def test_stats_are_of_the_statement(member: LocalMember) -> None:
    headers = {"X-Trino-User": "ann", "X-Trino-Catalog": "sluice", "X-Trino-Schema": "public"}
    url = f"http://127.0.0.1:{member.http_port}/v1/statement"
    sql = "select n, repeat('x', 100) from generate_series(1, 30000) n"
    answer = requests.post(url, sql, headers=headers, timeout=60).json()
    stats = [answer["stats"]]
    rows = 0
    while "nextUri" in answer:
        answer = requests.get(answer["nextUri"], headers=headers, timeout=60).json()
        rows += len(answer.get("data", ()))
        stats.append(answer["stats"])
        assert stats[-1]["processedRows"] >= rows
    assert stats[0]["state"] == "QUEUED"
    assert stats[0]["queued"]
    running, last = [told for told in stats if told["state"] == "RUNNING"], stats[-1]
    assert running
    assert all((told["runningSplits"], told["completedSplits"]) == (1, 0) for told in running)
    assert (last["state"], last["totalSplits"], last["completedSplits"], last["runningSplits"]) == ("FINISHED", 1, 1, 0)
    assert (last["processedRows"], last["nodes"]) == (rows, 1)
    assert last["processedBytes"] > 100 * rows
    elapsed = [told["elapsedTimeMillis"] for told in stats]
    assert elapsed == sorted(elapsed)
    assert last["elapsedTimeMillis"] >= last["queuedTimeMillis"] + last["wallTimeMillis"] - 1
    failed = requests.post(url, "select 1 / 0", headers=headers, timeout=60).json()
    while "nextUri" in failed:
        failed = requests.get(failed["nextUri"], headers=headers, timeout=60).json()
    assert failed["stats"]["state"] == "FAILED"


def test_an_answer_that_was_lost_is_told_again(member: LocalMember) -> None:
    base = f"http://127.0.0.1:{member.http_port}"
    headers = {"X-Trino-User": "ann"}
    first = requests.post(f"{base}/v1/statement", "select 41 + 1", headers=headers, timeout=30).json()
    uri = first["nextUri"]
    while not (page := requests.get(uri, timeout=30)).json().get("data"):
        uri = page.json()["nextUri"]
    assert requests.get(uri, timeout=30).json() == page.json()
    assert page.json()["data"] == [[42]]
    # Without the secret of its address there is no result.
    [*front, _, last] = uri.split("/")
    assert requests.get("/".join([*front, "guessed", last]), timeout=30).status_code == 404


@pytest.mark.parametrize(
    ("sql", "name", "words"),
    [
        ("select * from nix", "TABLE_NOT_FOUND", 'relation "nix" does not exist'),
        ("select nix from towns", "COLUMN_NOT_FOUND", 'column "nix" does not exist'),
        ("select 1/0", "DIVISION_BY_ZERO", "division by zero"),
        ("select date_diff('day', current_date, current_date)", "FUNCTION_NOT_FOUND", "does not exist"),
        ("select try_cast('a' as integer)", "NOT_SUPPORTED", "not supported: try_cast"),
        ("select cast('a' as integer)", "INVALID_CAST_ARGUMENT", "invalid input syntax for type integer"),
        ("insert into towns values (9, null, 1)", "CONSTRAINT_VIOLATION", "null value in column"),
        ("select date 'infinity'", "INVALID_FUNCTION_ARGUMENT", "out of range of Trino's type"),
        ("use nix.public", "CATALOG_NOT_FOUND", 'catalog "nix" does not exist'),
        ("copy towns to stdout", "NOT_SUPPORTED", "not supported: this COPY over HTTP"),
        ("select 1; select 2", "SYNTAX_ERROR", "expected one statement"),
        ("show", "SYNTAX_ERROR", "expected what SHOW is to show"),
        ("reset session", "SYNTAX_ERROR", "expected RESET SESSION name"),
    ],
)
def test_errors_have_trino_s_shape(member: LocalMember, sql: str, name: str, words: str) -> None:
    with pytest.raises(TrinoUserError) as raised:
        _all(_connect(member), sql)
    assert raised.value.error_name == name
    assert words in raised.value.message


def test_a_syntax_error_says_where(member: LocalMember) -> None:
    with pytest.raises(TrinoUserError) as raised:
        _all(_connect(member), "select 1,\n  foo(")
    assert raised.value.error_name == "SYNTAX_ERROR"
    assert raised.value.error_location == (2, 6)


def test_settings_and_schema_are_the_client_s(member: LocalMember) -> None:
    connection = _connect(member, source="report")
    _all(connection, "set session statement_timeout = '3s'")
    assert _all(connection, "select current_setting('statement_timeout'), current_setting('application_name')") == [
        ["3s", "report"]
    ]
    _all(connection, "reset session statement_timeout")
    assert _all(connection, "show statement_timeout") == [["0"]]
    _all(connection, "create schema elsewhere")
    _all(connection, "create table elsewhere.towns as select 'here' as name")
    _all(connection, "use elsewhere")
    assert _all(connection, "select name from towns") == [["here"]]
    _all(connection, "drop schema elsewhere cascade")
    with pytest.raises(TrinoUserError, match="unrecognized configuration parameter"):
        _all(connection, "set session nix = 1")


def test_a_statement_times_out(member: LocalMember) -> None:
    connection = _connect(member, session_properties={"statement_timeout": "50ms"})
    with pytest.raises(TrinoUserError, match="canceling statement due to statement timeout"):
        _all(connection, "select pg_sleep(60)")


def test_cancel(member: LocalMember) -> None:
    base = f"http://127.0.0.1:{member.http_port}"
    first = requests.post(f"{base}/v1/statement", "select pg_sleep(600)", headers={"X-Trino-User": "ann"}, timeout=30)
    uri = first.json()["nextUri"]
    with member.connect() as connection:
        sleeping = (
            "select state, usename from pg_stat_activity where query like '%pg_sleep(600)' and pid <> pg_backend_pid()"
        )
        wait_until(lambda: connection.execute(sleeping).fetchone() == ("active", "ann"))
    assert requests.delete(uri, timeout=30).status_code == 204
    while "error" not in (told := requests.get(uri, timeout=30).json()):
        uri = told["nextUri"]
    assert told["error"]["errorName"] == "USER_CANCELED"
    assert told["error"]["message"] == "canceling statement due to user request"


def test_cursors_that_are_closed_early_leave_nothing(member: LocalMember) -> None:
    cursor = _connect(member).cursor()
    cursor.execute("select * from generate_series(1, 40000)")
    assert cursor.fetchone() == [1]
    cursor.close()


def test_changes_are_counted(member: LocalMember) -> None:
    connection = _connect(member)
    cursor = connection.cursor()
    cursor.execute("create table counted (a integer, b varchar)")
    cursor.execute("insert into counted values (1, 'a'), (2, 'b'), (3, 'c')")
    assert (cursor.rowcount, cursor.update_type) == (3, "INSERT")
    cursor.execute("update counted set b = 'z' where a > ?", (1,))
    assert (cursor.rowcount, cursor.update_type) == (2, "UPDATE")
    cursor.executemany("insert into counted values (?, ?)", [(4, "d"), (5, None)])
    cursor.execute("delete from counted where b = 'z'")
    assert cursor.rowcount == 2
    assert _all(connection, "select a, b from counted order by a") == [[1, "a"], [4, "d"], [5, None]]
    cursor.execute("drop table counted")


def test_transactions(member: LocalMember) -> None:
    _all(_connect(member), "create table moved (a integer)")
    with _connect(member, isolation_level=IsolationLevel.READ_COMMITTED) as connection:
        _all(connection, "insert into moved values (1)")
        assert _all(connection, "select count(*) from moved") == [[1]]
        assert _all(_connect(member), "select count(*) from moved") == [[0]]
        connection.rollback()
        assert _all(_connect(member), "select count(*) from moved") == [[0]]
        _all(connection, "insert into moved values (2)")
        with pytest.raises(TrinoUserError, match="division by zero"):
            _all(connection, "select 1/0")
        with pytest.raises(TrinoUserError, match="current transaction is aborted") as raised:
            _all(connection, "select 1")
        assert raised.value.error_name == "TRANSACTION_ALREADY_ABORTED"
        connection.rollback()
        _all(connection, "insert into moved values (3)")
        connection.commit()
    assert _all(_connect(member), "select a from moved") == [[3]]
    _all(_connect(member), "drop table moved")


def test_somebody_else_s_transaction_is_unknown(member: LocalMember) -> None:
    with _connect(member, isolation_level=IsolationLevel.READ_COMMITTED) as connection:
        _all(connection, "select 1")
        headers = {"X-Trino-User": "bob", "X-Trino-Transaction-Id": connection.transaction.id}
        address = f"http://127.0.0.1:{member.http_port}/v1/statement"
        told = requests.post(address, "select 1", headers=headers, timeout=30).json()
        assert told["error"]["errorName"] == "UNKNOWN_TRANSACTION"


def test_browsing(member: LocalMember) -> None:
    connection = _connect(member)
    assert _all(connection, "show catalogs") == [["sluice"]]
    assert ["public"] in _all(connection, "show schemas from sluice like 'p%'")
    assert _all(connection, "show tables from public like 'tow%'") == [["towns"]]
    columns = [["id", "integer", "", ""], ["name", "varchar(20)", "", ""], ["area", "decimal(10,2)", "", "km2"]]
    assert _all(connection, "describe towns") == columns
    assert _all(connection, "show columns from sluice.public.towns") == columns
    assert _all(connection, "explain select * from towns")


def test_sqlalchemy(member: LocalMember) -> None:
    engine = sa.create_engine(f"trino://ann@127.0.0.1:{member.http_port}/sluice/public")
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["towns"]
    assert "public" in inspector.get_schema_names()
    assert [(c["name"], str(c["type"]), c["comment"]) for c in inspector.get_columns("towns")] == [
        ("id", "INTEGER", None), ("name", "VARCHAR(20)", None), ("area", "DECIMAL(10, 2)", "km2")
    ]  # fmt: skip
    towns = sa.Table("towns", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        named = sa.select(towns.c.name, towns.c.area).where(towns.c.name.like("%n")).order_by(towns.c.name.desc())
        assert connection.execute(named).all() == [("Wien", None), ("Bonn", Decimal("141.06"))]
        assert connection.execute(sa.select(sa.func.sum(towns.c.area))).scalar() == Decimal("259.75")
    engine.dispose()


def test_who_stays_away_is_taken_for_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with local_member(tmp_path, http=Bounds(abandoned_after=3)) as member:
        headers = {"X-Trino-User": "ann"}
        address = f"http://127.0.0.1:{member.http_port}/v1/statement"
        uri = requests.post(address, "select pg_sleep(600)", headers=headers, timeout=30).json()["nextUri"]
        told = _begin_transaction(address, headers)
        assert told.headers["X-Trino-Started-Transaction-Id"]
        with member.connect() as connection:
            _wait_until_alone(connection)
        assert requests.get(uri, timeout=30).status_code == 404
    assert "its client has sent no request for 3 s" in caplog.text
    assert "idle-in-transaction" not in caplog.text


def test_the_client_s_own_limit_of_an_idle_transaction_is_named(
    member: LocalMember, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"X-Trino-User": "ann", "X-Trino-Session": "idle_in_transaction_session_timeout=100ms"}
    _begin_transaction(f"http://127.0.0.1:{member.http_port}/v1/statement", headers)
    with member.connect() as connection:
        _wait_until_alone(connection)
    assert "terminating connection due to idle-in-transaction timeout" in caplog.text


def _begin_transaction(address: str, headers: dict[str, str]) -> requests.Response:
    told = requests.post(address, "start transaction", headers=headers, timeout=30)
    while (following := told.json().get("nextUri")) is not None:
        told = requests.get(following, timeout=30)
    return told


_RULES = """
hostssl   all  ann     all  scram-sha-256
hostssl   all  old     all  md5
host      all  trusted all  trust
hostssl   all  carol   all  cert
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalMember, str]]:
    """A member with TLS and rules, and the file of the authority that signed its certificate."""
    authority = Authority(tmp_path_factory.mktemp("authority") / "files")
    issued = authority.issue("localhost", names="DNS:localhost,IP:127.0.0.1")
    tls = ClientTls.read(ClientTlsFiles(issued.certificate, issued.key))
    rules = parse("host all admin all trust\n" + _RULES, "rules")
    with local_member(tmp_path_factory.mktemp("guarded"), Access(rules=rules, tls=tls), http=Bounds()) as member:
        dsn = f"host=127.0.0.1 port={member.port} user=admin dbname=sluice"
        with psycopg.connect(dsn, autocommit=True) as connection:
            for statement in (
                "create role admin superuser login",
                "create role ann login password 'right' connection limit 1",
                "create role trusted login",
                "create role carol login",
                "create role idle nologin",
                "create table secret as select 1 as a",
            ):
                connection.execute(statement)
        yield member, str(authority.certificate)


@pytest.fixture(autouse=True)
def nothing_left_of_the_guarded(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test that used it; a role of it may have one session."""
    yield
    if "guarded" in request.fixturenames:
        member, _ = request.getfixturevalue("guarded")
        with member.connect(user="admin") as connection:
            _wait_until_alone(connection)


def _guarded(ground: tuple[LocalMember, str], user: str, password: str | None, **more: Any) -> Connection:
    member, authority = ground
    auth = BasicAuthentication(user, password) if password is not None else None
    session = requests.Session()
    session.trust_env, session.verify = False, authority
    return _connect(member, user=user, auth=auth, http_scheme="https", http_session=session, **more)


def test_passwords_and_rights(guarded: tuple[LocalMember, str]) -> None:
    assert _all(_guarded(guarded, "ann", "right"), "select current_user") == [["ann"]]
    with pytest.raises(TrinoUserError, match="permission denied for table secret") as raised:
        _all(_guarded(guarded, "ann", "right"), "select a from secret")
    assert raised.value.error_name == "PERMISSION_DENIED"
    assert _all(_guarded(guarded, "trusted", None), "select current_user") == [["trusted"]]


@pytest.mark.parametrize(
    ("user", "password", "words"),
    [
        ("ann", "wrong", "password authentication failed for user"),
        ("ann", "", "password authentication failed for user"),
        ("ann", None, "password authentication failed for user"),
        ("nobody", "right", "no pg_hba.conf entry for host"),
        ("old", "right", "password authentication failed for user"),
        ("carol", None, "connection requires a valid client certificate"),
    ],
)
def test_who_is_refused(guarded: tuple[LocalMember, str], user: str, password: str | None, words: str) -> None:
    with pytest.raises(HttpError, match=f"error 401.*{words}"):
        _all(_guarded(guarded, user, password), "select 1")


def test_nobody_acts_as_another(guarded: tuple[LocalMember, str]) -> None:
    member, authority = guarded
    told = requests.post(
        f"https://127.0.0.1:{member.http_port}/v1/statement",
        "select 1",
        headers={"X-Trino-User": "trusted"},
        auth=("ann", "right"),
        verify=authority,
        timeout=30,
    )
    assert (told.status_code, told.json()["detail"]) == (401, 'user "ann" cannot act as "trusted"')


def test_connection_limits_are_shared(guarded: tuple[LocalMember, str]) -> None:
    member, _ = guarded
    dsn = f"host=127.0.0.1 port={member.port} user=ann password=right dbname=sluice sslmode=require"
    with psycopg.connect(dsn), pytest.raises(Exception, match='too many connections for role "ann"') as raised:
        _all(_guarded(guarded, "ann", "right"), "select 1")
    assert getattr(raised.value, "error_name", None) == "QUERY_QUEUE_FULL"


def test_a_password_in_the_clear_is_refused(tmp_path: Path) -> None:
    rules = parse("host all admin all trust\nhost all ann all scram-sha-256", "rules")
    with local_member(tmp_path, Access(rules=rules), http=Bounds()) as member:
        with psycopg.connect(f"host=127.0.0.1 port={member.port} user=admin dbname=sluice", autocommit=True) as admin:
            admin.execute("create role ann login password 'right'")
        headers = {"X-Trino-User": "ann"}
        address = f"http://127.0.0.1:{member.http_port}/v1/statement"
        told = requests.post(address, "select 1", headers=headers, auth=("ann", "right"), timeout=30)
        assert told.status_code == 401
        assert "password in the clear is refused without encryption" in told.json()["detail"]

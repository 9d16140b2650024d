"""Data errors: a condition that prevents an error for a row raises none (`support.guarded_cases`), and random
statements that provoke errors (`support.error_cases`) are answered where PostgreSQL 15 answers.

A sample runs with `make test`; `ERRORS=5000 SEED=3 pytest -m "long or not long" tests/differential/test_error_cases.py`
runs all guarded statements and 5,000 random ones. With `ERRORS_ENGINE=spark` Spark answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from support.answers import Connection, ask, differences
from support.error_cases import LOG, TABLES, ErrorCases, judge_errors
from support.guarded_cases import guarded_statements
from support.local_member import local_member
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

ERRORS = int(os.environ.get("ERRORS", "60"))
ENGINE = os.environ.get("ERRORS_ENGINE", "local")
SEED = int(os.environ.get("SEED", "1"))
#: Of the guarded statements, every so manieth runs; a prime, so that each guard and each place has a turn.
_STEP = 1 if "ERRORS" in os.environ else 43


@pytest.fixture(scope="module")
def theirs(postgres: PostgresServer) -> Iterator[Connection]:
    with postgres.database("error_cases") as database, database.connect() as connection:
        prepare(connection)
        yield connection


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("errors")) as member, member.connect() as connection:
        connection.execute(f"set sluice.engine = '{ENGINE}'")
        prepare(connection)
        yield connection


def prepare(connection: Connection) -> None:
    connection.execute("set statement_timeout = '60s'")
    for statement in (*TABLES, LOG):
        connection.execute(statement.encode())


def test_what_is_guarded_raises_no_error(ours: Connection, theirs: Connection) -> None:
    wrong = []
    for statement in guarded_statements()[SEED % _STEP :: _STEP]:
        want, got = ask(theirs, statement), ask(ours, statement)
        assert want.sqlstate is None, f"{statement}\nis no error's guard in PostgreSQL: {want.sqlstate}"
        different = None if got.sqlstate == "0A000" else differences(want, got, False, trailing_zeros=False)
        wrong += [f"{statement}\n{different}"] if different else []
    assert not wrong, "\n".join(wrong)


def test_where_postgresql_answers(ours: Connection, theirs: Connection) -> None:
    cases, wrong = ErrorCases(SEED), []
    for _ in range(ERRORS):
        statement = cases.statement()
        different = judge_errors(ask(theirs, statement), ask(ours, statement))
        wrong += [f"{statement}\n{different}"] if different else []
    assert not wrong, "\n".join(wrong)

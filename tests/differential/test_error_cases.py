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
from support.member_beside_postgres import member_beside_postgres
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

ERRORS = int(os.environ.get("ERRORS", "60"))
ENGINE = os.environ.get("ERRORS_ENGINE", "local")
SEED = int(os.environ.get("SEED", "1"))
#: Of the guarded statements, every so manieth runs; a prime, so that each guard and each place has a turn.
_STEP = 1 if "ERRORS" in os.environ else 43


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    setup = ("set statement_timeout = '60s'", *TABLES, LOG)
    with member_beside_postgres(tmp_path_factory.mktemp("errors"), postgres, setup) as (ours, theirs):
        ours.execute(f"set sluice.engine = '{ENGINE}'".encode())
        yield ours, theirs


@pytest.fixture
def ours(both: tuple[Connection, Connection]) -> Connection:
    return both[0]


@pytest.fixture
def theirs(both: tuple[Connection, Connection]) -> Connection:
    return both[1]


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

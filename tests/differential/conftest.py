"""TPC-H at scale 0.01 in a member and in a PostgreSQL, one of each for all tests of this folder that use them; and the
two engines alone, for the rows of the function table.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from function_rows import Engine
from psycopg import sql
from support.answers import Connection
from support.member_process import MemberProcess, register_tpch
from support.postgres_server import PostgresServer
from support.recorded_answers import Mode, RecordedAnswers
from support.tpch import generate, load_into_postgres

from engine.executors.engine_config import EngineConfig, SparkConfig
from engine.executors.local.executor import LocalExecutor
from engine.executors.spark.executor import SparkExecutor


@pytest.fixture
def postgres_roles(postgres: PostgresServer) -> Iterator[None]:
    """Drop the roles that the test has created, also if it fails: roles belong to the whole PostgreSQL server, which
    other tests use too. A test must request this fixture before those that create objects of the roles.
    """
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        before = _roles(admin)
        yield
        for statement in ("drop owned by {} cascade", "drop role {}"):
            for role in _roles(admin) - before:
                admin.execute(sql.SQL(statement).format(sql.Identifier(role)))


def _roles(admin: psycopg.Connection[Any]) -> set[str]:
    return {name for (name,) in admin.execute("select rolname from pg_roles").fetchall()}


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpch")


@pytest.fixture(scope="package")
def oracle(request: pytest.FixtureRequest, folder: Path) -> Iterator[RecordedAnswers]:
    """PostgreSQL's answers over the same tables, recorded or asked now."""
    with ExitStack() as stack:

        def connect() -> Connection:
            server: PostgresServer = request.getfixturevalue("postgres")
            return stack.enter_context(_tables_in_postgres(server, folder))

        answers = RecordedAnswers(Path(__file__).parent / "corpus" / "answers.jsonl", _mode(request.config), connect)
        yield answers
        answers.close()


def _mode(config: pytest.Config) -> Mode:
    if config.getoption("--rewrite"):
        return "rewrite"
    return "compare" if config.getoption("--ask-postgres") else "believe"


@contextmanager
def _tables_in_postgres(server: PostgresServer, folder: Path) -> Iterator[Connection]:
    parquet = generate(folder / "parquet", 0.01, "parquet")
    csv = generate(folder / "csv", 0.01, "csv")
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create schema same_answers")
        connection.execute("set search_path = same_answers")
        load_into_postgres(connection, parquet, csv)
        yield connection
        # The server was started for this fixture, after it, and so may have been stopped before.
        with suppress(psycopg.OperationalError):
            connection.execute("drop schema same_answers cascade")


@pytest.fixture(scope="package")
def member(folder: Path) -> Iterator[MemberProcess]:
    with MemberProcess(folder / "member") as member:
        with member.connect() as connection:
            register_tpch(connection, generate(folder / "registered", 0.01, "parquet"))
        yield member


@pytest.fixture(scope="package", params=["local", "spark"])
def sluice(request: pytest.FixtureRequest, member: MemberProcess) -> Iterator[Connection]:
    with member.connect(options=f"-c sluice.engine={request.param}") as connection:
        yield connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    executor = LocalExecutor(EngineConfig(tmp_path_factory.mktemp("data")))
    await executor.start()
    yield Engine("local", executor)
    await executor.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def spark(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    executor = SparkExecutor(SparkConfig("local[2]"), tmp_path_factory.mktemp("member"))
    await executor.start()
    yield Engine("spark", executor)
    await executor.close()

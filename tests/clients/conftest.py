"""One member for all client suites, and the assertion after each test that the member holds nothing of its clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from support.member_process import MemberProcess, register_tpch
from support.member_state import wait_idle
from support.postgres_server import PostgresServer
from support.tpch import generate


@pytest.fixture(scope="session")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    """A member with the tables of TPC-H at scale 0.1 and a started Spark, which runs two tasks at a time."""
    folder = generate(tmp_path_factory.mktemp("tpch"), 0.1, "parquet")
    with MemberProcess(Path(tmp_path_factory.mktemp("member")), "--spark-master", "local[2]") as running:
        with running.connect(options="-c sluice.engine=spark") as connection:
            register_tpch(connection, folder)
            connection.execute("select count(*) from nation")
        yield running


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Assert after every test that used the member that it no longer holds a connection, stream, task, Spark job or
    file of it.
    """
    yield
    if "member" in request.fixturenames:
        wait_idle(request.getfixturevalue("member"))


@pytest.fixture(params=["sluice", "postgres"])
def connect(
    request: pytest.FixtureRequest, member: MemberProcess, postgres: PostgresServer
) -> Callable[..., psycopg.Connection[tuple[object, ...]]]:
    """psycopg's connect for the member, and in a second run of the test for a real PostgreSQL: the expectations hold
    for both.
    """
    dsn = member.dsn if request.param == "sluice" else postgres.dsn
    return lambda **more: psycopg.connect(dsn, **{"autocommit": True, **more})

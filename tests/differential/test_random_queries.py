"""Random queries (`random_queries`) are answered as by PostgreSQL 15, or refused with a legitimate error; by one member
and by three, in the local engine and in Spark, whatever the batches' size. Predicates partition a FROM clause's rows
completely. Each defect that such runs have found stays fixed: `statements/found.sql`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from support.answers import Connection, ask, differences
from support.campaigns import long_seeds
from support.fault_ground import Ground
from support.local_member import local_member
from support.member_process import MemberProcess
from support.postgres_server import PostgresServer
from support.query_oracles import judge, partitions_differ, pushed_down_differs
from support.random_queries import TABLES, Queries

pytestmark = pytest.mark.postgres

FOUND = (Path(__file__).parent / "statements" / "found.sql").read_text().splitlines()
_QUERIES = 25
#: Of so many queries, one may.
_EARLY = 12
_SEEDS = range(3, 40)
_ZONE = " -c TimeZone=America/New_York"
_SPARK = {"SLUICE_SPARK__MASTER": "local[1]", "SLUICE_SPARK__DRIVER_MEMORY": "600m"}


@pytest.fixture(scope="module")
def theirs(postgres: PostgresServer) -> Iterator[Connection]:
    with postgres.database("random_queries") as database, database.connect() as connection:
        prepare(connection)
        yield connection


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("random")) as member, member.connect() as connection:
        connection.execute("set sluice.engine = local")
        prepare(connection)
        yield connection


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MemberProcess]]:
    with ExitStack() as stack:
        started = list(Ground(tmp_path_factory.mktemp("members"), stack, _SPARK).three())
        with closing(started[0].connect()) as connection:
            make_tables(connection)
        yield started


def make_tables(connection: Connection) -> None:
    for statement in TABLES:
        connection.execute(statement.encode())


def prepare(connection: Connection) -> None:
    connection.execute("set timezone = 'America/New_York'")
    connection.execute("set statement_timeout = '60s'")
    make_tables(connection)


@pytest.mark.parametrize("statement", [line for line in FOUND if not line.startswith("--")])
def test_found(statement: str, ours: Connection, theirs: Connection) -> None:
    want, got = ask(theirs, statement), ask(ours, statement)
    different = differences(want, got, False, trailing_zeros=False)
    assert different is None, f"{statement}\n{different}"


@pytest.mark.parametrize("seed", [1, 2, *long_seeds(_SEEDS)])
def test_like_postgres(seed: int, ours: Connection, theirs: Connection) -> None:
    compare(seed, _QUERIES, ours, theirs)


@pytest.mark.parametrize("seed", [1, *long_seeds(range(2, 20))])
def test_a_predicate_parts_rows_without_a_rest(seed: int, ours: Connection) -> None:
    queries = Queries(seed, depth=2)
    for _ in range(_QUERIES // 2):
        source, predicate = queries.predicate_over()
        for oracle in (partitions_differ, pushed_down_differs):
            different = oracle(ours, source, predicate)
            assert different is None, different


@pytest.mark.parametrize("seed", long_seeds(range(100, 110)))
def test_several_members(seed: int, members: list[MemberProcess], theirs: Connection) -> None:
    buffer = (1 << 10, 1 << 14, 1 << 20)[seed % 3]
    settings = f"-c sluice.engine=local -c sluice.distribution=always -c cursor_buffer_size={buffer}"
    with closing(members[seed % 3].connect(options=settings + _ZONE)) as connection:
        compare(seed, _QUERIES, connection, theirs)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_in_spark(members: list[MemberProcess], theirs: Connection) -> None:
    with closing(members[0].connect(options="-c sluice.engine=spark" + _ZONE)) as connection:
        compare(200, _QUERIES, connection, theirs)


def compare(seed: int, count: int, ours: Connection, theirs: Connection) -> None:
    """An engine may meet an error in constants of which PostgreSQL asks nothing, since no row comes to them: now and then."""
    queries, early = Queries(seed, depth=2), 0
    for _ in range(count):
        query = queries.query()
        want, got = ask(theirs, query), ask(ours, query)
        if want.sqlstate is None and got.sqlstate is not None and got.sqlstate.startswith("22"):
            early += 1
            assert early <= count // _EARLY, (
                f"too many errors where PostgreSQL says rows, such as\n{query}\n{got.sqlstate}"
            )
        else:
            wrong = judge(want, got)
            assert wrong is None, f"{query}\n{wrong}"

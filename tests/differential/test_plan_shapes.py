"""Random plans of simple expressions (`plan_shapes`) are answered as by PostgreSQL 15, or refused with 0A000.

Each defect that such runs have found stays fixed: `changes/everyday_answers.sql`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.answers import Connection, ask
from support.campaigns import long_seeds
from support.member_beside_postgres import member_beside_postgres
from support.plan_shapes import TABLES, Shapes
from support.postgres_server import PostgresServer
from support.query_oracles import judge

pytestmark = pytest.mark.postgres

_QUERIES = 40
#: The maximum length of a query: the engine needs seconds for longer ones.
_LENGTH_MAX = 2500


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    setup = ("set statement_timeout = '60s'", *TABLES)
    with member_beside_postgres(tmp_path_factory.mktemp("shapes"), postgres, setup) as (ours, theirs):
        ours.execute("set sluice.engine = local")
        yield ours, theirs


@pytest.fixture
def ours(both: tuple[Connection, Connection]) -> Connection:
    return both[0]


@pytest.fixture
def theirs(both: tuple[Connection, Connection]) -> Connection:
    return both[1]


@pytest.mark.parametrize("seed", [1, *long_seeds(range(2, 60))])
def test_like_postgres(seed: int, ours: Connection, theirs: Connection) -> None:
    shapes = Shapes(seed)
    for query in (shapes.query() for _ in range(_QUERIES)):
        if len(query) <= _LENGTH_MAX:
            wrong = judge(ask(theirs, query), ask(ours, query))
            assert wrong is None, f"{query}\n{wrong}"

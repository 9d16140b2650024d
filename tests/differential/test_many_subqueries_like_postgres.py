"""Expressions over dozens of subqueries, which DuckDB computes a few at a time, against PostgreSQL 15: nulls, guards,
places.

PostgreSQL raises no error for any of them: a division by zero stands behind an operand that decides before it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import pytest
from support.member_beside_postgres import Connection, member_beside_postgres
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

_TABLES: Final = (
    "create table many_t (id int, a int, b int)",
    "create table many_u (a int, b int)",
    "insert into many_t select i, nullif(i % 7, 6), nullif(i % 5, 4) from generate_series(1, 40) i",
    "insert into many_u select nullif(i % 9, 8), i % 3 from generate_series(1, 12) i",
)
_LEAVES: Final = (
    "exists (select from many_u u where u.a = t.a + {0} and u.b < {1})",
    "not exists (select from many_u u where u.a > t.b + {0})",
    "t.a in (select u.a + {0} from many_u u where u.b = {1})",
    "t.a not in (select u.a - {0} from many_u u where u.b >= t.b)",
    "t.b > any (select u.a + {0} from many_u u where u.b <> {1})",
    "t.b <= all (select u.a + {0} from many_u u where u.b = t.a)",
    "(select max(u.a) > {0} from many_u u where u.b = t.b)",
    "(t.a = 0 or exists (select from many_u u where u.a > {0} / t.a))",
    "(t.a <> 0 and {0} / t.a > {1})",
    "t.b is null",
)
_FORMS: Final = (
    "select id from many_t t where {} order by id",
    "select id from many_t t where not ({}) order by id",
    "select id, {} from many_t t order by id",
    "select id from many_t t where ({}) is null order by id",
    "select id, case when {} then 'a' when {} then 'b' end from many_t t order by id",
    "select id from many_t t order by {} desc nulls last, id",
    "select b, count(*) filter (where {}) from many_t t group by b order by b",
)


@pytest.fixture(scope="module")
def servers(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Connection, Connection]]:
    with member_beside_postgres(tmp_path_factory.mktemp("many"), postgres, _TABLES) as connections:
        yield connections


def _condition(chance: random.Random, leaves: int) -> str:
    """An expression of so many leaves, of which runs are long enough to be divided."""
    if leaves == 1:
        return chance.choice(_LEAVES).format(chance.randrange(9), chance.randrange(4))
    parts = [1] * leaves
    if leaves > 4:
        own = chance.randrange(leaves // 2)
        parts = [1] * (leaves - 2 * own) + [own] * 2 * (own > 0)
        chance.shuffle(parts)
    joined = chance.choice((" or ", " and ")).join(_condition(chance, part) for part in parts)
    return f"not ({joined})" if chance.random() < 0.3 else f"({joined})"


@pytest.mark.table
@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("leaves", [15, 45])
def test_many_subqueries(servers: tuple[Connection, Connection], form: str, leaves: int) -> None:
    chance = random.Random(leaves)
    # Within an aggregate they cannot be computed a few at a time, and fewer are accepted.
    leaves = min(leaves, 30) if "filter" in form else leaves
    ours, theirs = servers
    found = 0
    for _ in range(3):
        count = form.count("{}")
        query = form.format(*(_condition(chance, leaves // count) for _ in range(count))).encode()
        expected = theirs.execute(query).fetchall()
        assert ours.execute(query).fetchall() == expected, query.decode()
        found += len(expected)
    assert found or "where" in form

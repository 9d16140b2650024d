"""Joins of many relations, whose equalities the planner rearranges for the local engine, against PostgreSQL 15."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from support.member_beside_postgres import Connection, member_beside_postgres
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

_TABLE = (
    "create table r as select x k, nullif(x % 5, 4) i, nullif(x, 3)::bigint b, 't' || x % 6 s, ('t' || x)::varchar(3) v,"
    " (x / 2.0)::numeric(6, 2) n, nullif(x, 5)::float8 f, ('c' || x % 4)::char(4) c from generate_series(1, 7) x"
)
#: Columns that may be compared with each other.
_FAMILIES = (("k", "i", "b"), ("k", "i", "b"), ("s", "v"), ("n", "i"), ("f", "i"), ("c", "c"))


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    with member_beside_postgres(tmp_path_factory.mktemp("relations"), postgres, (_TABLE,)) as connections:
        yield connections


def _relation(choose: random.Random, number: int) -> str:
    computed = "(select k, i, b + 0 b, s, v, n, f, c from r where k <> 6)"
    return f"{choose.choice(['r', 'r', 'r', computed])} t{number}"


def _equality(choose: random.Random, one: int, other: int) -> str:
    if choose.random() < 0.3:
        return f"t{one}.k + t{choose.randrange(2)}.{choose.choice('kb')} = t{other}.{choose.choice('kn')} + t0.k"
    family = choose.choice(_FAMILIES)
    return f"t{one}.{choose.choice(family)} = t{other}.{choose.choice(family)}"


def _statement(choose: random.Random, count: int) -> str:
    """Each relation has the key of one before it, so that rows do not multiply, and a few have more conditions."""
    on = {one: [f"t{one}.k = t{choose.choice([0, one - 1, choose.randrange(one)])}.k"] for one in range(1, count)}
    for _ in range(choose.randrange(8)):
        one = choose.randrange(1, count)
        on[one].append(_equality(choose, one, choose.randrange(max(one - 2, 0), one + 1)))
    if choose.random() < 0.5:
        on[choose.randrange(1, count)].append(f"10 / t{choose.randrange(2)}.k > 1")
    if choose.random() < 0.3:
        on[choose.randrange(1, count)].append("t0.i in (select i from r where k > 2)")
    shown = f"t0.k, count(*), sum(t{count - 1}.n), min(t{count // 2}.s)"
    kinds = {one: choose.choice(["join", "join", "join", "left join"]) for one in on}
    if choose.random() < 0.5:
        rest = " ".join(f"{kinds[one]} {_relation(choose, one)} on {' and '.join(parts)}" for one, parts in on.items())
        return f"select {shown} from r t0 {rest} group by 1 order by 1"
    numbers = list(range(count))
    choose.shuffle(numbers)
    tables = ", ".join(_relation(choose, number) for number in numbers)
    conditions = [part for parts in on.values() for part in parts]
    choose.shuffle(conditions)
    return f"select {shown} from {tables} where {' and '.join(conditions)} group by 1 order by 1"


@pytest.mark.table
@pytest.mark.parametrize("seed", range(12))
def test_same_rows(both: tuple[Connection, Connection], seed: int) -> None:
    choose = random.Random(seed)
    ours, theirs = both
    for count in (4, 13, 18, 70):
        # Few relations at a time in PostgreSQL's planner, which would otherwise take longer than all else.
        statement = _statement(choose, count)
        theirs.execute("set from_collapse_limit = 1; set join_collapse_limit = 1; set geqo_effort = 1")
        assert ours.execute(statement.encode()).fetchall() == theirs.execute(statement.encode()).fetchall(), statement

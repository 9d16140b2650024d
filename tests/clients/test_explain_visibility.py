"""EXPLAIN reveals no values to a role that may not read them: neither by estimates nor by what is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member

_GROUND = (
    "create role ann login",
    "create role bob login",
    "create table t (id int, shown bool, secret text, price numeric)",
    "insert into t select g, g % 2 = 0, case when g % 10 = 0 then 'rare' else 'common' end, g % 3 from generate_series(1, 1000) g",
    "analyze t",
    "create view guarded with (security_barrier) as select id, secret, price from t where shown",
    "grant select on guarded to bob",
    "grant select (id), update (id) on t to bob",
)


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    data: Path = tmp_path_factory.mktemp("explain")
    with local_member(data) as running, running.connect(user="ann") as first:
        for statement in _GROUND:
            first.execute(statement.encode())
        yield running


@pytest.fixture
def bob(analysed: LocalMember) -> Iterator[psycopg.Connection[Any]]:
    with analysed.connect(user="bob") as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "select count(*) from t where secret = 'common'",
        "select id from t order by secret",
        "select id from t group by id having max(secret) = 'common'",
        "select t.id from t join t o on o.id = t.id and o.secret = 'common'",
        "update t set id = 0 where secret = 'common'",
        "select (select secret from t limit 1)",
    ],
)
@pytest.mark.parametrize("options", ["", "(analyze)", "(distsql)"])
def test_who_may_not_run_it_may_not_explain_it(bob: psycopg.Connection[Any], statement: str, options: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table t"):
        bob.execute(f"explain {options} {statement}".encode())


@pytest.mark.parametrize(
    "condition",
    ["secret like '%{}'", "secret ~ '{}$'", "upper(secret) = '{}'", "secret || '' = '{}'", "price = length('{}')"],
)
def test_estimates_behind_a_barrier_use_no_values(bob: psycopg.Connection[Any], condition: str) -> None:
    """The estimate of a condition that is not leakproof is the same for a common value as for an absent one."""
    told = {word: _rows(bob, condition.format(word)) for word in ("common", "rare", "absent")}
    assert len(set(told.values())) == 1, told


def _rows(connection: psycopg.Connection[Any], condition: str) -> tuple[str, ...]:
    plan = connection.execute(f"explain select id from guarded where {condition}".encode()).fetchall()
    return tuple(re.findall(r"rows=\d+|Files: .*", "\n".join(line for (line,) in plan)))

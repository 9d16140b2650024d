"""Function calls that run once for each row: they run for the fetched rows, after the engines' results, and leave
nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.local_member import LocalMember, local_member


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def test_it_is_made_for_rows_that_are_fetched(local: LocalMember) -> None:
    with local.connect() as session:
        session.execute("create sequence s")
        with session.transaction():
            session.execute("declare c cursor for select nextval('s'), x from generate_series(1, 100000) x")
            rows = [*session.execute("fetch 2 from c"), *session.execute("fetch 1 from c")]
        assert rows == [(1, 1), (2, 2), (3, 3)]
        last = session.execute("select last_value from s").fetchone()
        assert last is not None
        assert 3 <= last[0] < 100_000


def test_an_error_of_one_is_the_querys(local: LocalMember) -> None:
    with local.connect() as session:
        session.execute("create sequence s maxvalue 3")
        with pytest.raises(psycopg.errors.SequenceGeneratorLimitExceeded):
            session.execute("select nextval('s') from generate_series(1, 5)")
        assert session.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])])
def test_either_engine_gives_the_arguments(local: LocalMember, engine: str) -> None:
    with local.connect() as session:
        session.execute("create table t (id serial, x int); insert into t (x) select generate_series(1, 9)")
        session.execute(f"set sluice.engine = {engine}".encode())
        query = "select setval('t_id_seq', coalesce(max(id), 1) + 100, max(id) is not null), count(*) from t"
        assert session.execute(query, prepare=True).fetchone() == (109, 9)
        session.execute("set sluice.engine = auto")
        assert session.execute("select nextval('t_id_seq')").fetchone() == (110,)

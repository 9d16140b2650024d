"""Set-returning calls in a select list run over sorted rows: PostgreSQL sorts, then expands (planner.c:
make_sort_input_target), so that the rows made of one input row follow one another, in the set's order.

No key of ORDER BY distinguishes those rows, and the engine's sort is not stable: a hundred rows of three keys come out
mixed in each run. Rows are in several files, and batches are cut into other sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pytest
from support.local_member import local_member
from support.shaped_members import Connection, shaped_batches

ROWS, KEYS, SET = 100, 3, 3


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("sets")) as member, member.connect() as connection:
        connection.execute("create table t(id int, k int)")
        for first in range(0, ROWS, 30):
            last = min(first + 30, ROWS) - 1
            connection.execute(f"insert into t select i, i % {KEYS} from generate_series({first}, {last}) i".encode())
        connection.execute("create table d(a int, b int)")
        connection.execute("insert into d values (1, 2), (1, 3), (2, 5), (3, null), (3, 4)")
        yield connection


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "text",
    [
        "select k, id, {set} from t order by k",
        "select k, id, {set} from t order by k desc limit 100",
        "select k, id, {set} from t order by k offset 3",
        "select k, id, {set} from t order by k fetch first 50 rows with ties",
        "select k, id, {set} from t order by k offset 3 fetch first 50 rows with ties",
        "select k, id, unnest(array[1, 2, 3]), generate_series(1, 2) from t order by k",
        "select distinct on (k, id % 20) k, id, {set} from t order by k, id % 20, id",
        "select k, id, {set}, rank() over (partition by k) from t order by k",
        "select max(k), id, {set} from t group by id order by max(k)",
        "select * from (select k, id, {set} from t order by k) s",
        "select * from (select k, id, {set} from t order by k limit 100) s limit 50",
        "select k, id, s from (select k, id, {set} as s, row_number() over () from t order by k) s",
        "with s as materialized (select k, id, {set} from t order by k) select * from s",
        "select k, id, {set} from (select * from t order by id desc limit 90) s order by k",
        "select k, id, s from (select unnest(array_agg(k)) as k, unnest(array_agg(id)) as id, unnest(array_agg(s)) as s"
        " from (select k, id, {set} as s from t order by k) s) s",
        "select k, id, s from (select k, id, s, row_number() over () as n from"
        " (select k, id, {set} as s from t order by k) s) s order by n",
    ],
)
def test_rows_of_a_set_stay_together(connection: Connection, text: str, seed: int) -> None:
    with shaped_batches(seed):
        rows = connection.execute(text.format(set=f"generate_series(1, {SET})").encode()).fetchall()
    sets = [(id_, [row[2] for row in group]) for id_, group in groupby(rows, key=lambda row: row[1])]
    assert len(rows) >= 50
    assert len({id_ for id_, _ in sets}) == len(sets), "the rows of one are apart"
    assert all(numbers == list(range(1, SET + 1)) for _, numbers in sets[:-1])
    assert sets[-1][1] == list(range(1, SET + 1))[: len(sets[-1][1])]
    keys = [row[0] for row in rows]
    assert keys == sorted(keys, reverse="by k desc" in text)


def test_first_rows_in_order(connection: Connection) -> None:
    """A top-N over groups that several threads made gave one of four answers."""
    text = "select distinct on (a) generate_series(1, 2), a + 1, a * b from d order by a, b desc nulls last limit 3"
    for _ in range(200):
        assert connection.execute(text).fetchall() == [(1, 2, 3), (2, 2, 3), (1, 3, 10)]

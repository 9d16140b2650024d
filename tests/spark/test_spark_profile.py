"""EXPLAIN ANALYZE on Spark: the operators' row counts where Spark's plan has them, and nothing where it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.explained_rows import Connection, explained_rows, make_tables
from support.local_member import local_member

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    # Files' names have to be found in what Spark says of them.
    with local_member(tmp_path_factory.mktemp("actual rows é")) as member, member.connect() as connection:
        make_tables(connection)
        connection.execute("set sluice.engine = spark")
        yield connection


ROWS = [
    (
        "select b, count(*) from t join u on t.b = u.k where a > 100 and v <> 3 group by b having count(*) > 5 order by 2, 1",
        [
            ("FINAL", 8), ("SORT", 8), ("EVALUATOR", 8), ("AGGREGATOR", 8), ("EVALUATOR", 3920), ("JOIN", 3920),
            ("TABLE READER", 4900), ("TABLE READER", 19),
        ],
    ),
    (
        "select s, count(distinct b), sum(a) from t where b < 7 group by s",
        [("FINAL", 17), ("EVALUATOR", 17), ("AGGREGATOR", 17), ("EVALUATOR", 3500), ("TABLE READER", 3500)],
    ),
    (
        "select count(*) from (select b, s from t group by b, s) x",
        [("FINAL", 1), ("EVALUATOR", 1), ("AGGREGATOR", 1), ("EVALUATOR", 170), ("AGGREGATOR", 170), ("TABLE READER", 5000)],
    ),
    (
        "select a, rank() over (partition by b order by a) from t where b in (1, 2)",
        [("FINAL", 1000), ("EVALUATOR", 1000), ("WINDOW", 1000), ("EVALUATOR", 1000), ("TABLE READER", 1000)],
    ),
    (
        "select a from t where a > 100 union all select k from u",
        [
            ("FINAL", 4920), ("SET OPERATION", 4920), ("EVALUATOR", 4900), ("TABLE READER", 4900), ("EVALUATOR", 20),
            ("TABLE READER", 20),
        ],
    ),
    # A limit counts nothing, and neither does the sort that is one with it.
    ("select a from t order by a limit 3", [
            ("FINAL", 3), ("LIMIT", None), ("SORT", None), ("EVALUATOR", 5000), ("TABLE READER", 5000),
        ]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), ROWS)
def test_rows(connection: Connection, query: str, expected: list[tuple[str, int | None]]) -> None:
    assert explained_rows(connection, query) == expected


def test_several_aggregates_of_distinct_values_are_not_told(connection: Connection) -> None:
    found = explained_rows(connection, "select s, count(distinct b), count(distinct a) from t group by s")
    assert found[0] == ("FINAL", 17)
    assert ("AGGREGATOR", None) in found

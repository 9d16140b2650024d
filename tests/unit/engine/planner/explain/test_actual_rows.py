"""EXPLAIN ANALYZE: the operators' row counts where the engine's plan has them, and nothing where it does not."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from support.explained_rows import Connection, explained_rows, make_tables
from support.local_member import local_member

from engine.contracts.profile import Line, Operator, counters, tree
from engine.runtime.analysis import analysis_of


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("actual")) as member, member.connect() as connection:
        make_tables(connection)
        yield connection


def test_operators_of_a_join_and_groups(connection: Connection) -> None:
    query = (
        "select b, count(*) from t join u on t.b = u.k where a > 100 and v <> 3"
        " group by b having count(*) > 5 order by 2, 1 limit 4"
    )
    assert explained_rows(connection, query) == [
        ("FINAL", 4),
        ("LIMIT", 4),
        ("SORT", 4),
        ("EVALUATOR", 8),
        ("AGGREGATOR", 8),
        ("EVALUATOR", 3920),
        ("JOIN", 3920),
        ("TABLE READER", 3920),
        ("TABLE READER", 8),
    ]


def test_json_has_estimates_and_actual_rows(connection: Connection) -> None:
    (found,) = (
        connection.execute("explain (analyze, format json) select s from t where b < 3 group by s").fetchone() or ()
    )
    node, seen = found[0]["Plan"], {}
    while True:
        seen[node["Node Type"]] = (node["Plan Rows"] > 0, node["Actual Rows"])
        if "Plans" not in node:
            break
        [node] = node["Plans"]
    assert seen["AGGREGATOR"] == (True, 17)
    assert seen["TABLE READER"] == (True, 1500)


def test_readers_of_one_table_are_not_told_apart(connection: Connection) -> None:
    found = explained_rows(connection, "select x.a, y.s from t x join t y on x.a = y.b where x.b = 1")
    assert found[-2:] == [("TABLE READER", None), ("TABLE READER", None)]
    assert ("JOIN", 500) in found


def test_what_asks_a_subquery_is_not_told(connection: Connection) -> None:
    """The engine makes a join of it."""
    found = explained_rows(connection, "select a from t where exists (select 1 from u where k = b and v > 5) or a < 3")
    assert found[0] == ("FINAL", 2002)
    assert all(rows is None for name, rows in found[1:] if name == "EVALUATOR")


def test_what_is_not_run_is_not_told(connection: Connection) -> None:
    """Statistics exclude all files of the one table."""
    found = explained_rows(connection, "select a from t where a > 100000 union all select k from u")
    assert found[0] == ("FINAL", 20)
    assert [rows for name, rows in found if name == "TABLE READER"] == [None, 20]


def test_cursors_that_were_profiled_are_not_used_again(connection: Connection) -> None:
    for _ in range(3):
        explained_rows(connection, "select b, count(*) from t group by b")
        assert len(connection.execute("select b, count(*) from t group by b").fetchall()) == 10


def _told(connection: Connection, options: str) -> str:
    return "\n".join(line for (line,) in connection.execute(f"explain ({options}) select a from t".encode()))


def test_summary_and_timing(connection: Connection) -> None:
    assert "Planning Time" not in _told(connection, "costs off")
    assert "Planning Time" in _told(connection, "summary")
    assert "Execution Time" in _told(connection, "analyze, buffers")
    assert "Time" not in _told(connection, "analyze, summary off")
    assert "First Batch" not in _told(connection, "analyze, timing off")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="EXPLAIN option TIMING requires ANALYZE"):
        _told(connection, "timing")


def test_a_tree_travels_as_counters() -> None:
    leaves = (Operator("TABLE_SCAN", 7, "r1"), Operator("FILTER", 3, "", (Operator("TABLE_SCAN", 4, "given"),)))
    whole = Operator("PROJECTION", 5, "", (Operator("HASH_JOIN", 5, "", leaves),))
    analysis = analysis_of(counters(whole, "operator.2.1"), {})
    assert analysis.operators == {(2, 1): whole}
    assert tree([Line(1, 0, "FILTER", "", 3)]) is None

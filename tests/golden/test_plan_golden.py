"""The logical plans of statements, as bound and after the optimizer passes, as EXPLAIN prints them: one golden file for
each statement.

The difference between the two plans of a file shows the passes' work: conditions that were pushed down to a reader,
columns that are no longer read, sorts that were added for an ordering requirement or removed because they have no
visible effect.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from support.binding_ground import TestCatalog, bind

from benchmarks.tpch_queries import queries
from engine.planner.explain.logical import text_lines
from engine.planner.planner import optimise

STATEMENTS: Final = {
    "filter_reaches_both_readers": "select n_name from nation join region on n_regionkey = r_regionkey and r_name = 'ASIA'"
    " where n_nationkey > 3",
    "filter_stays_above_an_outer_join": "select n_name from nation left join region on n_regionkey = r_regionkey"
    " where r_name = 'ASIA' and n_nationkey > 3",
    "filter_with_a_subquery_stays": "select n_name from nation where n_regionkey in (select r_regionkey from region)"
    " and n_nationkey < 7",
    "volatile_filter_stays": "select n_name from nation where random() < 0.5 and n_nationkey < 7",
    "columns_that_nobody_reads": "select count(*) from (select *, l_quantity * 2 as twice from lineitem) as l",
    "column_that_is_a_filter": "select b.n from (select n_nationkey > 3 as f, n_name as n, n_comment from nation) as b"
    " where b.f",
    "columns_of_a_union": "select a from (select n_name as a, n_comment as b from nation"
    " union all select r_name, r_comment from region) as u",
    "columns_of_a_cte": "with l as (select * from lineitem) select max(l_shipdate) from l",
    "sort_for_an_order_by": "select n_name from nation order by n_regionkey desc, n_name",
    "sort_below_a_limit": "select n_name from nation order by n_name limit 3 offset 1",
    "sort_that_is_there_already": "select * from (select n_name from nation order by n_name limit 5) as n order by n_name",
    "sort_that_nobody_can_tell": "select count(*) from (select n_name from nation order by n_name) as n",
    "sort_that_an_aggregate_can_tell": "select array_agg(n_name) from (select n_name from nation order by n_comment) as n",
    "sort_below_a_join": "select * from (select n_regionkey from nation order by n_name) as n, region",
    "ordered_union": "select n_name from nation union select r_name from region order by 1",
    "distinct_on": "select distinct on (n_regionkey) n_regionkey, n_name from nation order by n_regionkey, n_name desc",
    "sets_run_over_rows_in_order": "select n_name, generate_series(1, n_regionkey) from nation order by n_regionkey, n_nationkey"
    " limit 7",
    "sets_run_over_the_first_rows": "select distinct on (n_regionkey) unnest(array[1, 2]), n_name from nation"
    " order by n_regionkey, n_name desc",
    "sets_that_are_sorted_by": "select n_name, unnest(array[2, 1]) as u from nation order by n_regionkey, u",
    "window_over_an_aggregate": "select o_orderdate, sum(count(*)) over (order by o_orderdate) from orders group by 1"
    " order by 1",
    "grouping_sets": "select n_regionkey, n_name, count(*), grouping(n_name) from nation"
    " group by rollup (n_regionkey, n_name) having count(*) > 1",
    "correlated_subquery": "select r_name, (select count(*) from nation where n_regionkey = r_regionkey) from region",
    "lateral": "select r_name, n.name from region, lateral (select max(n_name) as name from nation"
    " where n_regionkey = r_regionkey) as n",
    "recursive": "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t",
    "view": "select name from asia where n_nationkey = 4",
}


def _golden_plan(sql: str) -> str:
    bound = bind(sql, TestCatalog())
    parts = [sql.strip(), "", "-- as bound", *text_lines(bound.plan), "", "-- after the passes"]
    return "\n".join([*parts, *text_lines(optimise(bound.plan))])


@pytest.mark.parametrize("name", STATEMENTS)
def test_plan(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"plans/{name}.txt", _golden_plan(STATEMENTS[name]))


@pytest.mark.parametrize("name", queries())
def test_plan_of_tpch(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"plans/tpch/{name}.txt", _golden_plan(queries()[name]))


def test_every_golden_plan_is_of_a_statement() -> None:
    folder = Path(__file__).parent / "plans"
    assert {file.stem for file in folder.glob("*.txt")} == set(STATEMENTS)
    assert {file.stem for file in (folder / "tpch").glob("*.txt")} == set(queries())

"""Queries bound to plans: shapes that the comparison with PostgreSQL cannot see (`tests/differential/
test_describe_like_postgres.py` compares names, types and errors)."""

from __future__ import annotations

from typing import TypeVar

import pytest
from support.binding_ground import TestCatalog, bind

from engine.common.interrupts import StatementWork, work_scope
from engine.plan_ir.expr import AggregateCall, And, Call, Coalesce, ColumnRef, Node, Subquery, WindowCall
from engine.plan_ir.free_columns import free_columns
from engine.plan_ir.logical import (
    Aggregator,
    CteReader,
    DistinctOn,
    Evaluator,
    FunctionScan,
    Join,
    Limit,
    ProjectSet,
    Root,
    SetOperation,
    TableReader,
    Values,
    Window,
    With,
)
from engine.plan_ir.rewrite import walk_all
from wire.errors import FeatureNotSupported, SqlError, StatementTooComplex, UndefinedColumn
from wire.types import pg_types as t

NodeT = TypeVar("NodeT", bound=Node)


@pytest.fixture(scope="module")
def catalog() -> TestCatalog:
    return TestCatalog()


def every(plan: Node, kind: type[NodeT]) -> list[NodeT]:
    return [node for node in walk_all(plan) if isinstance(node, kind)]


def only(plan: Node, kind: type[NodeT]) -> NodeT:
    (found,) = every(plan, kind)
    return found


def column_ids_are_unique(plan: Node) -> None:
    """Every column is made by one node and then only passed on."""
    made: set[int] = set()
    for node in walk_all(plan):
        below = {c.id for child in node.inputs() for c in child.columns}
        for column in node.columns:
            if column.id not in below:
                assert column.id not in made, f"column {column} is made twice"
                made.add(column.id)


QUERIES = [
    "select l_returnflag, l_linestatus, sum(l_quantity) as q, avg(l_discount), count(*) from lineitem"
    " where l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus"
    " order by l_returnflag, l_linestatus",
    "select o_orderpriority, count(*) from orders where exists (select * from lineitem where l_orderkey = o_orderkey"
    " and l_commitdate < l_receiptdate) group by o_orderpriority order by 1",
    "with revenue (no, total) as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) from lineitem group by 1)"
    " select s_name, total from supplier, revenue where s_suppkey = no and total = (select max(total) from revenue)",
    "select c_count, count(*) from (select c_custkey, count(o_orderkey) from customer left join orders on"
    " c_custkey = o_custkey and o_comment not like '%special%' group by c_custkey) as o (c_custkey, c_count)"
    " group by c_count order by 2 desc, 1 desc",
    "select s_name from supplier, nation where s_suppkey in (select ps_suppkey from partsupp where ps_availqty >"
    " (select 0.5 * sum(l_quantity) from lineitem where l_partkey = ps_partkey and l_suppkey = ps_suppkey))"
    " and s_nationkey = n_nationkey order by s_name",
    "select n_name, r.* from nation join lateral (select * from region where r_regionkey = n_regionkey) r on true",
    "select n_regionkey, count(*), grouping(n_regionkey) from nation group by cube (n_regionkey, n_name)",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select * from t a, t b",
    "select distinct on (n_regionkey) n_name from nation order by n_regionkey, n_nationkey desc",
    "select unnest(array[1, 2]), rank() over (order by count(*)) from nation group by n_name",
    "select * from asia_count, asia",
    "select (select max(r_regionkey + n_nationkey) from nation) from region",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_plans_are_closed_and_their_columns_unique(catalog: TestCatalog, sql: str) -> None:
    plan = bind(sql, catalog).plan
    assert isinstance(plan, Root)
    assert not free_columns(plan)
    column_ids_are_unique(plan)


def test_a_sort_key_outside_the_select_list_is_a_hidden_column(catalog: TestCatalog) -> None:
    plan = bind("select n_name from nation order by n_regionkey desc, upper(n_name)", catalog).plan
    assert [c.name for c in plan.columns] == ["n_name"]
    assert len(plan.input.columns) == 3
    first, second = plan.requirement
    assert (first.column, first.descending, first.nulls_first) == (plan.input.columns[1], True, True)
    assert (second.column, second.descending, second.nulls_first) == (plan.input.columns[2], False, False)


def test_a_sort_key_in_the_select_list_is_its_column(catalog: TestCatalog) -> None:
    for key in ("1", "a", "n_regionkey + 1"):
        plan = bind(f"select n_regionkey + 1 as a from nation order by {key}", catalog).plan
        assert [k.column for k in plan.requirement] == list(plan.input.columns)


def test_a_subquery_states_its_order_and_hides_its_keys(catalog: TestCatalog) -> None:
    plan = bind("select * from (select n_name from nation order by n_regionkey) x", catalog).plan
    limit = only(plan, Limit)
    assert limit.count is limit.offset is None
    assert [c.name for c in limit.columns] == ["n_name"]
    assert limit.requirement[0].column not in limit.columns


def test_limit_keeps_the_requirement(catalog: TestCatalog) -> None:
    plan = bind("select n_name from nation order by n_name limit 3 offset $1", catalog)
    limit = only(plan.plan, Limit)
    assert limit.requirement == plan.plan.requirement
    assert plan.parameters == (t.INT8,)


def test_conditions_are_one_evaluator_with_the_select_list(catalog: TestCatalog) -> None:
    plan = bind("select n_name from nation where n_regionkey = 1", catalog).plan
    assert isinstance(plan.input, Evaluator)
    assert isinstance(plan.input.input, TableReader)
    assert plan.input.filter is not None


def test_group_keys_that_are_columns_are_taken_as_they_are(catalog: TestCatalog) -> None:
    aggregator = only(bind("select n_regionkey, count(*) from nation group by 1", catalog).plan, Aggregator)
    assert isinstance(aggregator.input, TableReader)
    assert [c.name for c in aggregator.group] == ["n_regionkey"]


def test_group_keys_that_are_computed_get_a_column(catalog: TestCatalog) -> None:
    aggregator = only(bind("select n_regionkey % 2, sum(n_nationkey) from nation group by 1", catalog).plan, Aggregator)
    assert isinstance(aggregator.input, Evaluator)
    assert aggregator.group == aggregator.input.columns[-1:]


def test_an_aggregate_is_computed_once(catalog: TestCatalog) -> None:
    sql = "select sum(n_nationkey), sum(n_nationkey) + 1 from nation having sum(n_nationkey) > 2 order by sum(n_nationkey)"
    aggregator = only(bind(sql, catalog).plan, Aggregator)
    assert len(aggregator.aggregates) == 1
    assert aggregator.filter is not None


def test_a_relabelled_group_key_is_still_the_key(catalog: TestCatalog) -> None:
    bind("select upper(n_name), n_name::text from nation group by n_name", catalog)
    with pytest.raises(SqlError, match="must appear in the GROUP BY clause"):
        bind("select n_nationkey::numeric(10,2)::text from nation group by n_nationkey::numeric(10,3)", catalog)


def test_grouping_sets_are_expanded(catalog: TestCatalog) -> None:
    sql = "select count(*) from nation group by n_name, rollup (n_regionkey, (n_nationkey, n_comment))"
    aggregator = only(bind(sql, catalog).plan, Aggregator)
    assert aggregator.grouping_sets == ((0, 1, 2, 3), (0, 1), (0,))
    sql = "select count(*) from nation group by distinct cube (n_name, n_regionkey), rollup (n_name)"
    aggregator = only(bind(sql, catalog).plan, Aggregator)
    assert aggregator.grouping_sets is not None
    assert [set(s) for s in aggregator.grouping_sets] == [{0, 1}, {0}, {1}, set()]


@pytest.mark.parametrize(
    "grouped",
    [
        "select 1 as x, r_name from region group by grouping sets (1, 2)",
        "select r_name as a, r_name as b from region group by a, rollup (b)",
    ],
)
def test_grouping_sets_that_cannot_tell_their_keys_are_refused(catalog: TestCatalog, grouped: str) -> None:
    """A set that leaves such a key out has null for it, and the constant or the other column beside it has not."""
    with pytest.raises(FeatureNotSupported, match="grouping sets of"):
        bind(grouped, catalog)


def test_an_aggregate_belongs_to_the_level_whose_columns_it_reads(catalog: TestCatalog) -> None:
    plan = bind("select (select max(r_regionkey) from nation limit 1) from region", catalog).plan
    aggregator = only(plan, Aggregator)
    assert isinstance(aggregator.input, TableReader)
    assert aggregator.input.table.name == "region"
    plan = bind("select (select max(r_regionkey + n_nationkey) from nation limit 1) from region", catalog).plan
    aggregator = only(plan, Aggregator)
    assert isinstance(aggregator.input, TableReader)
    assert aggregator.input.table.name == "nation"


def test_an_aggregate_over_a_window_stays_in_the_window(catalog: TestCatalog) -> None:
    plan = bind("select sum(count(*)) over (order by n_regionkey) from nation group by n_regionkey", catalog).plan
    window = only(plan, Window)
    (call,) = window.calls
    assert isinstance(call, WindowCall)
    assert isinstance(call.call, AggregateCall)
    assert isinstance(call.call.args[0], ColumnRef)
    assert len(only(plan, Aggregator).aggregates) == 1


def test_using_merges_columns(catalog: TestCatalog) -> None:
    inner = bind("select n_nationkey from nation a join nation b using (n_nationkey)", catalog).plan
    join = only(inner, Join)
    assert join.kind == "inner"
    assert isinstance(join.condition, Call)
    full = bind("select n_nationkey from nation a full join nation b using (n_nationkey, n_name)", catalog).plan
    assert isinstance(only(full, Join).condition, And)
    (evaluator,) = every(full, Evaluator)
    assert isinstance(evaluator.emit[0], Coalesce)


def test_joins_are_lateral_only_where_the_right_side_looks_left(catalog: TestCatalog) -> None:
    (join,) = every(bind("select 1 from nation, lateral (select 2) x", catalog).plan, Join)
    assert (join.kind, join.lateral, join.condition) == ("cross", False, None)
    (join,) = every(bind("select 1 from nation left join lateral (select n_name) x on true", catalog).plan, Join)
    assert (join.kind, join.lateral) == ("left", True)
    (join,) = every(bind("select 1 from nation, generate_series(1, n_nationkey)", catalog).plan, Join)
    assert join.lateral


def test_a_cte_read_once_is_put_in_place(catalog: TestCatalog) -> None:
    plan = bind("with a as (select n_name from nation) select * from a", catalog).plan
    assert not every(plan, With)
    assert not every(plan, CteReader)


def test_a_cte_read_twice_or_materialized_is_kept(catalog: TestCatalog) -> None:
    plan = bind("with a as (select n_name from nation) select * from a x, a y", catalog).plan
    assert len(only(plan, With).ctes) == 1
    assert len(every(plan, TableReader)) == 1
    assert every(bind("with a as materialized (select 1) select * from a", catalog).plan, With)


def test_a_cte_that_nobody_reads_is_only_checked(catalog: TestCatalog) -> None:
    assert not every(bind("with a as (select n_name from nation) select 1", catalog).plan, TableReader)
    with pytest.raises(UndefinedColumn):
        bind("with a as (select nosuch from nation) select 1", catalog)


def test_ctes_that_read_one_another(catalog: TestCatalog) -> None:
    plan = bind(
        "with a as (select 1 x), b as (select * from a), c as (select * from b), d as (select * from c, c as c2),"
        " unread as (select * from d), e as (select * from d) select * from e",
        catalog,
    ).plan
    (kept,) = only(plan, With).ctes
    assert not every(kept.plan, CteReader)
    assert [reader.cte for reader in every(plan, CteReader)] == [kept.id] * 2


def test_each_cte_is_walked_once(catalog: TestCatalog) -> None:
    """Each of a chain that is put in place is a part of the next one."""

    def steps(length: int) -> int:
        links = ", ".join(f"a{i} as (select * from a{i - 1})" for i in range(1, length))
        with work_scope(work := StatementWork()):
            bind(f"with a0 as (select 1 x), {links} select * from a{length - 1}", catalog)
        return work.steps

    assert steps(400) < 3 * steps(200)


def test_a_recursive_cte(catalog: TestCatalog) -> None:
    plan = bind("with recursive t(n) as (select 1 union select n + 1 from t where n < 5) select n from t", catalog).plan
    (cte,) = only(plan, With).ctes
    assert cte.step is not None
    assert not cte.union_all
    (reader,) = every(cte.step, CteReader)
    assert reader.cte == cte.id
    assert [c.type.pg for c in cte.plan.columns] == [t.INT4]


def test_numerics_in_recursion_take_the_digits_they_need(catalog: TestCatalog) -> None:
    sql = "with recursive t(n) as (select 1.5 union all select n + 1 from t where n < 5) select n from t"
    (column,) = bind(sql, catalog).plan.columns
    assert (column.type.precision, column.type.scale) == (38, 1)
    with pytest.raises(FeatureNotSupported, match="grow digits"):
        bind("with recursive t(n) as (select 1.5 union all select n * 1.5 from t where n < 5) select n from t", catalog)


def test_set_operations_cast_their_branches(catalog: TestCatalog) -> None:
    plan = bind("select n_nationkey from nation union all select s_acctbal from supplier", catalog).plan
    operation = only(plan, SetOperation)
    assert operation.all
    for branch in (operation.left, operation.right):
        assert [c.type.pg for c in branch.columns] == [t.NUMERIC]
    assert operation.left.columns[0].type.scale == operation.right.columns[0].type.scale


def test_a_literal_in_a_branch_takes_the_other_branches_type(catalog: TestCatalog) -> None:
    operation = only(bind("select '1' union select 2", catalog).plan, SetOperation)
    assert operation.columns[0].type.pg is t.INT4


def test_distinct(catalog: TestCatalog) -> None:
    aggregator = only(bind("select distinct n_name, n_regionkey from nation", catalog).plan, Aggregator)
    assert aggregator.group == aggregator.columns == aggregator.input.columns
    node = only(bind("select distinct on (n_regionkey) n_name from nation", catalog).plan, DistinctOn)
    assert node.order[0].column == node.keys[0]


def test_set_returning_functions_nest(catalog: TestCatalog) -> None:
    plan = bind("select generate_series(1, generate_series(1, 2)), unnest(array[1]) + 1", catalog).plan
    outer, inner = every(plan, ProjectSet)
    assert outer.input is inner
    assert sum(isinstance(e, Call) for e in inner.emit) == 2
    assert sum(isinstance(e, Call) for e in outer.emit) == 1


def test_functions_in_from(catalog: TestCatalog) -> None:
    scan = only(
        bind("select * from unnest(array[1], array['a']) with ordinality u(a, b, c)", catalog).plan, FunctionScan
    )
    assert scan.ordinality
    assert [c.type.pg for c in scan.columns] == [t.INT4, t.TEXT, t.INT8]
    assert not every(bind("select * from upper('x')", catalog).plan, FunctionScan)


def test_views_are_put_in_place_and_own_their_columns(catalog: TestCatalog) -> None:
    bound = bind("select name from asia where n_nationkey = 3", catalog)
    assert only(bound.plan, TableReader).table.name == "nation"
    assert (bound.columns[0].table_oid, bound.columns[0].attribute) == (catalog.relations["asia"].oid, 2)


def test_an_error_in_a_view_has_no_place_in_the_statement(catalog: TestCatalog) -> None:
    gone = catalog.relations.pop("nation")
    try:
        with pytest.raises(SqlError) as caught:
            bind("select * from asia", catalog)
    finally:
        catalog.relations["nation"] = gone
    assert (caught.value.message, caught.value.position) == ('relation "nation" does not exist', None)


def test_a_view_is_bound_in_its_own_surroundings(catalog: TestCatalog) -> None:
    bound = bind("with nation as (select 1) select * from asia, nation", catalog)
    assert only(bound.plan, TableReader).table.name == "nation"


def test_origins_follow_columns_through_subqueries_and_groups(catalog: TestCatalog) -> None:
    oid = catalog.relations["nation"].oid
    for sql in (
        "select n_name from (select * from nation) x",
        "with a as (select n_name from nation) select n_name from a",
        "select n_name from nation group by n_name",
        "select distinct n_name from nation order by 1 limit 3",
    ):
        (column,) = bind(sql, catalog).columns
        assert (column.table_oid, column.attribute) == (oid, 2)


def test_correlated_subqueries_have_free_columns(catalog: TestCatalog) -> None:
    plan = bind("select (select r_name from region where r_regionkey = n_regionkey) from nation", catalog).plan
    assert isinstance(plan.input, Evaluator)
    (subquery,) = plan.input.emit
    assert isinstance(subquery, Subquery)
    assert [c.name for c in free_columns(subquery.plan)] == ["n_regionkey"]


def test_select_without_from(catalog: TestCatalog) -> None:
    values = only(bind("select 1", catalog).plan, Values)
    assert (values.columns, values.rows) == ((), ((),))


def test_deep_statements(catalog: TestCatalog) -> None:
    bind("select 1 from nation where " + " or ".join(f"n_nationkey = {i}" for i in range(1000)), catalog)
    bind("select * from " + "(select * from " * 100 + "nation" + ") x" * 100, catalog)
    with pytest.raises(StatementTooComplex):
        bind("select " + "+".join("1" for _ in range(20000)), catalog)

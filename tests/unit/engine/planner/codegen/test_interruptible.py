"""The inputs that check whether their Spark task was killed: those of joins without an equality, and no others."""

from __future__ import annotations

import pytest
from support.binding_ground import TestCatalog, bind

from engine.planner.codegen import Bindings, compile_plan, to_sql
from engine.planner.planner import optimise


@pytest.mark.parametrize(
    ("sql", "looking"),
    [
        ("select 1 from nation join region on n_regionkey = r_regionkey", 0),
        ("select 1 from nation, region where n_regionkey = r_regionkey and n_name < r_name", 0),
        ("select 1 from nation, region where n_name < r_name", 2),
        ("select 1 from nation cross join region", 2),
        ("select 1 from nation, region, customer where n_regionkey = r_regionkey", 3),
        ("select 1 from nation, region, customer where n_regionkey = r_regionkey and c_nationkey + 1 = n_nationkey", 0),
        ("select 1 from nation, region, customer where n_regionkey + r_regionkey = c_nationkey", 0),
        (
            "select 1 from nation, region where (n_regionkey = r_regionkey and n_name = 'a')"
            " or (n_regionkey = r_regionkey and n_name = 'b')",
            0,
        ),
        ("select 1 from nation, region where n_regionkey = r_regionkey or n_name = r_name", 2),
        ("select 1 from nation, region where n_regionkey is not distinct from r_regionkey", 0),
        ("select 1 from nation left join region on n_name < r_name", 2),
        ("select 1 from nation left join region on n_name < r_name and n_regionkey = r_regionkey", 0),
        # An equality above an outer join does not connect its sides.
        ("select 1 from nation left join region on n_name < r_name where n_regionkey = r_regionkey", 2),
        ("select 1 from nation where exists (select from region where r_regionkey = n_regionkey)", 0),
        ("select 1 from nation where exists (select from region where r_name < n_name)", 1),
        ("select 1 from nation where exists (select from region)", 0),
        ("select 1 from nation where n_regionkey not in (select r_regionkey from region)", 0),
        ("select 1 from nation where n_regionkey > all (select r_regionkey from region)", 1),
        # One row, or those that the statement spells out, are few.
        ("select 1 from nation, (select count(*) from region) as r", 1),
        ("select 1 from nation, (values (1), (2)) as v", 1),
    ],
)
def test_inputs_that_look(sql: str, looking: int) -> None:
    plan = optimise(bind(sql, TestCatalog()).plan)
    fragment = compile_plan(plan, "spark", Bindings())
    assert to_sql(fragment.statement, "spark").count("JAVA_METHOD") == looking
    assert "JAVA_METHOD" not in to_sql(compile_plan(plan, "local", Bindings()).statement, "local")

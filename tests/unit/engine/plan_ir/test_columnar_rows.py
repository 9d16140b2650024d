"""Many rows of VALUES become data if each of their columns has constants of one type."""

from __future__ import annotations

from decimal import Decimal

from support.binding_ground import TestCatalog, bind

from engine.plan_ir.columnar_rows import MANY, ColumnarRows
from engine.plan_ir.expr import Const
from engine.plan_ir.logical import Values
from engine.plan_ir.rewrite import walk_all


def _values(*rows: str) -> Values:
    plan = bind(f"values {', '.join(rows)}", TestCatalog()).plan
    return next(node for node in walk_all(plan) if isinstance(node, Values))


def test_many_rows_of_constants_are_data() -> None:
    plan = _values(*(f"({i}, 'a{i}', {i}.5, null)" for i in range(MANY)))
    assert isinstance(plan.rows, ColumnarRows)
    assert plan.rows.is_data
    assert [cell.value for cell in plan.rows[3] if isinstance(cell, Const)] == [3, "a3", Decimal("3.5"), None]
    assert [cell.type for cell in plan.rows[3]] == [column.type for column in plan.columns]


def test_few_rows_stay_expressions() -> None:
    assert isinstance(_values("(1, 'a')", "(2, 'b')").rows, tuple)


def test_one_computed_value_keeps_all_rows_expressions() -> None:
    rows = _values(*(f"({i})" for i in range(MANY)), "((select 1))").rows
    assert isinstance(rows, tuple)
    assert len(rows) == MANY + 1

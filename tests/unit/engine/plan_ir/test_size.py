"""The size of a plan, by which it is decided where it is compiled."""

from __future__ import annotations

from support.binding_ground import TestCatalog, bind

from engine.plan_ir.rewrite import size
from engine.runtime.planning_pool import SHORT_NODES


def test_a_long_constant_is_work_for_a_thread() -> None:
    """Its function may read it when it is compiled: this pattern takes a second."""
    pattern = "|".join(f"x{i}" for i in range(50_000))
    assert size(bind(f"select 'a' ~ '{pattern}'", TestCatalog()).plan) > SHORT_NODES
    assert size(bind("select 'a' ~ 'x1|x2'", TestCatalog()).plan) < 10

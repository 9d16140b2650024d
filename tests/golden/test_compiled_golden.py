"""The SQL to which plans compile, for both engines, for people to read: one golden file for each plan."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.compiled_plans import CASES, Data

from engine.contracts.query_id import EngineName
from engine.planner.codegen import Bindings, Unsupported, compile_plan, to_sql


def _sql(name: str, engine: EngineName) -> str:
    try:
        fragment = compile_plan(CASES[name].build(Data()), engine, Bindings({1: 2, 2: 1}))
    except Unsupported as lacking:
        return f"not supported: {lacking.what}"
    return to_sql(fragment.statement, engine, pretty=True)


@pytest.mark.parametrize("name", CASES)
def test_compiled(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"compiled/{name}.sql", f"-- local\n{_sql(name, 'local')}\n\n-- spark\n{_sql(name, 'spark')}")

"""Plans as statements: one sqlglot tree for DuckDB or Spark from a logical plan.

    fragment = compile_plan(plan, "local", Bindings(parameters={1: 41}))
    to_sql(fragment.statement, "local")

The compiler raises `Unsupported` for what an engine cannot do; the planner then tries the other engine.
"""

from engine.planner.codegen.fragment import compile_plan
from engine.planner.codegen.scope import Bindings
from engine.sql.trees.dialects import to_sql
from engine.sql.trees.unsupported import Unsupported

__all__ = ["Bindings", "Unsupported", "compile_plan", "to_sql"]

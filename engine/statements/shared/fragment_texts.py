"""The SQL of a compiled query's fragments, for EXPLAIN (VERBOSE)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.plan_ir.spec import SharedSpec
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices


def fragment_texts(query: CompiledQuery, engine: EngineServices) -> Mapping[int, str]:
    """Return the SQL that the engines receive, by fragment."""
    if not isinstance(query.runs, DistributedQuery):
        return {1: engine.executors.find(query.choice.engine).sql(query.runs)}
    shared = SharedSpec.decode(query.runs.shared)
    return {fragment.id: fragment.statement for fragment in shared.fragments if fragment.statement is not None}

"""Compiling a query where nobody else has to wait for it.

A plan of ordinary size is compiled within a millisecond, at once. What drivers ask of the system catalog has some hundred nodes,
with functions that become long expressions, and takes tens of milliseconds; one of tens of thousands, from a statement with a long
list of values or a thousand conditions, tenths of a second. The loop would answer nobody meanwhile: such a plan goes to an
operation thread, and so does the text that its engine will ask for. So does one with long values of parameters, each of which
becomes a part of it.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from engine.common.depth import bounded_depth
from engine.common.value_sizes import are_long
from engine.contracts.mesh import MembersNow
from engine.plan_ir import logical
from engine.plan_ir.physical import StagedChange
from engine.plan_ir.rewrite import size
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.runtime.planning_pool import SHORT_NODES
from engine.sql.trees.printed import print_statement
from engine.statements.shared.distribution import CompiledQuery, Terms, compile_query

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices

#: At the most five milliseconds or so, where most of them are calls of the system's functions.
_HERE_NODES: Final = 150


async def compile_aside(
    engine: EngineServices,
    plan: logical.Root,
    terms: Terms,
    bindings: Bindings,
    *,
    analyze: bool = False,
    change: StagedChange | None = None,
    nodes: int | None = None,
) -> CompiledQuery:
    """`compile_query` for the members that are there now. nodes: how many the plan has, where that is known."""
    compile_now = functools.partial(
        compile_query, plan, terms, bindings, MembersNow.of(engine.mesh), engine.config.topology,
        analyze=analyze, change=change,
    )  # fmt: skip
    if nodes is None:
        nodes = await engine.planning.run(functools.partial(size, plan))
    if nodes <= _HERE_NODES and not are_long(bindings.parameters.values()):
        with bounded_depth():
            return compile_now()

    def compile_with_text() -> CompiledQuery:
        with bounded_depth():
            query = compile_now()
            if not isinstance(query.runs, CompiledFragment):
                return query
            runs = query.runs
            return replace(query, runs=replace(runs, printed=print_statement(runs.statement, runs.engine)))

    query = await engine.planning.run(compile_with_text, long=nodes > SHORT_NODES)
    if nodes > SHORT_NODES and isinstance(query.runs, CompiledFragment):
        engine.planning.dispose_with(query.runs, [query.runs.statement], nodes, cached=True)
    return query

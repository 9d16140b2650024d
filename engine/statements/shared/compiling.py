"""Compiles a query without blocking other sessions.

A plan of ordinary size is compiled at once, within a millisecond. A driver's query of the system catalog has some
hundred nodes, with functions that become long expressions, and takes tens of milliseconds; a plan of tens of thousands
of nodes, from a statement with a long list of values or a thousand conditions, takes tenths of a second. The event loop
would answer no client during that time, so such a plan is compiled on an operation thread, and so is the text that its
engine will need. The same applies to a plan over many files, whose footers may have to be read, to one over
files that are not on local disks, and to one with long parameter values, each of which becomes a part of the plan.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.catalog.model.objects import Table
from engine.common.depth import bounded_depth
from engine.common.value_sizes import are_long
from engine.contracts.mesh import MembersNow
from engine.lakes.local_disks import are_local, look_up, paths_of
from engine.plan_ir import logical
from engine.plan_ir.physical import StagedChange
from engine.plan_ir.rewrite import size, walk_all
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.runtime.planning_pool import SHORT_NODES
from engine.sql.trees.printed import print_statement
from engine.statements.shared.distribution import CompiledQuery, compile_query
from engine.statements.shared.terms import Terms

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices

#: Compiling so many nodes takes five milliseconds at most, or so, if most of them are calls of system functions.
_HERE_NODES: Final = 150
#: The number of files above which reading their footers and compiling their names is left to a thread.
_HERE_FILES: Final = 32


class PlanSizes(NamedTuple):
    """The sizes of a plan: the number of its nodes, and the number of its tables' files. paths: those that compiling it
    looks at.
    """

    nodes: int
    files: int
    paths: tuple[str, ...]


def sizes_of(plan: logical.Root) -> PlanSizes:
    """Count the nodes of a plan, and the files of its tables. May block."""
    readers = [node.table for node in walk_all(plan) if isinstance(node, logical.TableReader)]
    tables = [table for table in readers if isinstance(table, Table)]
    paths = paths_of(tables)
    look_up(paths)
    return PlanSizes(size(plan), sum(len(table.files) for table in tables), paths)


async def compile_aside(
    engine: EngineServices,
    plan: logical.Root,
    terms: Terms,
    bindings: Bindings,
    *,
    analyze: bool = False,
    change: StagedChange | None = None,
    sizes: PlanSizes | None = None,
) -> CompiledQuery:
    """Run `compile_query` for the members that are up now, without blocking other sessions. sizes: those of the plan,
    if they are known.
    """
    compile_now = functools.partial(
        compile_query, plan, terms, bindings, MembersNow.of(engine.mesh), engine.config.topology,
        analyze=analyze, change=change,
    )  # fmt: skip
    if sizes is None:
        sizes = await engine.planning.run(functools.partial(sizes_of, plan))
    nodes = sizes.nodes
    is_short = nodes <= _HERE_NODES and sizes.files <= _HERE_FILES and not are_long(bindings.parameters.values())
    if is_short and are_local(sizes.paths):
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
    if isinstance(query.runs, CompiledFragment):
        # The statement may have many times the plan's nodes, and would be garbage that only collections find.
        engine.planning.dispose_with(query.runs, [query.runs.statement], nodes, cached=True)
    return query

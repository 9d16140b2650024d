"""How many rows each node gives, beside its name in EXPLAIN: as estimated, and with ANALYZE as counted.

Counted is what crosses a boundary that is ours: what the client would get, what a fragment gives out, what an edge brings. Between
two of those an engine runs one statement, and what it counts there it counts by operators of its own plan, which are not these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.plan.cardinality import Estimator
from engine.plan.explain import Annotate, Described
from engine.plan.explain_physical import PhysicalAnalysis
from engine.plan.logical import Final, Mutate, Node
from engine.plan.physical import PhysicalPlan, Receive


def rows_of_plan(plan: Node, parameters: Mapping[int, Any], counted: int | None, *, costs: bool) -> Annotate:
    """Of a logical plan. parameters: canonical values by number. counted: rows of its result, or that were changed.
    costs: EXPLAIN's option of that name: whether estimates are told."""
    estimator = Estimator(parameters, root=plan)

    def told(node: Node, described: Described) -> Described:
        actual = counted if isinstance(node, (Final, Mutate)) else None
        return _with_rows(node, described, estimator if costs else None, actual)

    return told


def rows_of_physical(
    plan: PhysicalPlan, parameters: Mapping[int, Any], analysis: PhysicalAnalysis, *, costs: bool
) -> Annotate:
    """Of a physical plan: a node's rows are those of all its instances together."""
    estimator = Estimator(parameters, lambda node: plan.fragment(plan.edge(node.edge).source).root)
    counted = _counted(plan, analysis)

    def told(node: Node, described: Described) -> Described:
        actual = counted.get(id(node))
        if isinstance(node, Receive) and node.edge in analysis.edges:
            actual = analysis.edges[node.edge].rows
        return _with_rows(node, described, estimator if costs else None, actual)

    return told


def _counted(plan: PhysicalPlan, analysis: PhysicalAnalysis) -> dict[int, int]:
    """What each fragment gave out, by the `id()` of its uppermost node."""
    given: dict[int, int] = {}
    for (fragment, _), instance in analysis.instances.items():
        given[fragment] = given.get(fragment, 0) + instance.rows
    found = {id(plan.fragment(number).root): rows for number, rows in given.items()}
    total = analysis.totals.get("Rows")
    return found | {id(plan.root.root): total} if isinstance(total, int) else found


def _with_rows(node: Node, described: Described, estimator: Estimator | None, actual: int | None) -> Described:
    # A MUTATE's own rows are those of RETURNING; how many it changes its input does not tell.
    rows = None if estimator is None or isinstance(node, Mutate) else round(estimator.of(node).rows)
    return replace(described, rows=rows, actual=actual)

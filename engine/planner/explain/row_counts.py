"""The rows of each node, beside its name in EXPLAIN: the estimate, and with ANALYZE the count.

Counts come from the boundaries that are ours: the rows that the client would get, those that a fragment gives out,
those that an edge brings. Between two boundaries they come from the operators of the engine's own plan, where these can
be matched with ours (`engine.planner.explain.actual_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.contracts.profile import Operator, reader_source, table_source, with_sources
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Mutate, Root, TableReader
from engine.plan_ir.physical import Fragment, PhysicalPlan, Receive
from engine.plan_ir.rewrite import walk_all
from engine.planner.explain.actual_rows import actual_rows
from engine.planner.explain.logical import Annotate, Described
from engine.planner.explain.physical import PhysicalAnalysis
from engine.planner.optimizer.cardinality import Estimator


def rows_of_plan(
    plan: Node, parameters: Mapping[int, Any], counted: int | None, operators: Operator | None = None, *, costs: bool
) -> Annotate:
    """Annotate a logical plan with rows.

    parameters: canonical values by number. counted: rows of its result, or rows changed. operators: the engine's
    counters. costs: EXPLAIN's option of that name: whether estimates are shown.
    """
    estimator = Estimator(parameters, root=plan)
    known = {} if operators is None else actual_rows(plan, operators)

    def annotate(node: Node, described: Described) -> Described:
        actual = counted if isinstance(node, (Root, Mutate)) else known.get(id(node))
        return _with_rows(node, described, estimator if costs else None, actual)

    return annotate


def rows_of_physical(
    plan: PhysicalPlan, parameters: Mapping[int, Any], analysis: PhysicalAnalysis, *, costs: bool
) -> Annotate:
    """Annotate a physical plan with rows: a node's rows are those of all its instances together."""
    estimator = Estimator(parameters, lambda node: plan.fragment(plan.edge(node.edge).source).root)
    counted = _rows_by_node(plan, analysis)

    def annotate(node: Node, described: Described) -> Described:
        actual = counted.get(id(node))
        if isinstance(node, Receive) and node.edge in analysis.edges:
            actual = analysis.edges[node.edge].rows
        return _with_rows(node, described, estimator if costs else None, actual)

    return annotate


def _rows_by_node(plan: PhysicalPlan, analysis: PhysicalAnalysis) -> dict[int, int]:
    """Return the rows that each fragment gave out, by the `id()` of its uppermost node, and those known of other nodes."""
    inner: dict[int, int] = {}
    for fragment in plan.fragments:
        inner |= _inside(fragment, analysis)
    given: dict[int, int] = {}
    for (number, _), instance in analysis.instances.items():
        given[number] = given.get(number, 0) + instance.rows
    found = inner | {id(plan.fragment(number).root): rows for number, rows in given.items()}
    total = analysis.totals.get("Rows")
    return found | {id(plan.root.root): total} if isinstance(total, int) else found


def _inside(fragment: Fragment, analysis: PhysicalAnalysis) -> dict[int, int]:
    """Sum the rows of a fragment's operators over its instances, for the nodes that every executed instance has
    counted.
    """
    ran = [key for key, instance in analysis.instances.items() if key[0] == fragment.id and instance.executed]
    trees = [analysis.operators.get(key) for key in ran or ([(fragment.id, 0)] if fragment.output is None else [])]
    readers = {n.reader: n.table.oid for n in walk_all(fragment.root) if isinstance(n, TableReader) and n.reader}
    # DuckDB's counters name readers, Spark's name tables.
    tables = {
        source: table_source(oid)
        for reader, oid in readers.items()
        for source in (reader_source(reader), table_source(oid))
    }
    found = [
        {} if tree is None else actual_rows(fragment.root, with_sources(tree, lambda name: tables.get(name, "")))
        for tree in trees
    ]
    if not found:
        return {}
    known = set(found[0]).intersection(*found[1:])
    return {node: sum(rows[node] for rows in found) for node in known}


def _with_rows(node: Node, described: Described, estimator: Estimator | None, actual: int | None) -> Described:
    # A MUTATE's own rows are those of RETURNING; its input does not determine how many rows it changes.
    rows = None if estimator is None or isinstance(node, Mutate) else round(estimator.of(node).rows)
    return replace(described, rows=rows, actual=actual)

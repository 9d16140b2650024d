"""EXPLAIN: the plan in the RFC's terms, with the engine that runs it and the reason, as text or JSON.

A plan is printed as PostgreSQL prints one: consumers first, inputs indented under an arrow, properties below their
node. The golden plans in `tests/golden` consist of the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

import msgspec

from engine.catalog.model.objects import SystemTable, Table
from engine.plan_ir.expr import Column, ColumnRef, Expr, Node
from engine.plan_ir.logical import (
    FILE,
    ROW,
    Aggregator,
    CteReader,
    DistinctOn,
    Evaluator,
    FunctionScan,
    Join,
    Limit,
    Mutate,
    ProjectSet,
    Root,
    SetOperation,
    Sort,
    TableReader,
    Values,
    Window,
    With,
)
from engine.plan_ir.physical import Mutation, Receive
from engine.plan_ir.rewrite import subplans
from engine.planner.explain import describe
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Described:
    """A node ready to print: its name, properties in order, and the nodes below it. rows, actual: how many rows it
    gives, as estimated and as counted, where known.
    """

    name: str
    properties: Mapping[str, str | int]
    below: tuple[tuple[str, Described], ...] = ()
    rows: int | None = None
    actual: int | None = None

    @property
    def title(self) -> str:
        """The name with the rows, as PostgreSQL prints them."""
        told = f"  (rows={self.rows})" if self.rows is not None else ""
        if self.actual is None:
            return f"{self.name}{told}"
        return f"{self.name}{told or ' '} (actual rows={self.actual})"


@dataclass(frozen=True, slots=True)
class Summary:
    """Properties that EXPLAIN shows beside the tree. engine, reason: the engine that runs the fragment, and why.
    statement: the SQL given to the engine (VERBOSE). actual: counters of EXPLAIN ANALYZE by name, times in
    milliseconds.
    """

    engine: str
    reason: str
    statement: str | None = None
    actual: Mapping[str, float | int | str] = field(default_factory=dict)


#: Takes a node and its description, and returns a description with more details (or the same).
Annotate = Callable[[Node, Described], Described]


def as_it_is(node: Node, described: Described) -> Described:
    del node
    return described


def describe_plan(node: Node, annotate: Annotate = as_it_is) -> Described:
    """Return the plan as nested descriptions; plans of subqueries stand below the node that uses them."""
    below = tuple((label, describe_plan(child, annotate)) for label, child in _below(node))
    return annotate(node, Described(_NAMES[type(node)], dict(_properties(node)), below))


def _below(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the nodes below a node, each with its label."""
    if isinstance(node, With):
        for cte in node.ctes:
            yield f"CTE {cte.name}", cte.plan
            if cte.step is not None:
                yield f"CTE {cte.name}, recursive term", cte.step
        yield "", node.body
    elif isinstance(node, Mutate):
        yield "", node.input
        if node.located is not None:
            yield "Files to write anew", node.located
    else:
        yield from (("", child) for child in node.inputs())
    yield from (("SubPlan", plan) for plan in subplans(node))


_NAMES: dict[type[Node], str] = {
    TableReader: "TABLE READER",
    Values: "VALUES",
    FunctionScan: "FUNCTION SCAN",
    Evaluator: "EVALUATOR",
    ProjectSet: "PROJECT SET",
    Join: "JOIN",
    Aggregator: "AGGREGATOR",
    DistinctOn: "DISTINCT ON",
    Window: "WINDOW",
    SetOperation: "SET OPERATION",
    Sort: "SORT",
    Limit: "LIMIT",
    With: "WITH",
    CteReader: "CTE READER",
    Root: "FINAL",
    Receive: "RECEIVE",
    Mutate: "MUTATE",
    Mutation: "MUTATE",
}


def _properties(node: Node) -> Iterator[tuple[str, str | int]]:
    match node:
        case TableReader():
            yield _relation(node.table)
            yield "Columns", ", ".join(map(_place, node.names))
            yield from _filter("Filter", node.filter)
            if node.of_files is not None and isinstance(node.table, Table):
                yield "Files", f"{len(node.table.files)} of {node.of_files}"
            if node.guarantee:
                yield "Ordering guarantee", describe.ordering(node.guarantee)
        case Values():
            yield "Rows", str(len(node.rows))
        case FunctionScan():
            yield "Functions", ", ".join(describe.expression(c) for c in node.calls)
        case Evaluator():
            yield from _emit(node.columns, node.emit)
            yield from _filter("Filter", node.filter)
            if node.barrier:
                yield "Security barrier", "on"
        case ProjectSet():
            yield from _emit(node.columns, node.emit)
        case Join():
            yield "Kind", node.kind + (" lateral" if node.lateral else "")
            yield from _filter("Condition", node.condition)
        case Aggregator():
            yield from _grouping(node)
        case DistinctOn():
            yield "Group key", ", ".join(map(describe.column, node.keys))
            yield "Order", describe.ordering(node.order)
        case Window():
            yield "Calls", ", ".join(describe.expression(c) for c in node.calls)
        case SetOperation():
            yield "Kind", node.kind + (" all" if node.all else "")
        case Sort():
            yield "Key", describe.ordering(node.keys)
        case Limit():
            yield from _filter("Count", node.count)
            yield from _filter("Offset", node.offset)
            yield from _requirement(node)
        case CteReader():
            yield "CTE", node.name
        case Root():
            yield "Columns", ", ".join(map(describe.column, node.columns))
            yield from _requirement(node)
        case Receive():
            yield "Edge", node.edge
            yield "Columns", ", ".join(map(describe.column, node.columns))
        case Mutate():
            yield from _change(node)
        case Mutation():
            yield from _change(node.change.rules)


def _relation(table: Table | SystemTable) -> tuple[str, str]:
    """Return the relation that is read or changed, or the files that a path in FROM names."""
    if isinstance(table, Table) and not table.schema:
        return "File", table.path
    return "Table", f"{table.schema}.{table.name}"


def _place(name: str) -> str:
    """Return a file column's name; for the columns that give the file and the row's number, a name in parentheses."""
    return f"({name[1:]})" if name in (FILE, ROW) else name


def _change(node: Mutate) -> Iterator[tuple[str, str]]:
    yield "Kind", node.kind
    yield _relation(node.table)
    if node.keys:
        yield (
            "Keys checked",
            ", ".join(f"{key.name} ({', '.join(p.pretty or p.name for p in key.key_parts)})" for key in node.keys),
        )
    if node.checks:
        yield "Checks", ", ".join(check.name for check, _ in node.checks)
    if node.columns:
        yield "Returning", ", ".join(map(describe.column, node.columns))


def _filter(name: str, expr: Expr | None) -> Iterator[tuple[str, str]]:
    if expr is not None:
        yield name, describe.expression(expr)


def _emit(columns: tuple[Column, ...], emit: tuple[Expr, ...]) -> Iterator[tuple[str, str]]:
    computed = [
        f"{describe.expression(expr)} AS {describe.column(column)}"
        for column, expr in zip(columns, emit, strict=True)
        if not isinstance(expr, ColumnRef)
    ]
    if computed:
        yield "Emit", ", ".join(computed)


def _grouping(node: Aggregator) -> Iterator[tuple[str, str]]:
    names = [describe.column(c) for c in node.group]
    yield "Group key", "[" + ", ".join(names) + "]"
    if node.grouping_sets is not None:
        yield "Grouping sets", ", ".join("(" + ", ".join(names[i] for i in s) + ")" for s in node.grouping_sets)
    if node.aggregates:
        yield "Aggregates", ", ".join(describe.aggregate(a) for a in node.aggregates)
    yield from _filter("Filter", node.filter)


def _requirement(node: Root | Limit) -> Iterator[tuple[str, str]]:
    if node.requirement:
        yield "Ordering requirement", describe.ordering(node.requirement)
    if isinstance(node, Limit) and node.with_ties:
        yield "Ties", "kept"


def text_lines(plan: Node, summary: Summary | None = None, annotate: Annotate = as_it_is) -> list[str]:
    """Return the lines of EXPLAIN (FORMAT TEXT), each of which is a row of the result."""
    lines = lines_of(describe_plan(plan, annotate))
    if summary is None:
        return lines
    lines.append(f"Engine: {summary.engine} ({summary.reason})")
    if summary.statement is not None:
        lines.append("Statement:")
        lines += [f"  {line}" for line in summary.statement.splitlines()]
    lines += [f"{name}: {format_counter(value)}" for name, value in summary.actual.items()]
    return lines


def format_counter(value: float | int | str) -> str:
    """Format a counter; times are floats, in milliseconds."""
    return f"{value:.3f} ms" if isinstance(value, float) else str(value)


def lines_of(node: Described, indent: str = "", arrow: str = "") -> list[str]:
    """Return the lines of a description, as PostgreSQL prints a plan; `arrow` stands before the first one."""
    lines: list[str] = []
    _print(node, indent, arrow, lines)
    return lines


def _print(node: Described, indent: str, arrow: str, lines: list[str]) -> None:
    lines.append(f"{indent}{arrow}{node.title}")
    inner = indent + " " * len(arrow) + "  "
    lines += [f"{inner}{name}: {value}" for name, value in node.properties.items()]
    for label, child in node.below:
        if label:
            lines.append(f"{inner}{label}")
        _print(child, inner, "->  ", lines)


def json_text(plan: Node, summary: Summary, annotate: Annotate = as_it_is) -> str:
    """Return the value of EXPLAIN (FORMAT JSON), shaped as PostgreSQL's (a list of one object with a Plan)."""
    whole: dict[str, Any] = {
        "Plan": as_json(describe_plan(plan, annotate)),
        "Engine": summary.engine,
        "Reason": summary.reason,
    }
    if summary.statement is not None:
        whole["Statement"] = summary.statement
    whole |= summary.actual
    return msgspec.json.format(msgspec.json.encode([whole]), indent=2).decode()


def as_json(node: Described, relationship: str = "") -> dict[str, Any]:
    """Return a description shaped as PostgreSQL's JSON plans. relationship: the words that stand before it."""
    value: dict[str, Any] = {"Node Type": node.name}
    if relationship:
        value["Subplan Name"] = relationship
    value |= node.properties
    if node.rows is not None:
        value["Plan Rows"] = node.rows
    if node.actual is not None:
        value["Actual Rows"] = node.actual
    if node.below:
        value["Plans"] = [as_json(child, label) for label, child in node.below]
    return value

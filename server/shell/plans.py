r"""Draws a plan in the terminal: `\plan select ...` shows the output of EXPLAIN (FORMAT JSON) as a tree.

It also works for PostgreSQL's plans, which have the same shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.markup import escape
from rich.tree import Tree

#: Keys that are shown in a node's own line, and the key of its children.
_SHOWN: Final = ("Node Type", "Plan Rows", "Actual Rows", "Plans", "Subplan Name")
#: Keys of PostgreSQL's plans that are left out, because they would hide the rest.
_COSTS: Final = ("Startup Cost", "Total Cost", "Plan Width", "Parallel Aware", "Async Capable", "Parent Relationship")


def draw_tree(plan: Mapping[str, Any]) -> Tree:
    """Return a plan as a tree. plan: the object in the list that EXPLAIN (FORMAT JSON) returns."""
    tree = Tree(_line(plan["Plan"]), guide_style="dim")
    _fill(tree, plan["Plan"])
    for name in ("Engine", "Reason"):
        if name in plan:
            tree.add(f"[dim]{name}:[/dim] {escape(str(plan[name]))}")
    return tree


def _fill(tree: Tree, node: Mapping[str, Any]) -> None:
    for name, value in node.items():
        if name not in _SHOWN and name not in _COSTS:
            said = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            tree.add(f"[dim]{escape(name)}:[/dim] {escape(said)}")
    for below in node.get("Plans", ()):
        _fill(tree.add(_line(below)), below)


def _line(node: Mapping[str, Any]) -> str:
    label = f"{escape(node['Subplan Name'])}: " if "Subplan Name" in node else ""
    counts = [f"{node['Plan Rows']:,} rows expected"] if "Plan Rows" in node else []
    counts += [f"{node['Actual Rows']:,} were there"] if "Actual Rows" in node else []
    return f"{label}[bold cyan]{escape(node['Node Type'])}[/bold cyan]" + (f"  {', '.join(counts)}" if counts else "")

"""Order that files have already: a SORT above a table's reader that would change nothing is left out.

A stored table with a sort order has each file sorted, and the file's footer says so: that is what counts, since other writers of a
Delta log do not sort. Files whose ranges of the first key do not overlap are read one after the other, by that key. The engine in
process keeps the order of files and rows where nothing reorders them, so it gives the first rows at once, and a LIMIT reads no more
than it wants. Spark's tasks give out what comes first, so this is for plans that run in process, and is done once that is known.

Only what stands between FINAL and the reader is looked at, and only nodes that take row by row: below anything else order is not
asked of rows but of what is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from engine.catalog.objects import Table
from engine.plan import logical
from engine.plan.input_size import RowGroup, groups_to_read
from engine.plan.judgement import are_of
from engine.plan.logical import Evaluator, Limit, Node, OrderKey, Sort, TableReader
from engine.plan.ordering import ordering_of, satisfies
from engine.plan.rewrite import map_inputs
from engine.sql.expr import Column
from wire import types as t

#: character(n) ignores blanks; of floats it would have to be told where NaN is.
_ORDERED: Final = (t.INT2, t.INT4, t.INT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ)


def in_file_order(plan: logical.Final) -> logical.Final:
    """The plan as the engine in process may run it. May block on footers that were never read."""
    rebuilt = _without_sort(plan)
    assert isinstance(rebuilt, logical.Final), "FINAL stays on top"
    return rebuilt


def _without_sort(node: Node) -> Node:
    match node:
        case logical.Final() | Limit(with_ties=False) | Evaluator():
            return map_inputs(node, _without_sort)
        case Sort():
            below = _guaranteed(node.input)
            return below if below is not None and satisfies(ordering_of(below), node.keys) else node
        case _:
            return node


def _guaranteed(node: Node) -> Node | None:
    """The node with its reader's guarantee; None where there is none."""
    match node:
        case Evaluator():
            below = _guaranteed(node.input)
            return None if below is None else replace(node, input=below)
        case TableReader(table=Table() as table) if table.storage is not None and table.storage.sort_by:
            return _in_order(node, table)
        case _:
            return None


def _in_order(node: TableReader, table: Table) -> TableReader | None:
    assert table.storage is not None
    keys = _keys(node, table.storage.sort_by)
    if not keys or not table.files:
        return None
    try:
        files = [(file, groups_to_read(file, table, None)) for file in table.files]
    except OSError:
        return None
    if not all(group.sorted_by[: len(keys)] == _names(keys, node) for _, groups in files for group in groups):
        return None
    ordered = _one_after_the_other(files, keys[0].column, _names(keys, node)[0])
    return None if ordered is None else replace(node, table=replace(table, files=ordered), guarantee=keys)


def _keys(node: TableReader, sort_by: Sequence[str]) -> tuple[OrderKey, ...]:
    """The sort order as far as its columns are read, and files have PostgreSQL's order of their values."""
    columns = dict(zip(node.names, node.columns, strict=True))
    keys: list[OrderKey] = []
    for name in sort_by:
        if name not in columns or columns[name].type.pg not in _ORDERED:
            break
        keys.append(OrderKey(columns[name]))
    return tuple(keys)


def _names(keys: Sequence[OrderKey], node: TableReader) -> tuple[str, ...]:
    names = {column.id: name for column, name in zip(node.columns, node.names, strict=True)}
    return tuple(names[key.column.id] for key in keys)


def _one_after_the_other(
    files: Sequence[tuple[str, Sequence[RowGroup]]], column: Column, name: str
) -> tuple[str, ...] | None:
    """The files such that each one's values of a column precede the next one's; None where they do not."""
    if len(files) == 1:
        return (files[0][0],)
    ranges: list[tuple[Any, Any, str]] = []
    for file, groups in files:
        facts = [group.facts(name) for group in groups]
        known = [found.range for found in facts if found is not None and found.range is not None and found.nulls == 0]
        if not known or len(known) < len(groups) or not all(are_of(between, column.type) for between in known):
            return None
        ranges.append((min(low for low, _ in known), max(high for _, high in known), file))
    ranges.sort()
    return tuple(file for *_, file in ranges) if all(a[1] < b[0] for a, b in pairwise(ranges)) else None

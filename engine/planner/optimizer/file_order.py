"""Sort orders that files already have: a SORT above a table's reader that would change nothing is left out.

Each file of a stored table with a sort order is sorted, and its footer says so. Only the footer counts, since other
writers of a Delta log do not sort. Files whose ranges of the first key do not overlap are read one after the other, by
that key. The in-process engine keeps the order of files and rows where nothing reorders them, so it gives the first
rows at once, and a LIMIT reads no more than it wants.

The pass runs once it is known who reads what: on a plan in process for all of a table's files, on a physical plan for
the splits of each instance. There the streams are merged by their order as before, but nobody sorts. Splits of
different instances may overlap, so that files which were appended over one another are in order as long as no two
overlapping ones are on one member.

**How far a footer is trusted.** A footer states the order of each row group by itself. In a file with several row groups
the ranges of the first key must follow one another, too; where one ends with the value that the next begins with, only
the first key is certain.

The pass looks only at nodes between the top and the reader, and only at those that take row by row: below any other
node the order of rows does not reach the output.

Rejected: the same on Spark. It deals out pieces of files to tasks by their sizes, largest first, and makes no promise
about it; its tasks are put in order by its own SORT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from engine.catalog.model.objects import Table
from engine.common.sql_type import SqlType
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Evaluator, Limit, Ordering, OrderKey, Sort, TableReader
from engine.plan_ir.physical import Fragment, Instance, PhysicalPlan, Split
from engine.plan_ir.rewrite import map_inputs
from engine.planner.optimizer.column_bounds import ColumnBounds, are_of
from engine.planner.optimizer.footers import RowGroup
from engine.planner.optimizer.input_size import groups_to_read
from engine.planner.optimizer.ordering import ordering_of, satisfies
from wire.types import pg_types as t

#: Types that files sort as PostgreSQL does. Not character(n), which ignores blanks, nor floats, whose NaN may be
#: anywhere.
_ORDERED: Final = (t.INT2, t.INT4, t.INT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ)
#: Returns a reader with its guarantee; None if it has none. May block on footers that were never read.
_Guarantee = Callable[[TableReader], TableReader | None]


def in_file_order(plan: logical.Root) -> logical.Root:
    """Return the plan without needless sorts, for the engine in process. May block on footers that were never read."""
    rebuilt = _without_sort(plan, _of_whole_table)
    assert isinstance(rebuilt, logical.Root), "FINAL stays on top"
    return rebuilt


def in_split_order(plan: PhysicalPlan) -> PhysicalPlan:
    """Return a physical plan without needless sorts. It must be final: the fragments are where they will run."""
    return replace(plan, fragments=tuple(map(_in_split_order, plan.fragments)))


def _in_split_order(fragment: Fragment) -> Fragment:
    if fragment.engine != "local":
        return fragment
    ordered: dict[int, Sequence[tuple[Split, ...]]] = {}

    def add_guarantee(node: TableReader) -> TableReader | None:
        if not node.reader:
            return _of_whole_table(node)
        found = _of_splits(node, fragment.instances)
        if found is None:
            return None
        reader, ordered[node.reader] = found
        return reader

    root = _without_sort(fragment.root, add_guarantee)
    if root == fragment.root:
        return fragment
    instances = tuple(
        _with_ordered_splits(instance, number, ordered) for number, instance in enumerate(fragment.instances)
    )
    return replace(fragment, root=root, instances=instances)


def _with_ordered_splits(
    instance: Instance, number: int, ordered: Mapping[int, Sequence[tuple[Split, ...]]]
) -> Instance:
    mine = {reader: splits[number] for reader, splits in ordered.items() if reader in instance.splits}
    return replace(instance, splits={**instance.splits, **mine})


def _without_sort(node: Node, guarantee: _Guarantee) -> Node:
    match node:
        case logical.Root() | Limit(with_ties=False) | Evaluator():
            return map_inputs(node, lambda child: _without_sort(child, guarantee))
        case Sort():
            below = _guarantee_reader(node.input, guarantee)
            return below if below is not None and satisfies(ordering_of(below), node.keys) else node
        case _:
            return node


def _guarantee_reader(node: Node, guarantee: _Guarantee) -> Node | None:
    """Return the node with its reader's guarantee; None if there is none."""
    match node:
        case Evaluator():
            below = _guarantee_reader(node.input, guarantee)
            return None if below is None else replace(node, input=below)
        case TableReader(table=Table() as table) if table.storage is not None and table.storage.sort_by:
            return guarantee(node)
        case _:
            return None


# -- readers ---------------------------------------------------------------------------------------------------------


def _of_whole_table(node: TableReader) -> TableReader | None:
    table, keys = _sorted_table(node)
    found = _in_order([Split(file) for file in table.files], table, keys, node)
    if found is None:
        return None
    splits, keys = found
    files = tuple(split.file for split in splits)
    return replace(node, table=replace(table, files=files), guarantee=keys)


def _of_splits(
    node: TableReader, instances: Sequence[Instance]
) -> tuple[TableReader, Sequence[tuple[Split, ...]]] | None:
    """Return the reader with the order that all instances guarantee, and the splits of each in that order."""
    table, keys = _sorted_table(node)
    ordered: list[tuple[Split, ...]] = []
    for instance in instances:
        splits = instance.splits.get(node.reader, ())
        found = _in_order(splits, table, keys, node) if splits else ((), keys)
        if found is None:
            return None
        mine, keys = found
        ordered.append(mine)
    return replace(node, guarantee=keys), ordered


def _sorted_table(node: TableReader) -> tuple[Table, Ordering]:
    """Return the reader's table, and the prefix of its sort order whose columns are read, and whose types sort in files
    as in PostgreSQL.
    """
    assert isinstance(node.table, Table)
    assert node.table.storage is not None
    columns = dict(zip(node.names, node.columns, strict=True))
    keys: list[OrderKey] = []
    for name in node.table.storage.sort_by:
        if name not in columns or columns[name].type.pg not in _ORDERED:
            break
        keys.append(OrderKey(columns[name]))
    return node.table, tuple(keys)


# -- files -----------------------------------------------------------------------------------------------------------


def _in_order(
    splits: Sequence[Split], table: Table, keys: Ordering, node: TableReader
) -> tuple[tuple[Split, ...], Ordering] | None:
    """Arrange the splits so that their rows are in order when they are read one after the other. Returns them with the
    keys of that order; None if there is none.
    """
    if not keys or not splits:
        return None
    called = {column.id: name for column, name in zip(node.columns, node.names, strict=True)}
    names = tuple(called[key.column.id] for key in keys)
    try:
        pieces = [(split, _groups(split, table)) for split in splits]
    except OSError:
        return None
    typ = keys[0].column.type
    certain = min(_certain(groups, names, typ) for _, groups in pieces)
    ordered = _one_after_the_other(pieces, names[0], typ) if certain else None
    return None if ordered is None else (ordered, keys[:certain])


def _groups(split: Split, table: Table) -> tuple[RowGroup, ...]:
    groups = groups_to_read(split.file, table, None)
    if split.end is None:
        return groups
    end = split.end
    return tuple(group for group in groups if split.first <= group.first and group.end <= end)


def _certain(groups: Sequence[RowGroup], names: tuple[str, ...], typ: SqlType) -> int:
    """Return by how many of these columns the rows of a file's groups ascend, nulls last. typ: of the first column."""
    if not groups or any(group.sorted_by[: len(names)] != names for group in groups):
        return 0
    steps = [_step(a.facts(names[0]), b.facts(names[0]), typ) for a, b in pairwise(groups)]
    if 0 in steps:
        return 0
    return 1 if 1 in steps else len(names)


def _step(before: ColumnBounds | None, after: ColumnBounds | None, typ: SqlType) -> int | None:
    """Return how many keys are in order from one row group to the next: none, the first, or all (None)."""
    if before is None or after is None or before.nulls is None or after.nulls is None:
        return 0
    if before.nulls:
        return 1 if after.only_nulls else 0
    if after.only_nulls:
        return None
    if before.range is None or after.range is None or not (are_of(before.range, typ) and are_of(after.range, typ)):
        return 0
    if before.range[1] < after.range[0]:
        return None
    return 1 if before.range[1] == after.range[0] else 0


def _one_after_the_other(
    pieces: Sequence[tuple[Split, Sequence[RowGroup]]], name: str, typ: SqlType
) -> tuple[Split, ...] | None:
    """Return the splits in the order of a column, such that each one's values precede the next one's; None if they
    overlap.
    """
    if len(pieces) == 1:
        return (pieces[0][0],)
    ranges: list[tuple[Any, Any, Split]] = []
    for split, groups in pieces:
        facts = [group.facts(name) for group in groups]
        known = [found.range for found in facts if found is not None and found.range is not None and found.nulls == 0]
        if not known or len(known) < len(groups) or not all(are_of(between, typ) for between in known):
            return None
        ranges.append((min(low for low, _ in known), max(high for _, high in known), split))
    ranges.sort(key=lambda piece: piece[:2])
    return tuple(split for *_, split in ranges) if all(a[1] < b[0] for a, b in pairwise(ranges)) else None

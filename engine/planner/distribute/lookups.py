"""JOIN READER: each of a few rows looks up its matches in a large table, on the member that has its key.

CockroachDB's RFC, "Join-by-lookup", gives two ways to do it. One fetches from afar. The other, implemented here, sends
each row by a range router to the instance of the join that has its key's range, and the data go on from there. The
table needs no index for it: files whose ranges of the key do not overlap, as a sorted or clustered load leaves them,
are dealt out such that each instance's keys precede the next one's (`readers.in_order`), and the router uses the bounds
between them.

Within an instance the engine does the lookup. The rows that have arrived are the build side of its join, whichever side
they are on, and also where an outer join keeps them. From their keys DuckDB makes a filter of the table's scan: the
values themselves if they are a few dozen, a bitmap if they are dense, else their range and a Bloom filter. Row groups
that the filter excludes are not read: three keys cost three row groups. With many scattered keys only their range
excludes row groups, and routing by range has narrowed it to the instance's own. An instance at which nothing arrives
reads next to nothing.

**When.** The rows that move must be few (`_is_few`): within the limit for mirrored sides, since all of them may fall
into one key range and then load one member, and few in relation to the table, so that the lookups skip most of it. Then
a lookup moves less than the alternatives: a mirrored side arrives once at every instance and not once in all, and a
hashed join moves the large table. A side that each instance can read for itself, for less than the mirror limit, is
cheaper still, and `joins` tries that first. An outer join may keep the rows that move, each of which is in one place.
If it keeps the table's rows, a lookup would save nothing, as all of the table is read.

Rejected: setting up an instance when the first row for it arrives, as the RFC considers for tables with ranges on every
node. A `start` goes to all participants at once here, and an instance without rows ends as soon as its senders do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.common.sql_type import SqlType
from engine.plan_ir.expr import ColumnRef, Expr, Node
from engine.plan_ir.logical import Join, JoinKind, OrderKey
from engine.plan_ir.physical import Instance, RangeRouter
from engine.plan_ir.rewrite import subplans
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.equalities import equalities, with_keys
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.readers import InOrder, in_order
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: The table has at least this many rows for each row that looks up.
_ROWS_FOR_EACH: Final = 10
_LEFT_MOVES: Final[Sequence[JoinKind]] = ("inner", "left")
_RIGHT_MOVES: Final[Sequence[JoinKind]] = ("inner", "right")
#: Classes of types whose values compare with those of a reader's key as their literals do.
_COMPARABLE: Final = ((t.INT2, t.INT4, t.INT8), (t.TEXT, t.VARCHAR), (t.DATE,), (t.TIMESTAMP,))


@dataclass(frozen=True, slots=True)
class _Side:
    """A side of the join: its plan, and the flow that it has become."""

    node: Node
    flow: Flow


def by_lookup(node: Join, left: Flow, right: Flow, assembly: Assembly) -> tuple[Flow, Flow] | None:
    """Return both sides on the members of the table's instances; None if a lookup does not apply."""
    sides = _Side(node.left, left), _Side(node.right, right)
    if node.kind in _LEFT_MOVES:
        moved = _looked_up(*sides, [(pair.left, pair.right) for pair in equalities(node)], assembly)
        if moved is not None:
            return moved
    if node.kind in _RIGHT_MOVES:
        moved = _looked_up(*sides[::-1], [(pair.right, pair.left) for pair in equalities(node)], assembly)
        if moved is not None:
            return moved[::-1]
    return None


def _looked_up(
    few: _Side, table: _Side, keys: Sequence[tuple[Expr, Expr]], assembly: Assembly
) -> tuple[Flow, Flow] | None:
    """Return the flow of the rows that move, and the flow of the table. keys: an expression of each side, equal where
    they match.
    """
    if not _is_few(few, table, assembly) or any(any(subplans(part)) for part in table.node.walk()):
        return None
    for key, own in keys:
        found = _by_key(table, own, assembly) if _is_comparable(key.type, own.type) else None
        if found is not None:
            return _sent(few.flow, key, found, assembly), found.flow
    return None


def _is_few(few: _Side, table: _Side, assembly: Assembly) -> bool:
    """Whether the rows are few enough; see the module's docstring. A wrong estimate costs time and never rows."""
    if table.flow.is_single:
        return False
    moving = assembly.rows(few.node)
    limit = assembly.setting.mirror_limit
    return moving.size <= limit and moving.rows * _ROWS_FOR_EACH <= assembly.rows(table.node).rows


def _by_key(table: _Side, key: Expr, assembly: Assembly) -> InOrder | None:
    """Return the table in the order of its key, if that leaves it on not many fewer members than otherwise."""
    found = in_order(table.node, OrderKey(key.column), assembly) if isinstance(key, ColumnRef) else None
    if found is None or 2 * len(found.flow.instances) < len(table.flow.instances):
        return None
    return found


def _is_comparable(key: SqlType, own: SqlType) -> bool:
    return any(key.pg in alike and own.pg in alike for alike in _COMPARABLE)


def _sent(few: Flow, key: Expr, table: InOrder, assembly: Assembly) -> Flow:
    """Send the rows to the instances that have their keys."""
    keyed, (column,) = with_keys(few, (key,), assembly)
    members = table.flow.members
    router = RangeRouter((OrderKey(column),), table.bounds, members)
    return assembly.exchange(keyed, router, tuple(Instance(member) for member in members), few.node.columns)

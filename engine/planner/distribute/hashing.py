"""Hash partitioning: which keys rows can be hashed by, and the exchange that does it.

Two flows that are hashed to the same members agree on the place of a key only if both compute the same number from
equal values. Equal values of different types may be stored differently, so keys are compared by *class*: those of one
class are brought to one form before they are hashed (`engine.planner.distribute.dispatch`). A key without a class
cannot be hashed by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.plan_ir.expr import Column
from engine.plan_ir.physical import HashRouter, Instance
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow
from wire.types import pg_types as t

_EXACT: Final = (t.INT2, t.INT4, t.INT8, t.NUMERIC, *t.UNSIGNED)
_TEXT: Final = (t.TEXT, t.VARCHAR, t.NAME, t.CHAR, t.UNKNOWN)


def hash_class(pg: t.PgType) -> str | None:
    """Return the class that values are hashed as: equal values of one class have one hash. None: the type is not
    hashed.
    """
    if pg in _EXACT:
        return "exact"
    if pg in (t.FLOAT4, t.FLOAT8):
        return "float"
    if pg in _TEXT:
        return "text"
    if pg.is_array or pg.is_row or pg in (t.VOID, t.JSONB, t.NUMRANGE, t.NUMMULTIRANGE, t.TSQUERY):
        return None
    return pg.name


def hash_partition(
    flow: Flow,
    keys: tuple[Column, ...],
    members: Sequence[str],
    assembly: Assembly,
    carried: tuple[Column, ...] | None = None,
) -> Flow:
    """Send the flow's rows to `members` by the hash of these keys. carried: the columns that cross, all by default."""
    moved = assembly.exchange(flow, HashRouter(keys), tuple(Instance(member) for member in members), carried)
    return replace(moved, parted=tuple(frozenset({key.id}) for key in keys))

"""A logical stream being planned: the open piece of plan that produces it, and the instances that run it.

A `Flow` is a fragment that has not been cut yet. Operators that need no movement of rows extend it; an exchange cuts it
(`engine.planner.distribute.assembly`) and begins another. Its *distribution* has three parts: the number of its
instances (one: all rows are in one place), the columns by which its rows are partitioned over them, and the order in
which each instance gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import Limit, Ordering
from engine.plan_ir.physical import Instance
from wire.dataclass import dataclass

#: Ids of columns that hold equal values in each row.
Equals = frozenset[int]


@dataclass(frozen=True, slots=True)
class Flow:
    """A fragment that has not been cut yet, and the distribution of its rows; see the module's docstring.

    node: the piece of plan. inputs: the edges that it reads.
    parted: rows that agree in these columns are in one instance; None: nothing is known. Each key is a set of columns
        that are equal to one another, in the order in which the keys were hashed.
    by_range: the readers' own columns (one of each reader that reads splits) by whose values the readers' splits were
        made, if the rows are partitioned in that way: the place of a value then follows from the files, and not from a
        hash.
    order: every instance gives its rows in this order, by columns of `node`.
    in_turn: whether each instance's rows precede the next one's in that order.
    before_sets: the flow below a PROJECT SET over ordered rows. No key distinguishes the rows of a set, so if streams
        are sorted again instead of merged, this flow is sorted, and the sets run after that.
    limit: a LIMIT whose first stage each instance has done, and whose second is still to be done over all of them.
    size: bytes of column data below it, as far as known; it decides which side of a join moves.
    """

    node: Node
    instances: tuple[Instance, ...]
    inputs: tuple[int, ...] = ()
    parted: tuple[Equals, ...] | None = None
    by_range: tuple[Column, ...] = ()
    order: Ordering = ()
    in_turn: bool = False
    before_sets: Flow | None = None
    limit: Limit | None = None
    size: int = 0

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(instance.member for instance in self.instances)

    @property
    def is_single(self) -> bool:
        """Whether all rows are in one place."""
        return len(self.instances) == 1

    def has_groups_of(self, keys: Iterable[Column]) -> bool:
        """Whether rows that agree in `keys` are in one instance."""
        if self.is_single:
            return True
        ids = {key.id for key in keys}
        return bool(self.parted) and all(equals & ids for equals in self.parted or ())


def same_places(flows: Sequence[Flow]) -> bool:
    """Whether the flows run on the same members, in the same order."""
    return len({flow.members for flow in flows}) == 1


def together(flows: Sequence[Flow]) -> tuple[tuple[Instance, ...], tuple[int, ...]]:
    """Return (instances, inputs) of the fragment that several flows merge into: it runs on every member that has one of
    them.
    """
    instances: dict[str, Instance] = {}
    for flow in flows:
        for instance in flow.instances:
            before = instances.get(instance.member, Instance(instance.member))
            splits, within = {**before.splits, **instance.splits}, {**before.within, **instance.within}
            instances[instance.member] = Instance(instance.member, splits, within)
    inputs = tuple(edge for flow in flows for edge in flow.inputs)
    return tuple(instances.values()), inputs

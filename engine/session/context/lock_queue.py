"""The order in which sessions wait for advisory locks: a deadlock, or an order of the queue without one.

A waiter waits for the holders of its lock (a hard edge) and for the waiters ahead of it in the queue whose requests
conflict with its own (a soft edge). A cycle of hard edges is a deadlock. A cycle with a soft edge may be none: if the
two waiters of that edge change places, the cycle is open. As in PostgreSQL, the search reverses soft edges of the
cycles that it finds, until no cycle is left or none that remains has a soft edge.

Source: PostgreSQL 15, deadlock.c (DeadLockCheckRecurse, TestConfiguration, FindLockCycle) and its README.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar


class Waiter(Protocol):
    """A session that waits for a lock. A session waits for at most one."""

    @property
    def owner(self) -> int: ...


WaiterT = TypeVar("WaiterT", bound=Waiter)
#: A waiter, and one behind which it does not have to wait.
_Reversal = tuple[WaiterT, WaiterT]


def order_without_deadlock(
    queue: Sequence[WaiterT],
    last: WaiterT,
    holders: Callable[[WaiterT], Iterable[int]],
    is_behind: Callable[[WaiterT, WaiterT], bool],
) -> list[WaiterT] | None:
    """Return the queue in an order in which no cycle goes through `last`, its newest waiter; None if it is deadlocked.

    holders: the owners that have a lock in a mode that blocks a waiter. is_behind: whether a waiter may not pass
    another that is ahead of it.
    """

    def search(reversals: tuple[_Reversal[WaiterT], ...]) -> list[WaiterT] | None:
        order = _reorder(queue, reversals)
        if order is None:
            return None
        for start in (last, *(waiter for reversal in reversals for waiter in reversal)):
            soft = _cycle(order, start, holders, is_behind)
            if soft is not None:
                found = (search((*reversals, edge)) for edge in soft)
                return next((order for order in found if order is not None), None)
        return order

    return search(())


def _reorder(queue: Sequence[WaiterT], reversals: Sequence[_Reversal[WaiterT]]) -> list[WaiterT] | None:
    """Order the queue so that each reversal's first waiter precedes its second, and all else as it was. None if the
    reversals contradict each other.
    """
    left, order = list(queue), list[WaiterT]()
    while left:
        following = (w for w in left if not any(later is w and sooner in left for sooner, later in reversals))
        chosen = next(following, None)
        if chosen is None:
            return None
        left.remove(chosen)
        order.append(chosen)
    return order


def _cycle(
    order: Sequence[WaiterT],
    start: WaiterT,
    holders: Callable[[WaiterT], Iterable[int]],
    is_behind: Callable[[WaiterT, WaiterT], bool],
) -> list[_Reversal[WaiterT]] | None:
    """Return the soft edges of a cycle through `start`; None if there is no cycle."""
    waiting = {waiter.owner: waiter for waiter in order}

    def edges(waiter: WaiterT) -> Iterator[tuple[int, list[_Reversal[WaiterT]]]]:
        for owner in holders(waiter):
            yield owner, []
        for ahead in order[: order.index(waiter)]:
            if is_behind(waiter, ahead):
                yield ahead.owner, [(waiter, ahead)]

    seen, path = {start.owner}, [(edges(start), list[_Reversal[WaiterT]]())]
    while path:
        following, soft = path[-1]
        owner, edge = next(following, (None, soft))
        if owner is None:
            path.pop()
        elif owner == start.owner:
            return [*soft, *edge]
        elif owner not in seen and (waiter := waiting.get(owner)) is not None:
            seen.add(owner)
            path.append((edges(waiter), [*soft, *edge]))
    return None

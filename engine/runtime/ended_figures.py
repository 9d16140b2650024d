"""The final figures of recent queries on a member, bounded by their total number.

A query's mailboxes and outputs are released when its part on a member has ended, which may be long before its statement
ends: a cursor that is read for an hour may have its last row in its window at once. Anyone who looks at the statement
meanwhile, and the history when it ends, ask every member for these figures (`server.cluster.final_figures`).

Rejected: a message with figures from each participant to the initiator at its end. Most queries are never looked at,
and those that take milliseconds would pay for it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from engine.contracts.activity import Observed

#: The limit of instances of fragments and ends of streams, for all queries together: a few megabytes.
_FIGURES_MAX: Final = 16_384


class EndedFigures:
    """See the module's docstring. Used on the loop's thread. most: the maximum number of figures of all queries
    together.
    """

    def __init__(self, most: int = _FIGURES_MAX) -> None:
        self._most = most
        self._kept: OrderedDict[str, Observed] = OrderedDict()
        self._figures = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, query: str, now: Observed = ([], [])) -> Observed:
        """Return the figures of a query; none if it is unknown or forgotten. now: the current counters of a part that
        is ending; those of the resources that it has released are added.
        """
        earlier = self._kept.get(query)
        return now if earlier is None else _merge(earlier, now)

    def keep(self, query: str, observed: Observed) -> None:
        """Keep the counters of a query whose part ends. A part may end in steps: the counters of resources that are
        released in one step are kept from the step before.
        """
        observed = self.find(query, observed)
        if (earlier := self._kept.pop(query, None)) is not None:
            self._figures -= _weight(earlier)
        self._kept[query] = observed
        self._figures += _weight(observed)
        while self._figures > self._most:
            self._figures -= _weight(self._kept.popitem(last=False)[1])


def _merge(earlier: Observed, later: Observed) -> Observed:
    fragments = {(each.fragment, each.instance): each for each in (*earlier[0], *later[0])}
    edges = {(each.edge, each.sender, each.receiver, each.end): each for each in (*earlier[1], *later[1])}
    return list(fragments.values()), list(edges.values())


def _weight(observed: Observed) -> int:
    return 1 + len(observed[0]) + len(observed[1])

"""Decides when a member may leave the cluster without making a query fail.

A participant forgets a query when its own part has ended, and no message says so; the query's initiator may still have
rows of that part to deliver. To the initiator, a member that leaves is a lost member, since it cannot know whether a
start that was in flight has been read. So a member that wants to leave stays until the initiators of all queries in
which it had a part have finished them. It asks them as it would ask about a long-running query (`check`,
network-protocol seed, 3.5): the answer names the queries that have ended.

Considered and rejected: a message for each part that has ended (every query would pay for the few that meet a
departure), and a leave message that lists them (neither end would know about a start that crosses it).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable
from typing import Final

from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from wire.mesh.control_messages import Check

#: The number of queries that ended here and are remembered, the last ones; a suspended portal of an older query is not
#: waited for.
_REMEMBERED: Final = 4096
#: The number of queries that a message asks about, and the seconds between messages.
_AT_ONCE: Final = 512
_ASK_SECONDS: Final = 0.5


class Drain:
    """See the module's docstring. Used on the loop's thread."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._done: OrderedDict[str, None] = OrderedDict()
        self._news = asyncio.Event()

    def done(self, query: str) -> None:
        """Note that no part of a query runs here any more."""
        if QueryId.parse(query).initiator != self._mesh.member:
            self._done[query] = None
            if len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        self._news.set()

    def over(self, member: str, queries: Iterable[str]) -> None:
        """Note that a member has finished these queries. Those that it did not initiate are ignored: only their
        initiators know.
        """
        for query in queries:
            if query in self._done and QueryId.parse(query).initiator == member:
                del self._done[query]
        self._news.set()

    async def free(self, running: Collection[str]) -> None:
        """Wait until nothing runs here, and no initiator needs a query that did. running: the running queries, a live
        collection.
        """
        self._ask()
        while running or self._done:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ASK_SECONDS):
                    await self._news.wait()
                    continue
            self._ask()

    def _ask(self) -> None:
        by_initiator: defaultdict[str, list[str]] = defaultdict(list)
        for query in self._done:
            by_initiator[QueryId.parse(query).initiator].append(query)
        for initiator, queries in by_initiator.items():
            for first in range(0, len(queries), _AT_ONCE):
                part = tuple(queries[first : first + _AT_ONCE])
                if not self._mesh.send(initiator, Check(part)):
                    self.over(initiator, part)

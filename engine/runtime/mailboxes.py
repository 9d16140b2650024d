"""Mailboxes: the receiving ends of this member's streams, by query, edge and consuming instance.

A mailbox is a `Receiver` that is registered with the data listener under a channel id and a token. Whichever message
arrives first makes it: the query's `start`, which knows what it receives, or the `open_channel` of a sender that was
quicker (RFC, "Mailboxes"; channel seed: channels exist before their peer does). A mailbox made by a sender keeps what
arrives, within its window, until the start adopts it; if no start follows, the checker drops it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from engine.common.shielded import awaited_in_turn
from engine.exchange.listener import DataListener
from engine.exchange.receive import WINDOW_BATCHES, Receiver
from engine.exchange.spool import Spooler
from engine.plan_ir.spec import EdgeSpec
from wire.mesh.messages import Open

#: The window of a mailbox that was made before its query's page size was known.
EARLY_WINDOW: Final = WINDOW_BATCHES << 20

#: query, edge, consuming instance.
Key = tuple[str, int, int]


@dataclass(slots=True)
class Mailbox:
    """A receiver, and the channel by which senders find it. in_turn: a sender receives the channel only when it is its
    turn to send.
    """

    receiver: Receiver
    channel: str
    token: bytes
    in_turn: bool = False


class Mailboxes:
    """All mailboxes of a member. on_lost: called with (query, opening, fatal) for a stream that broke before its end;
    fatal: nothing can replace it. on_interrupted: called with (query, opening) for a lost connection that its stream
    outlives.
    """

    def __init__(
        self,
        listener: DataListener,
        spooler: Spooler,
        on_lost: Callable[[str, Open, bool], None],
        on_interrupted: Callable[[str, Open], None] = lambda _query, _opening: None,
    ) -> None:
        self._listener = listener
        self._spooler = spooler
        self._on_lost = on_lost
        self._on_interrupted = on_interrupted
        self._mailboxes: dict[Key, Mailbox] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._mailboxes)

    def find_or_make(self, key: Key, window: int = EARLY_WINDOW) -> Mailbox:
        """Return the mailbox of a key. A new one does not know yet what it receives."""
        mailbox = self._mailboxes.get(key)
        if mailbox is None:
            receiver = Receiver(
                None,
                ordered=False,
                window=window,
                spooler=self._spooler,
                senders=None,
                on_lost=functools.partial(self._lost, key),
                on_interrupted=functools.partial(self._on_interrupted, key[0]),
                retried=False,
            )
            channel = f"mesh/{next(self._numbers)}"
            mailbox = Mailbox(receiver, channel, self._listener.register(channel, receiver))
            self._mailboxes[key] = mailbox
        return mailbox

    def adopt(self, query: str, edge: EdgeSpec, instance: int, page_bytes: int) -> Receiver:
        """Return the receiver of an edge's instance, after telling it what it receives. (A window that was granted does
        not change.)
        """
        mailbox = self.find_or_make((query, edge.id, instance), WINDOW_BATCHES * page_bytes)
        receiver, mailbox.in_turn = mailbox.receiver, edge.synchronizer == "sequential"
        ordered = edge.synchronizer != "unsynchronized"
        receiver.adopt(
            edge.schema, ordered=ordered, senders=1 if edge.counted else len(edge.senders), retried=not edge.counted
        )
        if edge.counted:
            receiver.finish(range(len(edge.senders)))
        return receiver

    def _lost(self, key: Key, opening: Open, consumed: bool) -> None:
        mailbox = self._mailboxes.get(key)
        if mailbox is not None:
            self._on_lost(key[0], opening, consumed or not mailbox.receiver.retried)

    def of_query(self, query: str) -> Iterator[Mailbox]:
        return (mailbox for key, mailbox in list(self._mailboxes.items()) if key[0] == query)

    def receivers_of(self, query: str) -> list[tuple[Key, Receiver]]:
        """Return the receivers of a query, with their keys."""
        return [(key, mailbox.receiver) for key, mailbox in self._mailboxes.items() if key[0] == query]

    def receivers(self) -> list[Receiver]:
        """Return the receivers of all queries."""
        return [mailbox.receiver for mailbox in self._mailboxes.values()]

    def spooled_by_edge(self, query: str) -> dict[str, int]:
        """Return the bytes that the query's receivers have written to disk, by edge, under the names of
        `engine.runtime.analysis`.
        """
        counted: dict[str, int] = {}
        for (token, edge, _), mailbox in self._mailboxes.items():
            if token == query:
                name = f"edge.{edge}.spooled"
                counted[name] = counted.get(name, 0) + mailbox.receiver.share.bytes_used
        return counted

    async def close_query(self, query: str) -> None:
        """Stop the senders of a query's streams, and discard what has arrived. Closing the connections returns the
        credits.
        """
        closing = [key for key in self._mailboxes if key[0] == query]
        mailboxes = [self._mailboxes.pop(key) for key in closing]
        for mailbox in mailboxes:
            self._listener.unregister(mailbox.channel)
        await awaited_in_turn(*(mailbox.receiver.close for mailbox in mailboxes))

    async def close(self) -> None:
        for query in {key[0] for key in self._mailboxes}:
            await self.close_query(query)

    def statistics(self) -> dict[str, int]:
        held = sum(mailbox.receiver.statistics()["held_bytes"] for mailbox in self._mailboxes.values())
        return {"mailboxes": len(self._mailboxes), "held_bytes": held}

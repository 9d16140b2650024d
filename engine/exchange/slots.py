"""The rule that decides when senders without credit block others, so that their receivers must let them continue into
spool files.

**Theory.** A streaming work unit occupies its slot (a Spark task slot; there are as many as cores) until its stream has
been sent. A suspended portal or a slow client leaves its streams without credit, so their slots are occupied and idle.
When every slot is occupied by an open stream and some query gets none, there may be no progress ever again. So:

    a query is starved   when its consumer waits and none of its streams is on its way to it;
    a stream is blocked  when it has been out of credit for `GRACE` seconds;
    while a query is starved, and all slots are held by open streams (or it is its own blocked streams that hold them, as when
    the partition whose turn it is has no slot), receivers with blocked streams spool: their senders run on at the speed of
    the disk, end, and free their slots.

The rule is sound. While a query is starved, either some slot is held by no stream, and fair scheduling assigns it; or
all slots are held by streams, each of which moves at least a window per `GRACE`, or spools, so each of them ends. The
rule is also cheap: no receiver spools while no consumer waits, and a suspended portal on an idle member costs a window
and no disk. The spool's budget bounds the disk space; once it is used up, waiting queries go on waiting.

Considered and rejected: spooling whenever a portal is suspended (every `LIMIT`-less cursor would be copied to disk);
asking the scheduler for its queue (its answer is late, and differs by cluster manager); more slots than cores (blocked
tasks keep their sort buffers, and there can always be one more portal).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from engine.exchange.receive import Receiver

GRACE: Final = 0.1


def receivers_to_spool(receivers: Iterable[Receiver], slots: int, since: float) -> set[Receiver]:
    """Return the receivers whose blocked streams are to continue into files. `since`: `GRACE` seconds ago."""
    everyone = list(receivers)
    starved = [receiver for receiver in everyone if _is_starved(receiver, since)]
    if not starved:
        return set()
    if sum(receiver.streams.open_count for receiver in everyone) < slots:
        return {receiver for receiver in starved if receiver.streams.find_blocked(since)}
    return {receiver for receiver in everyone if receiver.share.is_open or receiver.streams.find_blocked(since)}


def _is_starved(receiver: Receiver, since: float) -> bool:
    """Return whether the consumer has been waiting since then and no stream is on its way to it."""
    waiting_since = receiver.waiting_since
    if waiting_since is None or waiting_since > since or receiver.promised.all_partitions is not None:
        return False
    return receiver.streams.open_count == len(receiver.streams.find_blocked(since))


class SlotKeeper:
    """Applies the rule to a member's receivers. It examines them when something changed, and again while a consumer
    waits.

    slots: the number of work units that run at once, as far as is known.
    """

    def __init__(self, slots: Callable[[], int]) -> None:
        self._slots = slots
        self._receivers: set[Receiver] = set()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, receiver: Receiver) -> None:
        self._receivers.add(receiver)

    def discard(self, receiver: Receiver) -> None:
        self._receivers.discard(receiver)
        if not self._receivers:
            self.close()

    def on_receiver_change(self) -> None:
        """Schedule an examination after a receiver has changed."""
        if self._timer is None and any(receiver.waiting_since is not None for receiver in self._receivers):
            self._timer = self._loop.call_later(GRACE, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        chosen = receivers_to_spool(self._receivers, self._slots(), self._loop.time() - GRACE)
        for receiver in self._receivers:
            if receiver.share.is_open or receiver in chosen:
                receiver.spool(receiver in chosen)
        self.on_receiver_change()

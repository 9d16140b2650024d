"""The port of a member to which Spark's tasks connect, and the channels of the streams that they send there."""

from __future__ import annotations

import itertools

from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import TlsPeer
from engine.exchange.receive import Receiver
from engine.executors.spark.connection import is_embedded


class TaskPort:
    """listener: listens before Spark starts; None: one of its own on the loopback interface. master: Spark's, which says where
    tasks run."""

    def __init__(self, listener: DataListener | None, master: str) -> None:
        self._listener = listener or DataListener()
        self._owns_listener = listener is None
        self._master = master
        self._channels = itertools.count(1)

    async def start(self) -> None:
        """Have a port for tasks: the member's mesh port, or one for them alone where the member has none."""
        await self._listener.start()

    def new_channel(self) -> str:
        return f"spark/{next(self._channels)}"

    def register(self, channel: str, receiver: Receiver) -> bytes:
        """Give what comes on a channel to a receiver. Returns the channel's token."""
        return self._listener.register(channel, receiver)

    def unregister(self, channel: str) -> None:
        self._listener.unregister(channel)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that Spark's tasks are to connect to."""
        return self._listener.address_from_here if is_embedded(self._master) else self._listener.address_from_afar

    @property
    def tls_peer(self) -> TlsPeer | None:
        """How Spark's tasks are to connect to this member; None: in the clear."""
        tls = self._listener.tls
        return tls.peer(tls.member) if tls is not None else None

    @property
    def connections(self) -> int:
        """How many are open."""
        return self._listener.connections

    async def close(self) -> None:
        if self._owns_listener:
            await self._listener.close()

"""The port of a member to which Spark's tasks connect, and the channels of the streams that they send there."""

from __future__ import annotations

import itertools

from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import TlsPeer
from engine.exchange.receive import Receiver
from engine.executors.spark.connection import is_embedded


class TaskPort:
    """The port for Spark's tasks. listener: it listens before Spark starts; None: a listener of its own on the
    loopback interface. master: Spark's master URL, which determines where tasks run.
    """

    def __init__(self, listener: DataListener | None, master: str) -> None:
        self._listener = listener or DataListener()
        self._owns_listener = listener is None
        self._master = master
        self._channels = itertools.count(1)

    async def start(self) -> None:
        """Open the port for tasks: the member's mesh port, or a separate one if the member has none."""
        await self._listener.start()

    def new_channel(self) -> str:
        return f"spark/{next(self._channels)}"

    def register(self, channel: str, receiver: Receiver) -> bytes:
        """Route the data that arrives on a channel to a receiver. Returns the channel's token."""
        return self._listener.register(channel, receiver)

    def unregister(self, channel: str) -> None:
        self._listener.unregister(channel)

    @property
    def address(self) -> tuple[str, int]:
        """The host and port to which Spark's tasks connect."""
        return self._listener.address_from_here if is_embedded(self._master) else self._listener.address_from_afar

    @property
    def tls_peer(self) -> TlsPeer | None:
        """The TLS parameters with which Spark's tasks connect to this member; None: without TLS."""
        tls = self._listener.tls
        return tls.peer(tls.member) if tls is not None else None

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return self._listener.connections

    async def close(self) -> None:
        if self._owns_listener:
            await self._listener.close()

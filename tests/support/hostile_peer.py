"""A stranger that connects to a member's mesh port, speaks the protocol of members and asks it to run queries, with or
without the cluster's secret.

As a query's initiator, it learns of the query's failure from the participant's `cancel`. It sends no heartbeats, so the
member's failure timeout must be long (`cluster.failure_after`).
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Self

import msgspec
import pyarrow as pa

from engine.plan_ir.spec import EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, ReaderSpec, RouterSpec, SharedSpec
from wire.mesh.control_channel import ControlChannel, Established, Introduced, Received
from wire.mesh.control_messages import NONCE_BYTES, Cancel, Goodbye, Identity, Start

NAME = "stranger"
#: Numbers of incarnations and of queries: none is used twice in a process.
_NUMBERS = count(1)


class HostilePeer:
    """A connection to a member. goodbye: the reason why the member refused the connection."""

    def __init__(self, connection: socket.socket, secret: bytes) -> None:
        self.goodbye: Goodbye | None = None
        self._connection = connection
        self._said: list[Cancel] = []
        identity = Identity(NAME, str(next(_NUMBERS)), "127.0.0.1:1", "127.0.0.1:1", "data", "0")
        self._channel = ControlChannel(identity, "sluice", secret, b"n" * NONCE_BYTES, dialled=True)
        self._is_open = False

    def meet(self) -> Self:
        """Perform the handshake, until it completes or the member sends a goodbye."""
        self._connection.sendall(self._channel.opening_bytes())
        while not self._is_open and self.goodbye is None and self._hear():
            pass
        return self

    def run(self, member: str, statement: str, *readers: ReaderSpec) -> Cancel:
        """Ask the member to run a DuckDB statement that it must refuse. Returns the message with its reason."""
        edge = pa.schema([pa.field("c1", pa.utf8())]).serialize().to_pybytes()
        shared = SharedSpec(
            (EdgeSpec(1, edge, RouterSpec("single"), "unsynchronized", (member,), (NAME,)),),
            (FragmentSpec(1, "local", statement, (), 1),),
            "UTC",
            1 << 20,
        )
        spec = MemberSpec(msgspec.Raw(msgspec.msgpack.encode(shared)), (InstanceSpec(1, 0, readers),))
        query = f"{NAME}:{next(_NUMBERS)}"
        for part in self._channel.send(Start(query, (NAME, member)), msgspec.msgpack.encode(spec)):
            self._connection.sendall(part)
        while True:
            for said in self._said:
                if said.query == query:
                    return said
            assert self._hear(), "the member has closed the connection"

    def _hear(self) -> bool:
        """Process the bytes that the member sends next. Returns False if it has closed the connection."""
        data = self._connection.recv(1 << 16)
        for event in self._channel.receive_data(data):
            match event:
                case Introduced():
                    self._connection.sendall(self._channel.proceed())
                case Established():
                    self._is_open = True
                case Received(Cancel() as said):
                    self._said.append(said)
                case Received(Goodbye() as goodbye):
                    self.goodbye = goodbye
        return bool(data)


@contextmanager
def hostile_peer(address: tuple[str, int], secret: bytes) -> Iterator[HostilePeer]:
    with socket.create_connection(address, timeout=60) as connection:
        yield HostilePeer(connection, secret).meet()

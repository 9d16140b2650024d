"""A member's place among the processes of its server: its channel to the dispatcher, for its clients' sockets and its
ready line.

The channel is a SOCK_SEQPACKET pair of sockets. The dispatcher sends a message of one byte with the descriptor of each
client's socket; the member sends one message, its ready line. The end of the channel tells the member that the
dispatcher is gone; the member ends too, since no client could reach it any more.
"""

from __future__ import annotations

import array
import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Sequence
from typing import Final

from server.processes.counts import SharedCounts
from wire.dataclass import dataclass

log: Final = logging.getLogger(__name__)
_CLIENT: Final = b"c"
#: The number of clients that are taken from the channel before the loop handles other events.
_BATCH: Final = 16


def hand_client(channel: socket.socket, client: socket.socket) -> None:
    """Hand a client's socket to a member; the caller closes its own descriptor. Raises OSError: BlockingIOError if the
    member has not taken the earlier ones.
    """
    descriptors = array.array("i", [client.fileno()])
    channel.sendmsg([_CLIENT], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])


@dataclass(frozen=True, slots=True)
class Place:
    """number: the index of the process, from 0. channel: to the dispatcher. addresses: those on which the dispatcher
    listens for clients.
    """

    number: int
    channel: socket.socket
    addresses: Sequence[tuple[str, int]]
    counts: SharedCounts

    def names(self, member: str) -> Sequence[str]:
        """Return the names of all processes of the server, as `server.processes.configurations` gives them. member:
        this one's name.
        """
        first = member.removesuffix(f".{self.number + 1}") if self.number else member
        return [first, *(f"{first}.{number}" for number in range(2, len(self.counts) + 1))]

    def announce(self, ready_line: str) -> None:
        """Report to the dispatcher that this member takes clients."""
        self.channel.send(ready_line.encode())

    def watch(self, on_client: Callable[[socket.socket], None]) -> None:
        """Call `on_client` on this loop with each client's socket."""
        self.channel.setblocking(False)
        asyncio.get_running_loop().add_reader(self.channel, self._take, on_client)

    def close(self) -> None:
        """Take no more clients."""
        asyncio.get_running_loop().remove_reader(self.channel)

    def _take(self, on_client: Callable[[socket.socket], None]) -> None:
        for _ in range(_BATCH):
            try:
                message, descriptors, _, _ = socket.recv_fds(self.channel, 16, 1)
            except BlockingIOError:
                return
            except OSError as error:
                log.error("a client's socket could not be taken: %s", error)
                return
            if not message:
                self.close()
                log.error("the dispatcher of this server's processes has ended")
                os.kill(os.getpid(), signal.SIGTERM)
                return
            if not descriptors:
                # Descriptors are exhausted: the system has dropped this one, which closes the client's connection.
                log.error("a client's connection was lost: file descriptors are exhausted")
                self.counts.note_closed(self.number)
            for descriptor in descriptors:
                on_client(socket.socket(fileno=descriptor))

"""Free ports that are chosen before the process starts that is to listen on them.

A port that a closed socket had is anybody's: the kernel may give it to another listener or to an outgoing connection
before the process listens. So a socket that is bound to the port, but does not listen, is kept. Another socket with
SO_REUSEADDR, which the servers of asyncio set, can be bound to the same port and listen on it; the kernel itself chooses
the port for nobody (socket(7), SO_REUSEADDR).
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack


def reserve_ports(host: str, count: int, held: ExitStack) -> Sequence[int]:
    """Return distinct free ports of an address of this machine, which are reserved until `held` is closed. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserved = [held.enter_context(socket.socket(family)) for _ in range(count)]
    for each in reserved:
        each.bind((host, 0))
        # Not before: a port that somebody else has reserved would be free for a socket with this option.
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return [int(each.getsockname()[1]) for each in reserved]

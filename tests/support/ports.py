"""Ports for servers that must be given one, such as PostgreSQL. Our servers listen on port 0 and report the port that
they were given.

The kernel takes the port for port 0 from the range that it also uses for outgoing connections, so another process may
take it before the server does. The ports of this module are below that range, and each worker process of a run has its
own.
"""

from __future__ import annotations

import itertools
import os
import socket
from typing import Final

_FIRST: Final = 20_000
_WORKERS: Final = 12
_PER_WORKER: Final = 1_000

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % _WORKERS
_numbers = itertools.cycle(range(_FIRST + _worker * _PER_WORKER, _FIRST + (_worker + 1) * _PER_WORKER))


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens and which is not among the last thousand that this process has
    returned.
    """
    return next(number for number in _numbers if _is_free(number))


def _is_free(number: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return False
    return True

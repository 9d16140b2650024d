"""Ports for servers that must be told theirs, such as PostgreSQL; ours listen on port 0 and say which it came to be.

A port that the kernel gives for port 0 is one of those that it also gives to connections going out, so that another process may
have it before the server does. These are from below that range, other ones in each process of a run.
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
    """One of 127.0.0.1 that nobody listens at, and that this process has not given for the last thousand times."""
    return next(number for number in _numbers if _is_free(number))


def _is_free(number: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return False
    return True

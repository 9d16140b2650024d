"""Limits how many of the process's file descriptors clients may take, so that running sessions can go on.

In PostgreSQL each client's socket takes a descriptor of a process of its own. Here all clients share one process:
without a limit, clients that only connect would leave no descriptors for the files that other sessions' queries have to
open. Some descriptors are therefore reserved, and a client that connects when only these are left is refused as one too
many.

The number of descriptors in use is estimated from the number of a new socket: POSIX assigns the lowest free one.
Rejected: counting the open descriptors, which costs more the more there are.
"""

from __future__ import annotations

import resource
from typing import Final

#: Descriptors that are reserved for files, Spark's connections and other members.
_KEPT_MAX: Final = 128
#: More than any member needs. Some systems allow a billion, and some programs close all of them one by one.
_RAISED_MAX: Final = 65_536


def raise_limit() -> None:
    """Raise the soft limit to what the process may have; systems set it lower at first, for the sake of old programs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _RAISED_MAX if hard == resource.RLIM_INFINITY else min(hard, _RAISED_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int:
    """Return the number of descriptors that the process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _RAISED_MAX if soft == resource.RLIM_INFINITY else soft


def scarce(descriptor: int) -> bool:
    """Return whether a client that has just got this descriptor must be refused for lack of descriptors."""
    most = limit()
    return descriptor >= most - min(_KEPT_MAX, most // 4)


def are_exhausted(descriptor: int) -> bool:
    """Return whether there are not even enough descriptors to send such a refusal."""
    most = limit()
    return descriptor >= most - min(_KEPT_MAX, most // 4) // 2

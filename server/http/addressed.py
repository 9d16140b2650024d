"""Checks the Host and Origin headers of a request, so that pages of other sites that a browser shows cannot use this
server.

A page of another site may have its own host name resolve to our address (DNS rebinding) and then read our answers as
its own. Its requests carry that name in Host, so only addresses and the known names of this machine are accepted there.
Requests that change something, and websockets, must also not come from a page of another origin, which a browser names
in Origin.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Mapping
from functools import cache


def is_for_us(headers: Mapping[str, str], names: Collection[str]) -> bool:
    """Return whether the Host header names this server. names: the server's names beside this machine's own, in lower
    case.
    """
    host = _name(headers.get("host", ""))
    return _is_address(host) or host in _own_names() or host.endswith(".localhost") or host in names


def is_from_us(headers: Mapping[str, str], scheme: str) -> bool:
    """Return whether a request comes from a page of this server, or from no page. scheme: of the request, `http` or
    `https`.
    """
    origin = headers.get("origin")
    return origin is None or origin.lower() == f"{scheme}://{headers.get('host', '')}".lower()


def _name(host: str) -> str:
    """Return the host without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and (port.isdigit() or not port) else host).strip("[]").rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@cache
def _own_names() -> frozenset[str]:
    return frozenset(("localhost", socket.gethostname().lower(), socket.gethostname().partition(".")[0].lower()))

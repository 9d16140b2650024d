"""Whether a request was meant for this server, by its Host and Origin headers: against pages of others that a browser is shown.

A page of somebody else's may have its own name resolve to our address (DNS rebinding), and then reads our answers as its own. Its
requests carry that name in Host, so only addresses are taken there, and the names that this machine is known by. What changes
something, and a websocket, must not come from a page of another origin either; a browser names it in Origin.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Mapping
from functools import cache


def is_for_us(headers: Mapping[str, str], names: Collection[str]) -> bool:
    """names: by which the server is known beside this machine's own, in small letters."""
    host = _name(headers.get("host", ""))
    return _is_address(host) or host in _own_names() or host.endswith(".localhost") or host in names


def is_from_us(headers: Mapping[str, str], scheme: str) -> bool:
    """Whether a request comes from a page of this server's, or from no page. scheme: of the request, `http` or `https`."""
    origin = headers.get("origin")
    return origin is None or origin.lower() == f"{scheme}://{headers.get('host', '')}".lower()


def _name(host: str) -> str:
    """Without the port."""
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

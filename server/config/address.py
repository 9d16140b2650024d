"""Addresses on which something listens: host and port, as the configuration, the command line and other members write
them.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from engine.common.wildcards import WILDCARDS
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """host:port; an IPv6 host in brackets. Port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+)):(\d{1,5})", text.strip())
        if not match or int(match[3]) > 65_535:
            raise ValueError("expected host:port, as in 127.0.0.1:5432")
        return cls(match[1] or match[2], int(match[3]))


def is_loopback(host: str) -> bool:
    """Return whether a host can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def reachable_from_here(host: str) -> str:
    """Return the host at which this machine reaches a socket that listens on `host`, which may stand for every
    interface.
    """
    return WILDCARDS.get(host, host)

"""Who may connect without a password: clients from the networks that the `trust` key names, loopback by default.

PostgreSQL's pg_hba.conf in one list, until there are roles and passwords. Everyone else is refused as PostgreSQL refuses
a host that no entry names.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from server.startup import Authenticator, Beginning
from wire.errors import InvalidAuthorizationSpecification
from wire.pg.auth import Authentication, Trust

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def trusting(networks: Sequence[Network]) -> Authenticator:
    """An authenticator that takes any user from `networks`. Raises InvalidAuthorizationSpecification for others."""

    def check(beginning: Beginning, peer: tuple[str, int] | None) -> Authentication:
        host = peer[0] if peer is not None else ""
        if not any(_inside(host, network) for network in networks):
            raise InvalidAuthorizationSpecification(
                f'no entry for host "{host}", user "{beginning.user}", database "{beginning.database}"',
                hint="The member's configuration names the networks it trusts under trust.",
            )
        return Trust()

    return check


def _inside(host: str, network: Network) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address) in network

"""Builds a member's identity and the options of its links from its configuration: name, addresses, and the peers to
dial.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from engine.common.wildcards import WILDCARDS
from engine.exchange.mesh_tls import MeshTls
from engine.plan_ir.topology import Topology
from server.cluster.membership import Timing
from server.cluster.mesh_link import LinkOptions
from server.common.version import VERSION
from server.config.address import Address
from server.config.start_files import read_mesh_secret
from wire.mesh.control_messages import Identity

if TYPE_CHECKING:
    from server.config.config import Config


def identity_of(config: Config, incarnation: str, mesh: str, client: Address) -> Identity:
    """Return what a member announces to other members. mesh: the address at which they reach it. client: the address at which it
    listens for clients."""
    advertised = config.cluster.advertise_client or reachable_address(client)
    return Identity(config.member, incarnation, mesh, advertised, config.cluster.role, VERSION)


def link_options(config: Config, topology: Topology | None, tls: MeshTls | None) -> LinkOptions:
    """Return the options of a member's links. It dials the seeds, and the addresses in the topology."""
    cluster = config.cluster
    nodes = topology.nodes if topology is not None else ()
    seeds = dict.fromkeys((*cluster.seeds, *(node.address for node in nodes if node.name != config.member)))
    timing = Timing(cluster.heartbeat, cluster.failure_after, cluster.forget_after)
    return LinkOptions(cluster.name, read_mesh_secret(config), tuple(seeds), timing, tls)


def host_and_port(address: str) -> tuple[str, int]:
    parsed = Address.parse(address)
    return parsed.host, parsed.port


def reachable_address(address: Address) -> str:
    """Return the address at which others reach a listener. If it listens on all interfaces, the host is this machine's name."""
    return str(Address(socket.gethostname(), address.port) if address.host in WILDCARDS else address)

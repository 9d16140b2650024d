"""Makes the listener for clients from a member's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.engine import Engine
from server.auth.gate import Gate
from server.cluster.routing import ServerMesh
from server.config.start_files import read_setting
from server.monitor.records import EndedStatements
from server.pgwire.listener import Listener, ListenerOptions
from server.pgwire.lite import ROUTING, LiteDoor

if TYPE_CHECKING:
    from server.config.config import Config


def new_listener(config: Config, engine: Engine, gate: Gate, mesh: ServerMesh) -> Listener:
    """Return the listener of a member, which is not started."""
    return Listener(
        engine.session,
        ListenerOptions(
            max_connections=config.max_connections,
            superuser_reserved_connections=config.superuser_reserved_connections,
            authentication_timeout=config.authentication_timeout,
            input_bytes_max=config.client_input_mb << 20,
            output_bytes_max=config.client_output_mb << 20,
            gate=gate,
            member=config.member,
            door=_door(config, mesh),
            ended=EndedStatements(describe=engine.monitor.last_graph),
            statements_max=int(read_setting(config, "pg_stat_statements.max")),
            log_connections=read_setting(config, "log_connections") == "on",
        ),
    )


def _door(config: Config, mesh: ServerMesh) -> LiteDoor | None:
    """Return the door of a lite member, which may relay its clients to a data member."""
    if config.cluster.role == "data":
        return None
    return LiteDoor(mesh, read_setting(config, ROUTING))

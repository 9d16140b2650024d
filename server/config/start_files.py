"""Reads the files and settings that a member needs to start. A mistake in them becomes the reason why the member does
not start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.exchange.mesh_tls import MeshTls, MeshTlsError
from engine.settings.session_settings import SETTINGS
from server.auth.gate import Access
from server.config.errors import AccessError, CannotStart

if TYPE_CHECKING:
    from server.config.config import Config


def read_setting(config: Config, name: str) -> str:
    """Return a setting that applies to the member's sessions from their start, and that the member reads itself."""
    row = SETTINGS[name]
    given = {said.lower(): value for said, value in config.settings.items()}.get(name)
    return row.default if given is None else row.read(given)


def read_mesh_tls(config: Config) -> MeshTls | None:
    """Read the certificates of the mesh. They were checked with the configuration, but the files may have changed since."""
    try:
        return config.mesh_tls()
    except MeshTlsError as error:
        raise CannotStart(f"cluster.tls.{error}") from None


def read_access(config: Config) -> Access:
    """Read the rules of access. They were checked with the configuration, but the files may have changed since."""
    try:
        return config.access()
    except AccessError as error:
        raise CannotStart(str(error)) from None


def read_mesh_secret(config: Config) -> bytes:
    """Return the secret by which this member and others authenticate each other. It is empty outside a cluster, where no member
    can connect. Raises CannotStart."""
    try:
        return config.mesh_secret() if config.in_cluster else b""
    except ValueError as error:
        raise CannotStart(f"cluster.secret: {error}") from None

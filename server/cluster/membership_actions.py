"""The actions that the membership machine returns; the owner of the sockets performs them
(`server.cluster.mesh_link`).
"""

from __future__ import annotations

from wire.dataclass import dataclass
from wire.mesh.control_messages import ControlMessage, Goodbye


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect to `address` as link `link`; report `link_connected` or `link_closed`."""

    link: int
    address: str


@dataclass(frozen=True, slots=True)
class Proceed:
    """Continue the handshake (`ControlChannel.proceed`)."""

    link: int


@dataclass(frozen=True, slots=True)
class Say:
    link: int
    message: ControlMessage


@dataclass(frozen=True, slots=True)
class Close:
    """Close the link. goodbye: the message to send first."""

    link: int
    goodbye: Goodbye | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Notify the listeners that messages to and from this member are lost."""

    member: str


@dataclass(frozen=True, slots=True)
class Log:
    level: int
    text: str


Action = Dial | Proceed | Say | Close | Lost | Log
Actions = list[Action]

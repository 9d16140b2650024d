"""The mesh as the runtime sees it: the members, and messages to them. Implemented by `server.cluster.mesh_link`.

A `Mesh` delivers control messages in the order in which they were sent to a member, at most once. A member that is lost
(its connection broke, its heartbeats stopped, it left) is reported once; messages to it are dropped from then on, until
it is back with another incarnation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from engine.contracts.shared_spark import UNSHARED, SharedSpark
from wire.dataclass import dataclass
from wire.mesh.control_messages import ControlMessage

Role = Literal["data", "lite"]
#: joining: known by name, no connection yet. up: heartbeats arrive. suspect: they are late. draining: it takes no new
#: query. lost: it was up and is not reachable. left: it said goodbye.
MemberState = Literal["joining", "up", "suspect", "draining", "lost", "left"]


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A member as the others know it.

    id: its configured name, unique in the cluster. incarnation: a new one each time it starts.
    mesh, client: host:port for members and for PostgreSQL clients. load: queries that it takes part in. version: Sluice's.
    local: whether it is this process. spark: the Spark that it shares with others.
    """

    id: str
    incarnation: str
    mesh: str
    client: str
    role: Role
    state: MemberState
    load: int
    version: str
    local: bool = False
    spark: SharedSpark = UNSHARED


Handler = Callable[[str, ControlMessage, bytes], None]


class Members(Protocol):
    """The members of the cluster, as far as plans depend on them."""

    @property
    def member(self) -> str:
        """This member's id."""
        ...

    def members(self) -> Sequence[MemberInfo]:
        """Return all known members, this one included, ordered by id."""
        ...


@dataclass(frozen=True, slots=True)
class MembersNow:
    """The members at one moment, for threads other than the loop's (`Members`)."""

    member: str
    infos: Sequence[MemberInfo]

    @classmethod
    def of(cls, mesh: Members) -> MembersNow:
        return cls(mesh.member, tuple(mesh.members()))

    def members(self) -> Sequence[MemberInfo]:
        return self.infos


class Mesh(Members, Protocol):
    """The members, and the control messages between them; see the module's docstring. All methods are called on the
    loop's thread.
    """

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        """Queue a message. Return False if the member cannot be reached now, and the message is dropped."""
        ...

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        """Register the handlers of messages (member, message, body) and of members that were lost. Called once, at start."""
        ...


class AloneMesh:
    """The mesh of a member that has no others."""

    def __init__(self, info: MemberInfo) -> None:
        self._info = info

    @classmethod
    def of(cls, member: str) -> AloneMesh:
        """Return the mesh of a data member of that name."""
        return cls(MemberInfo(member, "1", "", "", "data", "up", 0, "", local=True))

    @property
    def member(self) -> str:
        return self._info.id

    def members(self) -> Sequence[MemberInfo]:
        return (self._info,)

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        del member, message, body
        return False

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        """Do nothing, since no message will arrive."""

"""One query on one member: its states, its events, and the instructions that each event results in. Pure: no clock, IO
or thread.

Theory. The machine is the network-protocol seed's (3.2 to 3.5) with its races made cells of a table. Events come in, a
list of instructions goes out, and the caller performs them in the order of the list; so a race is a comparison of two
lists.

    state      start      stop        finish      drained
    early      running    over        .           .           a channel was asked for, the start has not come
    running    (refused)  stopping    finishing   over        fragments are being set up, or run
    finishing  (refused)  stopping    .           over        initiator: all rows are there, local fragments end
    stopping   .          .           .           over        Stop was issued, local fragments end
    over       .          .           .           .           remembered for a while (`engine.runtime.queries`)

    stop: an error, a cancel from anywhere, a lost member, enough rows. drained: the fragments were set up and the last has
    ended; for an initiator's running query it does not occur, since the portal may still want rows. `.`: nothing changes,
    nothing is done, so a repeated cause costs no message.

Entering `running` issues Run, `stopping` issues Stop, `over` issues DropEarly (from early) or Forget. Leaving `early`
or `running` by a stop also informs the other members, in two steps (3.3): a participant informs the initiator, the
initiator informs all others except the one that it knows the cause from. That is at most N - 1 messages to the
initiator and N - 1 from it.

**Echoes.** When a member fails, streams to its neighbours break, and a neighbour's error may overtake the cause. So a cause may be
an `echo`: the effect of a failure whose cause another member knows. An echo stops nothing at once. It puts the query
under suspicion (the initiator is asked about it), and only if no other cause arrives within `Limits.echo_seconds` does
it become a cause. The first cause at the initiator is the one that the client receives.

Considered and rejected: acknowledgements of cancel (the initiator would wait for the slowest; `check` finds what was
missed); an end message from each participant (a query of N members would cost N messages more, and the streams have
reported it already).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.mesh.control_messages import Cancel, ControlMessage, Start
from wire.mesh.error_fields import ErrorFields, error_from_fields, fields_of

State = Literal["early", "running", "finishing", "stopping", "over"]
Event = Literal["start", "stop", "finish", "drained"]

TRANSITIONS: Final[Mapping[State, Mapping[Event, State]]] = {
    "early": {"start": "running", "stop": "over"},
    "running": {"stop": "stopping", "finish": "finishing", "drained": "over"},
    "finishing": {"stop": "stopping", "drained": "over"},
    "stopping": {"drained": "over"},
    "over": {},
}

SUCCESS: Final = "00000"
#: Characters of each text of a cancel: three of them, at four bytes each, fit the 64 KiB of a frame's header.
_TEXT_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and counts that bound what a member keeps of other members' queries.

    - suspect_seconds: how long a query of another initiator runs before, and between, checks of it
    - echo_seconds: how long an echo waits for the cause that explains it
    - early_seconds, early_queries: how long a channel may be open before its query starts; how many queries may have
      such channels
    - check_queries: how many queries one check may name; the others are named in the next
    - over_seconds, over_queries: how long, and how many, queries that are over are remembered
    """

    suspect_seconds: float = 10.0
    echo_seconds: float = 1.0
    early_seconds: float = 30.0
    early_queries: int = 256
    check_queries: int = 512
    over_seconds: float = 600.0
    over_queries: int = 65_536


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason why a query is over.

    - sqlstate: 00000 is no error (enough rows, closed by the client)
    - member: where the cause comes from, if not from here
    - fields: the other fields of an error
    - echo: the effect of a failure whose cause another member knows, such as a broken stream; see the module's
      docstring
    """

    sqlstate: str
    message: str
    detail: str = ""
    hint: str = ""
    member: str = ""
    echo: bool = False
    fields: ErrorFields | None = None

    @property
    def is_failure(self) -> bool:
        return self.sqlstate != SUCCESS

    @classmethod
    def of_error(cls, error: SqlError) -> Cause:
        return cls(error.sqlstate, error.message, error.detail or "", error.hint or "", fields=fields_of(error))

    @classmethod
    def of_message(cls, message: Cancel) -> Cause:
        fields = message.fields
        return cls(message.sqlstate, message.message, message.detail, message.hint, message.member, fields=fields)

    def error(self) -> SqlError:
        """Return the error for the client."""
        return error_from_fields(self.sqlstate, self.message, self.detail, self.hint, self.fields)


@dataclass(frozen=True, slots=True)
class Send:
    """Give the message to the mesh; if it cannot be sent, `on_member_lost` will report that."""

    member: str
    message: ControlMessage


@dataclass(frozen=True, slots=True)
class Run:
    """Set up and run the fragments in `body`, adopting early mailboxes. The caller answers with one
    `fragments_started`.
    """

    query: str
    message: Start
    body: bytes
    sender: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop all local fragments now, drop the mailboxes and return their credits. May come twice; the second one finds
    fragments that were being set up at the first. Each fragment is still reported by `fragment_ended`.
    """

    query: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Fail:
    """Initiator: report the error to the portal. At most once a query, before its Stop."""

    query: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class DropEarly:
    """Drop the mailboxes that were registered before the start, and return their credits. The query has nothing else
    here.
    """

    query: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Forget the query: no fragment and no entry of it is left here."""

    query: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A message of a peer that violates the protocol and was ignored; to be logged."""

    sender: str
    why: str


Instruction = Send | Run | Stop | Fail | DropEarly | Forget | Refused


class Query:
    """See the module's docstring. token, initiator: of the query; member: this one; now: when the query became known,
    in seconds.
    """

    def __init__(self, token: str, initiator: str, member: str, now: float) -> None:
        self.token = token
        self.initiator = initiator
        self.participants: tuple[str, ...] = ()
        self.state: State = "early"
        self._member = member
        self._since = now
        self._asked = now
        self._set_up = self._arrived = False
        self._fragments: set[int] = set()
        self._cause: Cause | None = None
        self._echo: Cause | None = None
        self._echoed = now

    @property
    def mine(self) -> bool:
        """Whether this member is the initiator."""
        return self.initiator == self._member

    @property
    def under_way(self) -> bool:
        """Whether this member accepts the query's streams."""
        return self.state in ("early", "running", "finishing")

    # -- events -------------------------------------------------------------------------------------------------

    def start(self, participants: tuple[str, ...]) -> None:
        """Note that the query's fragments are being set up. Only from early; the caller issues Run."""
        assert self.state == "early", self.state
        self.participants = participants
        self._go("start")

    def fragments_started(self, fragments: tuple[int, ...]) -> list[Instruction]:
        """Note that the fragments were set up and run. If the query was stopped meanwhile, they are stopped.

        No fragments at all do not end a participant that runs: a start without fragments is not sent, so they could not
        be set up, and the stop that says why is on its way.
        """
        assert not self._set_up, f"{self.token} was set up twice"
        assert self.state in ("running", "stopping"), self.state
        self._set_up = True
        self._fragments = set(fragments)
        if self.state == "stopping" and fragments:
            assert self._cause is not None
            return [Stop(self.token, self._cause)]
        return self._drain() if self.state == "stopping" else []

    def fragment_ended(self, fragment: int, cause: Cause | None, now: float) -> list[Instruction]:
        """Note that a fragment has ended and holds no resources. cause: why it ended before its whole output was taken."""
        assert fragment in self._fragments, f"{self.token} runs no fragment {fragment}"
        self._fragments.discard(fragment)
        stopped = self.stop(cause, self._member, now) if cause is not None and cause.is_failure else []
        return stopped or self._drain()

    @property
    def needs_others(self) -> bool:
        """Whether the query may lack rows if a participating member is lost."""
        return self.state != "finishing" and not self._arrived

    def streams_arrived(self) -> None:
        """Initiator: note that all streams have arrived whole, while the portal may still want rows: a cursor continues
        without the members that sent them. The query is not finished, because that would discard what has arrived.
        """
        assert self.mine, f"{self.token} is read by its initiator only"
        self._arrived = True

    def finish(self) -> list[Instruction]:
        """Initiator: note that the root has ended and all streams have arrived whole. No later event can fail the
        query.
        """
        assert self.mine, f"{self.token} is finished by its initiator only"
        if not self._go("finish"):
            return []
        self._echo = None
        return self._drain()

    def stop(self, cause: Cause, source: str, now: float) -> list[Instruction]:
        """Stop the query. source: the member that knows already: the one that sent the cause, or that was lost; this
        one if the cause is local.
        """
        if cause.echo:
            self._suspect(cause, now)
            return []
        before = self.state
        if not self._go("stop"):
            return []
        self._cause, self._echo = cause, None
        others = [Send(member, self._cancel(cause)) for member in self._to_tell(source, before)]
        if before == "early":
            return [*others, DropEarly(self.token)]
        fail = [Fail(self.token, cause)] if self.mine and before == "running" and cause.is_failure else []
        return [*fail, *others, Stop(self.token, cause), *self._drain()]

    def expire(self, limits: Limits, now: float) -> list[Instruction]:
        """Apply the timeouts: an echo that nothing explained becomes a cause; a start that did not come is no longer
        awaited.
        """
        if self._echo is not None and now - self._echoed >= limits.echo_seconds:
            return self.stop(replace(self._echo, echo=False), self._member, now)
        if self.state == "early" and now - self._since >= limits.early_seconds:
            message = f"could not complete the query: its start did not reach member {self._member}"
            return self.stop(transient_cause(message), self._member, now)
        return []

    def asks(self, limits: Limits, now: float) -> bool:
        """Return whether to ask the initiator now if the query is still running; if so, it counts as asked."""
        if self.mine or self.state not in ("early", "running"):
            return False
        if now - self._asked < limits.suspect_seconds and not (self._echo is not None and self._asked <= self._echoed):
            return False
        self._asked = now
        return True

    # -- transitions --------------------------------------------------------------------------------------------

    def _go(self, event: Event) -> bool:
        """Take the event's transition. Returns False if the event has no effect in this state."""
        after = TRANSITIONS[self.state].get(event)
        if after is None:
            return False
        self.state = after
        return True

    def _drain(self) -> list[Instruction]:
        """End the query if none of its fragments runs here and no echo is left to be explained."""
        waits = self.state == "running" and (self.mine or self._echo is not None)
        if waits or not self._set_up or self._fragments:
            return []
        return [Forget(self.token)] if self._go("drained") else []

    def _suspect(self, cause: Cause, now: float) -> None:
        if self.state in ("early", "running") and self._echo is None:
            self._echo, self._echoed = cause, now

    def _to_tell(self, source: str, before: State) -> tuple[str, ...]:
        """Return the members that do not know of the stop yet. Once an initiator finishes, no other member has a part
        of the query left to stop.
        """
        if not self.mine:
            return (self.initiator,) if source == self._member else ()
        if before == "finishing":
            return ()
        return tuple(member for member in self.participants if member not in (self._member, source))

    def _cancel(self, cause: Cause) -> Cancel:
        message, detail, hint = (text[:_TEXT_MAX] for text in (cause.message, cause.detail, cause.hint))
        return Cancel(self.token, cause.member or self._member, cause.sqlstate, message, detail, hint, cause.fields)


def transient_cause(message: str, member: str = "") -> Cause:
    """Return a cause after which a client may retry."""
    return Cause("40001", message, hint="The statement may be repeated.", member=member)


def lost(member: str) -> Cause:
    """Return the cause of a query that needed a lost member."""
    return transient_cause(f"could not complete the query: member {member} was lost", member)

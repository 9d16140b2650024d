"""A world of members that run one query: the steps that may happen next, and the invariants.

    world = World(scenario)
    state = world.first()
    for step in world.steps(state): after = world.after(state, step)      # raises Violation

A state is a tuple: the numbers of learned machines (`parts`), the messages in flight between them, and the phase of
each instance of a fragment. The machines are the product's. The world itself does what `engine.runtime.runtime` does
between them: it performs instructions, opens streams and asks again when it is told to, reports fragments that have
ended, and reads the root. A link keeps the order of the messages sent over it and promises nothing else.

Messages of a control connection travel as values, those of a data connection as the bytes of a frame.
`tests/properties` tests frames that are cut at any byte.

Invariants of each state:

- Rows come out exactly once and in the order of their stream.
- No bytes are in flight that were not granted. Every byte of credit is with the sender, in flight, or held. No more
  credit is granted than a window, or than one larger batch that waits.
- An attempt replaces no later one, and none that has arrived completely. A partition that is known to have no rows is
  not accepted.
- A member that was told to stop runs nothing. The client receives the first cause that reached the initiator, and only
  once, and no loss of a member is reported where all its rows have arrived. The first error of a receiver stays. At
  most 2N messages cancel a query, and none goes to the member from which the cancellation came.
- Where the scenario says so, each machine refuses a hostile peer, in each of its states (`hostile`).

Invariants of the end, where nothing more can happen but mishaps: if no mishap hit the query, all its rows have arrived,
and nothing of it is registered anywhere. Only where a member or a connection was lost does time have to pass until
then.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from chart import charted
from explorer import Step, Violation
from hostile import probe_coordinator, probe_inlets
from learned import Learned
from parts import (
    SCHEMA_MESSAGE,
    Closed,
    Coordinator,
    Effect,
    Inlets,
    InletView,
    Lost,
    Outlet,
    OutletView,
    Taken,
    Written,
)
from parts import body as make_body
from scenario import MISHAPS, PAGE_BYTES, QUERY, Mishap, Scenario, Sender, row

from engine.exchange.receive import WINDOW_BATCHES
from engine.exchange.send import schema_fingerprint
from engine.runtime import query_state
from engine.runtime.query_state import (
    Cause,
    DropEarly,
    Fail,
    Forget,
    Instruction,
    Refused,
    Run,
    Send,
    Stop,
    transient_cause,
)
from wire.mesh import messages
from wire.mesh.channel import State as ChannelState
from wire.mesh.control_messages import (
    Cancel,
    ChannelDeny,
    ChannelOk,
    Check,
    CheckResponse,
    ControlMessage,
    OpenChannel,
    Produced,
    Start,
)
from wire.mesh.framing import FrameReader

CLOSED_EARLY: Final = Cause("00000", "the initiator wants no more rows")
CANCELED: Final = Cause("57014", "canceled by the user")
FAILED: Final = Cause("22012", "division by zero")
BROKEN: Final = Cause("40001", "a data connection was lost", echo=True)
ABORTED: Final = Cause("40001", "the job was aborted: its task failed too often")
UNREAD: Final = Cause("08P01", "the plan could not be read")
BROKEN_SQLSTATE: Final = "08006"
#: The length of a clock jump: longer than the waits for an echo and for a check. Then, the number of jumps, when
#: nothing else can happen, after which everything must be over: to ask and to be answered; where no member can be
#: asked, longer than the wait for a start that did not come.
_JUMP_SECONDS: Final = 11.0
_JUMPS: Final = 2
_LONE_JUMPS: Final = 4
#: Mishaps that a member reports, so that the query ends without a check or a timeout.
_TOLD: Final[frozenset[Mishap]] = frozenset({"cancel", "fail", "close", "unread", "unsent"})
#: Mishaps that a query survives whose streams outlive their connections.
_OUTLIVED: Final[frozenset[Mishap]] = frozenset({"sever"})
_FINGERPRINT: Final = schema_fingerprint(SCHEMA_MESSAGE)
_INITIATOR: Final = 0
#: The member that does not receive the query's start where that is a mishap.
_UNREACHED: Final = 1


class Stream(NamedTuple):
    """An instance that sends, and its stream.

    phase: see `_PHASES`.
    outlet: the number of its machine, -1 without one.
    sent: the number of batches offered.
    held: a batch that it has read and not yet offered.
    source_ended: whether no more batches will come.
    cause: the reason why it ended.
    told: the channel, if the start message contained it.
    connection: its number, -1 without one.
    attempt: the number of the connection that carries a stream that outlives its connections.
    last: whether the stream was offered completely.
    """

    phase: str = "off"
    outlet: int = -1
    connection: int = -1
    attempt: int = 0
    sent: int = 0
    held: bytes = b""
    source_ended: bool = False
    cause: Cause | None = None
    told: tuple[str, bytes] | None = None
    cut: bool = False
    last: bool = False


#: off: does not run. ready: wants its stream opened. asking: has asked where. connecting: may connect. opening: has
#: introduced itself. open. last: has sent everything. done: has ended, which is not yet reported. ended: has reported
#: it. sending: a job whose tasks send. over: an attempt at a task that has ended.
_PHASES: Final = ("off", "ready", "asking", "connecting", "opening", "open", "last", "done", "ended", "sending", "over")
_RESTING: Final = ("off", "ended", "over")


class Connection(NamedTuple):
    """A data connection: the bytes in flight in each direction (None: its end), and which ends still hold it."""

    stream: int
    to_receiver: tuple[bytes | None, ...] = ()
    to_sender: tuple[bytes | None, ...] = ()
    accepted: bool = False
    at_receiver: bool = True
    at_sender: bool = True


_ENDED: Final = Connection(-1, at_receiver=False, at_sender=False)


class Member(NamedTuple):
    """A member's part: machines by number, -1 when it has crashed. part: none; waiting (it has received the start);
    adopted (its instances run, which is not reported yet: `started`); running; forgotten.
    """

    coordinator: int
    inlets: int
    part: str = "none"
    stopped: bool = False


class Root(NamedTuple):
    """The portal. state: reading, waiting (for the cause), finished, failed, closed. rows: batches read, by instance."""

    state: str
    rows: tuple[int, ...]


class State(NamedTuple):
    """The complete state; see the module's docstring.

    links: messages by (sender, receiver); None stands for the connection's end.
    down: links that carry nothing until both ends know that they broke.
    left: mishaps that may still happen.
    jumps: the number of jumps of the clock.
    cause, echo: the first cause that reached the initiator, and an echo of it.
    fails: how many errors the client has received.
    cancels: the number of cancel messages.
    """

    members: tuple[Member, ...]
    links: tuple[tuple[ControlMessage | None, ...], ...]
    down: frozenset[int]
    streams: tuple[Stream, ...]
    connections: tuple[Connection, ...]
    root: Root
    left: tuple[int, ...]
    jumps: int = 0
    now: float = 0.0
    cause: Cause | None = None
    echo: Cause | None = None
    over: bool = False
    fails: int = 0
    cancels: int = 0
    mishaps: frozenset[Mishap] = frozenset()


class World:
    """A world of members that run one query; see the module's docstring."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.coordinators: Learned[Coordinator] = Learned()
        self.inlets: Learned[Inlets] = Learned()
        self.outlets: Learned[Outlet] = Learned()
        self.edges = scenario.edge_specs()
        self.names = scenario.participants
        self.index = {name: number for number, name in enumerate(self.names)}
        self.pairs = [
            (one, other) for one in range(len(self.names)) for other in range(len(self.names)) if one != other
        ]
        self.link = {pair: number for number, pair in enumerate(self.pairs)}
        self.receiving = [self.index[edge.receivers[0]] for edge in self.edges]
        self.senders = scenario.senders()
        self.lasting = all(sender.instance.lasting for sender in self.senders)
        self.idle = any(sender.instance.idle for sender in self.senders)
        self.running_at = [self.index[sender.instance.member] for sender in self.senders]
        #: The largest batch that is sent: this much may be granted at once.
        self._largest = max(len(scenario.batch(number, 0)) for number in range(len(scenario.instances)))
        self._probed: set[tuple[str, int]] = set()

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def learned(self) -> int:
        return self.coordinators.known + self.inlets.known + self.outlets.known

    def charted(self, way: Sequence[Step]) -> str:
        return charted(self, way)

    def first(self) -> State:
        """Return the state in which the query has begun: the start messages are in flight."""
        members = tuple(
            Member(self.coordinators.number(Coordinator(name)), self.inlets.number(Inlets())) for name in self.names
        )
        draft = Draft(
            self,
            State(
                members,
                ((),) * len(self.pairs),
                frozenset(),
                (Stream(),) * len(self.senders),
                (),
                Root("reading", (0,) * len(self.scenario.instances)),
                tuple(self.scenario.mishaps.get(kind, 0) for kind in MISHAPS),
            ),
        )
        draft.begin()
        return draft.done()

    def after(self, state: State, step: Step) -> State:
        """Return the state after a step. Raises Violation."""
        draft = Draft(self, state)
        getattr(draft, f"do_{step[0]}")(*step[1:])
        after = draft.done()
        self.check(after)
        self._check_arrivals(state, after)
        return after

    # -- what may happen ----------------------------------------------------------------------------------------

    def steps(self, state: State) -> list[Step]:
        """Return all steps that may happen next. Raises Violation if there is none and the final state is wrong."""
        found = list(self._course(state))
        if not found and (state.mishaps or not self.idle):
            left_over = self._left_over(state)
            jumps = (
                0
                if state.mishaps <= (_TOLD | _OUTLIVED if self.lasting else _TOLD)
                else _JUMPS
                if self._alive(state, _INITIATOR)
                else _LONE_JUMPS
            )
            if left_over and state.jumps >= jumps:
                raise Violation(left_over)
            if left_over:
                found.append(("jump",))
        return [*found, *self._mishaps(state)]

    def _course(self, state: State) -> Iterator[Step]:
        """Yield the steps that happen without a mishap."""
        for number, link in enumerate(state.links):
            if link and self._alive(state, self.pairs[number][1]):
                yield ("deliver", number)
        for number, connection in enumerate(state.connections):
            if connection.to_receiver and connection.at_receiver:
                yield ("arrive", number)
            if connection.to_sender and connection.at_sender:
                yield ("hear", number)
        for number, member in enumerate(state.members):
            if member.part in ("waiting", "adopted") and member.coordinator >= 0:
                yield ("set_up", number)
        for number, stream in enumerate(state.streams):
            member = state.members[self.running_at[number]]
            if member.coordinator < 0:
                continue
            yield from self._course_of(state, number, stream, member)
        if (
            state.root.state == "reading"
            and state.members[0].coordinator >= 0
            and self._news(state, 0, state.members[0])
        ):
            yield ("read",)

    def _course_of(self, state: State, number: int, stream: Stream, member: Member) -> Iterator[Step]:
        match stream.phase:
            case "ready" if self._may_open(state, number, stream):
                yield ("open", number)
            case "connecting":
                yield ("connect", number)
            case "open" if not self.senders[number].instance.idle and not self.outlets.observed(stream.outlet).pending:
                reads = self.senders[number].instance.reads
                if stream.held or stream.source_ended or reads is None:
                    yield ("offer", number)
                elif self._news(state, reads, member):
                    yield ("pass", number)
            case "done" if member.part == "running":
                yield ("ended", number)

    def _may_open(self, state: State, number: int, stream: Stream) -> bool:
        """Return whether an instance may ask where its stream goes. An instance with a lasting stream waits until the
        receiver can be asked.
        """
        link = self.link[self.running_at[number], self.receiver_of(number)]
        return stream.told is not None or not self.senders[number].instance.lasting or link not in state.down

    def _news(self, state: State, edge: int, member: Member) -> bool:
        """Return whether the consumer of an edge would read something."""
        taken = self._taken(member, edge)[1]
        return bool(taken.rows or taken.ended or taken.error)

    def _taken(self, member: Member, edge: int) -> tuple[int, Taken, tuple[Effect, ...]]:
        inlets, (taken, effects) = self.inlets.step(member.inlets, "take", QUERY, edge, 0)
        return inlets, taken, effects

    def _mishaps(self, state: State) -> Iterator[Step]:
        left = dict(zip(MISHAPS, state.left, strict=True))
        alive = [number for number in range(len(state.members)) if self._alive(state, number)]
        if left["crash"]:
            yield from (("crash", number, heard) for number in alive for heard in (True, False))
        if left["part"]:
            for number, (one, other) in enumerate(self.pairs):
                both = one in alive and other in alive
                if both and number not in state.down and self.link[other, one] not in state.down:
                    yield ("part", number)
        if left["sever"]:
            for number, connection in enumerate(state.connections):
                if self._may_sever(connection):
                    yield ("sever", number)
        if left["cancel"]:
            yield from (("cancel", n) for n in alive if state.members[n].part == "running")
        if left["fail"]:
            for number, stream in enumerate(state.streams):
                if stream.phase in ("ready", "asking", "connecting", "opening", "open"):
                    yield ("fail", number)
        if left["twin"]:
            for number, stream in enumerate(state.streams):
                if stream.phase == "sending" and number + 1 < len(state.streams):
                    yield from (("twin", n) for n in self.attempts(number) if state.streams[n].phase == "off")
        if left["cut"]:
            for number, stream in enumerate(state.streams):
                if self._may_cut(number, stream):
                    yield ("cut", number)
        if left["close"] and state.root.state == "reading" and _INITIATOR in alive:
            yield ("close",)
        if left["unread"]:
            yield from (("unread", n) for n in alive if state.members[n].part == "waiting")
        if left["tick"]:
            yield ("tick",)

    def _may_sever(self, connection: Connection) -> bool:
        """Return whether the connection may break. A connection of a lasting stream may also break after its sender has
        closed it, while bytes are in flight: the sender must not close before everything has arrived.
        """
        if not connection.at_receiver or None in connection.to_sender:
            return False
        lasting = connection.stream >= 0 and self.senders[connection.stream].instance.lasting
        return connection.at_sender or (lasting and len(connection.to_receiver) > 1)

    def _may_cut(self, number: int, stream: Stream) -> bool:
        attempt = self.senders[number].job is not None and stream.phase == "open"
        return attempt and not self.outlets.observed(stream.outlet).pending

    def attempts(self, job: int) -> range:
        """Return the indexes of the attempts at a job's task."""
        return range(job + 1, job + 1 + (self.senders[job].instance.attempts or 0))

    def receiver_of(self, sender: int) -> int:
        """Return the member that receives a sender's stream."""
        return self.receiving[self.senders[sender].instance.edge]

    def _alive(self, state: State, member: int) -> bool:
        return state.members[member].coordinator >= 0

    # -- what must hold -----------------------------------------------------------------------------------------

    def check(self, state: State) -> None:
        """Check the invariants of a state. Raises Violation."""
        for number, connection in enumerate(state.connections):
            self._check_credit(state, number, connection)
        if state.cancels > 2 * (len(self.names) - 1):
            raise Violation(f"{state.cancels} messages to cancel")
        for number, stream in enumerate(state.streams):
            member = state.members[self.running_at[number]]
            if member.stopped and stream.phase not in ("done", *_RESTING):
                raise Violation(f"instance {number} runs after its member was told to stop")
        for name, member in zip(self.names, state.members, strict=True):
            if member.coordinator >= 0:
                self._check_grants(member)
                self._probe(name, member)

    def _check_grants(self, member: Member) -> None:
        """Check that no receiver comes to hold more than a window, or one batch that is larger."""
        view: InletView = self.inlets.observed(member.inlets)
        for account in view.accounts:
            if (most := account.granted - account.released) > max(account.window, self._largest):
                raise Violation(f"a receiver may come to hold {most} bytes, its window has {account.window}")

    def _check_arrivals(self, before: State, after: State) -> None:
        """Check that no attempt replaces a later one, and that one that has arrived completely stays."""
        for one, other in zip(before.members, after.members, strict=True):
            if one.inlets == other.inlets or other.coordinator < 0:
                continue
            before_it: InletView = self.inlets.observed(one.inlets)
            after_it: InletView = self.inlets.observed(other.inlets)
            known, now = before_it.arrivals, after_it.arrivals
            for receiver, error in before_it.errors.items():
                if after_it.errors.get(receiver, error) != error:
                    raise Violation(f"the cause was {error}, and now it is {after_it.errors[receiver]}")
            for query, edge, instance, partition in now.keys() - known.keys():
                promised = before_it.promised.get((query, edge, instance))
                if promised is not None and partition not in promised:
                    raise Violation(f"partition {partition} is taken in, of which it is known that it has no rows")
            for key in known.keys() & now.keys():
                if now[key] != known[key] and (known[key].whole or now[key].attempt < known[key].attempt):
                    raise Violation(f"partition {key[-1]}: {now[key]} takes the place of {known[key]}")

    def _probe(self, name: str, member: Member) -> None:
        """Probe the machines with the messages of a hostile peer, in states that have not been probed."""
        if not self.scenario.hostile:
            return
        if (mark := ("inlets", member.inlets)) not in self._probed:
            self._probed.add(mark)
            probe_inlets(self.inlets, member.inlets)
        if (mark := (name, member.coordinator)) not in self._probed:
            self._probed.add(mark)
            probe_coordinator(self.coordinators, member.coordinator, name, self.names)

    def _check_credit(self, state: State, number: int, connection: Connection) -> None:
        stream = state.streams[connection.stream]
        receiver = self.receiving[self.senders[connection.stream].instance.edge]
        both = connection.at_sender and connection.at_receiver
        whole = both and connection.accepted and None not in connection.to_sender
        if not whole or stream.connection != number or not self._alive(state, receiver):
            return
        sender: OutletView = self.outlets.observed(stream.outlet)
        if sender.state is ChannelState.OPENING:
            # It has not heard what the receiver holds of an earlier connection.
            return
        view: InletView = self.inlets.observed(state.members[receiver].inlets)
        for account in view.accounts:
            if account.number == number:
                in_flight = sum(body_bytes(chunk) for chunk in connection.to_receiver if chunk)
                if sender.sent != account.received + in_flight:
                    raise Violation(f"{sender.sent} bytes sent, {account.received} received, {in_flight} in flight")
                if not sender.sent <= sender.granted <= account.granted or (not sender.granted and sender.sent):
                    raise Violation(
                        f"{sender.sent} bytes sent of {sender.granted} (at the receiver: {account.granted})"
                    )
                more = account.granted > max(account.received, account.released + account.window)
                if more and not sender.pending and not in_flight:
                    raise Violation("more than a window is granted, and no batch waits that is larger")

    def _left_over(self, state: State) -> str:
        """Return what is wrong in a state in which nothing more happens without a mishap."""
        for number, member in enumerate(state.members):
            if member.coordinator < 0:
                continue
            name = self.names[number]
            if self.coordinators.observed(member.coordinator).kept:
                return f"member {name} still keeps the query"
            view: InletView = self.inlets.observed(member.inlets)
            if view.registered or view.held:
                return f"member {name} still has mailboxes or connections, {view.held} bytes in them"
            if member.part not in ("none", "forgotten"):
                return f"member {name} has not ended its part"
        for number, stream in enumerate(state.streams):
            if self._alive(state, self.running_at[number]) and stream.phase not in _RESTING:
                return f"instance {number} has not ended: {stream.phase}"
        if any(c.at_sender and self._alive(state, self.running_at[c.stream]) for c in state.connections):
            return "a data connection is open at its sender"
        return self._unanswered(state)

    def _unanswered(self, state: State) -> str:
        if not self._alive(state, _INITIATOR):
            return ""
        if state.root.state in ("reading", "waiting"):
            return "the client still waits"
        befell = state.mishaps - _OUTLIVED if self.lasting else state.mishaps
        if state.root.state != "finished" and not befell:
            return "the query did not succeed, though nothing befell it"
        return ""


@functools.lru_cache(1 << 14)
def body_bytes(chunk: bytes) -> int:
    """Return how many bytes of batches a chunk contains."""
    reader = FrameReader(preface=chunk.startswith(b"sluice"), body_limit=1 << 20)
    return sum(len(item.body) for item in reader.feed(chunk))


class Draft:
    """A state that is being changed into the next one."""

    def __init__(self, world: World, state: State) -> None:
        self.world = world
        self.state = state
        self.members = list(state.members)
        self.links = list(state.links)
        self.down = state.down
        self.streams = list(state.streams)
        self.connections = list(state.connections)
        self.root = state.root
        self.left = state.left
        self.jumps, self.now = state.jumps, state.now
        self.cause, self.echo, self.over = state.cause, state.echo, state.over
        self.fails, self.cancels, self.mishaps = state.fails, state.cancels, state.mishaps

    def done(self) -> State:
        connections = (c if c.at_sender or c.at_receiver else _ENDED for c in self.connections)
        return State(
            tuple(self.members),
            tuple(self.links),
            self.down,
            tuple(self.streams),
            tuple(connections),
            self.root,
            self.left,
            self.jumps,
            self.now,
            self.cause,
            self.echo,
            self.over,
            self.fails,
            self.cancels,
            self.mishaps,
        )

    def begin(self) -> None:
        world = self.world
        self.coordinate(_INITIATOR, "begin", QUERY, world.names, self.now)
        channels = self.adopt(_INITIATOR)
        self.do_set_up(_INITIATOR)
        unsent = bool(self.left[MISHAPS.index("unsent")])
        for member in range(1, len(world.names)):
            if not unsent or member != _UNREACHED:
                self.send(_INITIATOR, member, Start(QUERY, world.names))
        if unsent:
            self.spend("unsent")
            self.cancel(_INITIATOR, query_state.lost(world.names[_UNREACHED]))
        for number, sender in enumerate(world.senders):
            instance = sender.instance
            # Its start tells where the initiator's own receiving ends are.
            if not instance.attempts and (world.receiving[instance.edge], instance.member != "a") == (_INITIATOR, True):
                self.stream(number, told=channels[instance.edge])

    # -- steps --------------------------------------------------------------------------------------------------

    def do_deliver(self, link: int) -> None:
        """Deliver the first message of a link."""
        message, *rest = self.links[link]
        self.links[link] = tuple(rest)
        sender, receiver = self.world.pairs[link]
        match message:
            case None:
                self.down -= (
                    {link, self.world.link[receiver, sender]} if self.world._alive(self.state, sender) else set()
                )
                self.lost(receiver, sender)
            case OpenChannel() | Produced():
                self.asked(sender, receiver, message)
            case ChannelOk(request, channel, token):
                if self.streams[request].phase == "asking":
                    self.stream(request, phase="connecting", told=(channel, token))
                    if self.world.senders[request].is_job:
                        self.stream(request, phase="sending")
                        self.try_task(request)
            case ChannelDeny(request, reason, _):
                if self.streams[request].phase == "asking":
                    self.refused(request, reason)
            case Start() | Cancel() | Check() | CheckResponse():
                if isinstance(message, Cancel) and receiver == _INITIATOR:
                    self.caused(Cause.of_message(message))
                self.coordinate(receiver, "on_message", self.world.names[sender], message, b"", self.now)

    def do_set_up(self, member: int) -> None:
        """Run a member's instances and report it to the operation thread, which may have received other messages
        meanwhile.
        """
        if self.members[member].part == "waiting":
            self.adopt(member)
        self.enter(member, "running")
        numbers = tuple(n for n, _ in self.instances_at(member))
        self.coordinate(member, "fragments_started", QUERY, numbers, self.now)

    def do_open(self, number: int) -> None:
        """Let an instance request its stream: it connects if it was told where, and otherwise asks."""
        stream, member = self.streams[number], self.world.running_at[number]
        receiver = self.world.receiver_of(number)
        if stream.told is not None:
            self.stream(number, phase="connecting")
            return
        if not self.send(member, receiver, OpenChannel(number, QUERY, self.world.senders[number].instance.edge, 0, 0)):
            self.broken(number)
            return
        self.stream(number, phase="asking")

    def do_connect(self, number: int) -> None:
        sender = self.world.senders[number]
        if sender.job is not None and sender.attempt == sender.instance.barren:
            self.end(number, None)
            return
        told = self.streams[number if sender.job is None else sender.job].told
        assert told is not None, "it has been told where to connect"
        before = self.streams[number]
        outlet, first, sent = self.introduced(sender, before, told)
        place = self.new_connection()
        self.connections[place] = Connection(number, (first,))
        if not self.world._alive(self.state, self.world.receiver_of(number)):
            self.connections[place] = Connection(number, (), (None,), at_receiver=False)
        self.stream(number, phase="opening", outlet=outlet, connection=place, told=None, sent=sent)

    def introduced(self, sender: Sender, stream: Stream, told: tuple[str, bytes]) -> tuple[int, bytes, int]:
        """Return the machine of a new connection, its first bytes, and how many batches it was offered."""
        where = messages.VERSION, *told, sender.instance.edge, sender.partition
        outlets = self.world.outlets
        if not sender.instance.lasting:
            opening = messages.Open(*where, sender.attempt, 0, _FINGERPRINT)
            return (*outlets.step(outlets.number(Outlet(opening)), "opening"), 0)
        if stream.outlet < 0:
            opening = messages.Open(*where, stream.attempt, 0, _FINGERPRINT, 0)
            return (*outlets.step(outlets.number(Outlet(opening, lasting=True)), "opening"), 0)
        kept = outlets.observed(stream.outlet).kept
        opening = messages.Open(*where, stream.attempt, 0, _FINGERPRINT, kept)
        return (*outlets.step(stream.outlet, "go on", opening), stream.sent)

    def do_arrive(self, connection: int) -> None:
        """Let bytes arrive at the receiver."""
        chunk, *rest = self.connections[connection].to_receiver
        self.connect(connection, to_receiver=tuple(rest))
        receiver = self.receiver_of(connection)
        if not self.connections[connection].accepted:
            self.connect(connection, accepted=True)
            self.inlet(receiver, "connect", connection)
        if chunk is None:
            self.connect(connection, at_receiver=False)
            self.inlet(receiver, "gone", connection)
        else:
            self.inlet(receiver, "hear", connection, chunk)

    def do_hear(self, connection: int) -> None:
        """Let bytes arrive at the sender."""
        chunk, *rest = self.connections[connection].to_sender
        self.connect(connection, to_sender=tuple(rest))
        number = self.connections[connection].stream
        stream = self.streams[number]
        busy = stream.phase == "open" and self.world.senders[number].instance.idle
        if chunk is None:
            self.connect(connection, at_sender=False)
            if stream.connection == connection and stream.phase in ("opening", "open", "last") and not busy:
                self.connection_ended(number)
            return
        outlet, (events, sent) = self.world.outlets.step(stream.outlet, "hear", chunk)
        self.stream(number, outlet=outlet)
        self.write(connection, sent)
        for event in events:
            match event:
                case messages.Ok():
                    self.stream(number, phase="last" if stream.last else "open")
                case messages.Deny(reason, _):
                    self.hang_up(connection)
                    self.refused(number, reason)
                case messages.Cancel(sqlstate):
                    self.hang_up(connection)
                    if not busy:
                        self.unwanted(number, over=sqlstate == CANCELED.sqlstate)
        if self.streams[number].phase == "last" and self.world.outlets.observed(outlet).confirmed:
            self.end(number, None)

    def do_offer(self, number: int) -> None:
        """Let an instance send its next batch, or the end of its stream."""
        stream, sender = self.streams[number], self.world.senders[number]
        instance = sender.instance
        if instance.reads is None:
            more = stream.sent < instance.batches
            body = self.world.scenario.batch(sender.number, stream.sent) if more else b""
        else:
            body = stream.held
        rows = instance.rows if body else 0
        outlet, chunk = self.world.outlets.step(stream.outlet, "offer", body, rows, not body)
        phase = "open" if body else "last"
        self.stream(number, outlet=outlet, held=b"", sent=stream.sent + bool(body), phase=phase, last=not body)
        self.write(stream.connection, chunk)

    def do_pass(self, number: int) -> None:
        """Let an instance read a batch of its input."""
        reads = self.world.senders[number].instance.reads
        assert reads is not None
        taken = self.take(self.world.running_at[number], reads)
        if taken.error is not None:
            sqlstate, message = taken.error
            cause = Cause(sqlstate, message) if sqlstate != BROKEN_SQLSTATE else replace(BROKEN, message=message)
            self.give_up(number, cause)
        elif taken.rows:
            self.stream(number, held=_passed(taken.rows))
        else:
            self.stream(number, source_ended=True)

    def do_ended(self, number: int) -> None:
        """Let an instance report that it has ended."""
        member, cause = self.world.running_at[number], self.streams[number].cause
        self.stream(number, phase="ended", cause=None)
        if cause is not None and member == _INITIATOR:
            self.caused(cause)
        self.coordinate(member, "fragment_ended", QUERY, self.world.senders[number].number, cause, self.now)

    def do_read(self) -> None:
        """Let the portal read."""
        taken = self.take(_INITIATOR, 0)
        if taken.error is not None:
            sqlstate, message = taken.error
            if sqlstate == BROKEN_SQLSTATE:
                self.root = self.root._replace(state="waiting")
                self.cancel(_INITIATOR, replace(BROKEN, message=message))
            else:
                self.root = self.root._replace(state="failed")
                self.close_root()
        elif taken.rows:
            self.read(taken.rows)
        else:
            self.root = self.root._replace(state="finished")
            self.check_whole()
            self.finish_root()

    # -- mishaps ------------------------------------------------------------------------------------------------

    def do_crash(self, member: int, heard: bool) -> None:
        """Crash a member; its connections end. heard: whether the messages that it had sent on control connections
        arrive.
        """
        self.spend("crash")
        for link, (one, other) in enumerate(self.world.pairs):
            if other == member:
                self.links[link] = ()
            elif one == member:
                self.links[link] = (*(self.links[link] if heard else ()), None)
                self.down |= {link, self.world.link[other, one]}
        for number, connection in enumerate(self.connections):
            if self.world.running_at[connection.stream] == member and connection.at_sender:
                self.connect(number, at_sender=False, to_sender=())
                if connection.at_receiver:
                    self.connect(number, to_receiver=(*connection.to_receiver, None))
            elif self.receiver_of(number) == member and connection.at_receiver:
                self.connect(number, at_receiver=False, to_receiver=())
                if connection.at_sender:
                    self.connect(number, to_sender=(*connection.to_sender, None))
        self.members[member] = Member(-1, -1)

    def do_part(self, link: int) -> None:
        """Break a control connection. The messages in flight in one direction may still arrive, in part."""
        self.spend("part")
        one, other = self.world.pairs[link]
        back = self.world.link[other, one]
        self.links[link] = (*self.links[link][:1], None)
        self.links[back] = (None,)
        self.down |= {link, back}

    def do_sever(self, connection: int) -> None:
        """Break a data connection."""
        self.spend("sever")
        accepted = self.connections[connection].accepted
        heard = (None,) if self.connections[connection].at_sender else ()
        self.connect(connection, to_receiver=(None,) if accepted else (), to_sender=heard, at_receiver=accepted)

    def do_cancel(self, member: int) -> None:
        self.spend("cancel")
        self.cancel(member, CANCELED)

    def do_fail(self, number: int) -> None:
        self.spend("fail")
        self.give_up(number, replace(FAILED, message=f"{FAILED.message} in instance {number}"))

    def do_close(self) -> None:
        """Close the portal before its end."""
        self.spend("close")
        self.root = self.root._replace(state="closed")
        self.close_root()

    def do_unread(self, member: int) -> None:
        """Let a member fail to read its plan: it has set up nothing, and reports the reason."""
        self.spend("unread")
        self.enter(member, "running")
        self.coordinate(member, "fragments_started", QUERY, (), self.now)
        self.cancel(member, UNREAD)

    def do_twin(self, number: int) -> None:
        """Begin another attempt at a task although no earlier one has ended."""
        self.spend("twin")
        self.stream(number, phase="connecting")

    def do_cut(self, number: int) -> None:
        """Let an attempt at a task send the end of its stream at the point where its executor was lost."""
        self.spend("cut")
        stream = self.streams[number]
        outlet, chunk = self.world.outlets.step(stream.outlet, "offer", b"", 0, True)
        self.stream(number, outlet=outlet, phase="last", cut=True)
        self.write(stream.connection, chunk)

    def do_tick(self) -> None:
        self.spend("tick")
        self.pass_time()

    def do_jump(self) -> None:
        """Let time pass, because nothing else can happen."""
        self.jumps += 1
        self.pass_time()

    # -- what the runtime does ----------------------------------------------------------------------------------

    def pass_time(self) -> None:
        self.now += _JUMP_SECONDS
        for member in range(len(self.members)):
            if self.members[member].coordinator >= 0:
                self.coordinate(member, "tick", self.now)

    def coordinate(self, member: int, *event: Any) -> Any:
        """Let a member's coordinator process an event, and perform its instructions."""
        number, outcome = self.world.coordinators.step(self.members[member].coordinator, *event)
        self.members[member] = self.members[member]._replace(coordinator=number)
        if not isinstance(outcome, tuple):
            return outcome
        if event[0] == "on_message" and isinstance(event[2], Cancel):
            for instruction in outcome:
                if isinstance(instruction, Send) and instruction.member == event[1]:
                    raise Violation(f"{event[1]} is told what it has said: {type(instruction.message).__name__}")
        for instruction in outcome:
            self.perform(member, instruction)
        return None

    def perform(self, member: int, instruction: Instruction) -> None:
        match instruction:
            case Send(receiver, message):
                self.cancels += isinstance(message, Cancel)
                self.send(member, self.world.index[receiver], message)
            case Run():
                self.enter(member, "waiting")
            case Stop():
                self.stop(member)
            case Fail(_, cause):
                self.failed(cause)
            case DropEarly() | Forget():
                if isinstance(instruction, Forget):
                    self.enter(member, "forgotten")
                self.inlet(member, "close_query", QUERY)
            case Refused(sender, why):
                raise Violation(f"member {self.world.names[member]} refuses what {sender} says: {why}")

    def adopt(self, member: int) -> dict[int, tuple[str, bytes]]:
        """Create the inputs of a member's instances and run the instances. Returns the channels, by edge."""
        channels = {}
        for edge in self.world.edges:
            if self.world.receiving[edge.id] == member:
                self.inlet(member, "adopt", QUERY, edge, 0, PAGE_BYTES)
                channels[edge.id] = self.inlet(member, "open", QUERY, edge.id, 0, WINDOW_BATCHES * PAGE_BYTES)
        for _, place in self.instances_at(member):
            self.stream(place, phase="ready")
        return channels

    def instances_at(self, member: int) -> list[tuple[int, int]]:
        """Return number and index of each instance of a member."""
        placed = zip(self.world.senders, self.world.running_at, strict=True)
        return [(s.number, n) for n, (s, at) in enumerate(placed) if at == member and s.job is None]

    def stop(self, member: int) -> None:
        if self.members[member].part == "waiting":
            # What was wanted first is done first.
            self.adopt(member)
            self.enter(member, "adopted")
        self.members[member] = self.members[member]._replace(stopped=True)
        for number, at in enumerate(self.world.running_at):
            if at == member and self.streams[number].phase not in ("done", *_RESTING):
                self.give_up(number, CANCELED)
                self.stream(number, cause=None)
        self.inlet(member, "close_query", QUERY)

    def failed(self, cause: Cause) -> None:
        """Report an error to the client."""
        self.fails += 1
        expected = self.cause or (replace(self.echo, echo=False) if self.echo is not None else None)
        if self.fails > 1 or cause != expected:
            raise Violation(f"the client is told {cause}, the first cause was {expected}")
        self.cause = cause
        if self.root.state in ("reading", "waiting"):
            self.root = self.root._replace(state="failed")
            self.inlet(_INITIATOR, "fail", QUERY, cause.sqlstate, cause.message)
            self.close_root()

    def close_root(self) -> None:
        """Close the portal. If that is before its end, no more rows are wanted from any member."""
        self.cancel(_INITIATOR, CLOSED_EARLY)
        self.inlet(_INITIATOR, "close_query", QUERY)

    def finish_root(self) -> None:
        member = self.members[_INITIATOR]
        self.over = True
        if self.world.inlets.step(member.inlets, "all_arrived", QUERY)[1][0]:
            self.coordinate(_INITIATOR, "finish", QUERY, self.now)
        else:
            self.cancel(_INITIATOR, CLOSED_EARLY)
        self.inlet(_INITIATOR, "close_query", QUERY)

    def cancel(self, member: int, cause: Cause) -> None:
        if member == _INITIATOR:
            self.caused(cause)
        self.coordinate(member, "cancel", QUERY, cause, self.now)

    def caused(self, cause: Cause) -> None:
        """Record that a cause has reached the initiator."""
        if self.over:
            return
        if cause.echo:
            self.echo = self.echo or cause
            return
        self.over = True
        self.cause = cause if cause.is_failure else None

    def lost(self, member: int, lost: int) -> None:
        """Tell a member that it has lost another: its requests to that one will not be answered."""
        names, told = self.world.names, self.fails
        whole = member == _INITIATOR and self.all_is_here()
        if whole:
            self.coordinate(_INITIATOR, "streams_arrived", QUERY)
        elif member == _INITIATOR:
            message = f"could not complete the query: member {names[lost]} was lost"
            self.caused(transient_cause(message, names[lost]))
        for number, stream in enumerate(self.streams):
            receiver = self.world.receiver_of(number)
            if stream.phase == "asking" and (self.world.running_at[number], receiver) == (member, lost):
                self.broken(number)
        self.coordinate(member, "on_member_lost", names[lost], self.now)
        if whole and self.fails > told:
            raise Violation(f"the client is told that {names[lost]} was lost, and everything had arrived")

    def all_is_here(self) -> bool:
        """Return whether the initiator has everything that it receives."""
        view: InletView = self.world.inlets.observed(self.members[_INITIATOR].inlets)
        own = {edge.id for edge in self.world.edges if self.world.receiving[edge.id] == _INITIATOR}
        return self.root.state == "reading" and own <= view.whole

    def asked(self, sender: int, receiver: int, message: OpenChannel | Produced) -> None:
        """Answer a sender's message, depending on whether its stream is wanted here."""
        state = self.coordinate(receiver, "channel", QUERY, self.now)
        if state in ("running", "early"):
            if isinstance(message, Produced):
                self.inlet(receiver, "confirm", QUERY, message.edge, 0, message.rows)
                return
            window = WINDOW_BATCHES * PAGE_BYTES
            channel, token = self.inlet(receiver, "open", QUERY, message.edge, 0, window)
            self.send(receiver, sender, ChannelOk(message.request, channel, token, "member", 1))
        elif isinstance(message, OpenChannel):
            reason: messages.DenyReason = "unknown" if state == "unknown" else "closed"
            self.send(receiver, sender, ChannelDeny(message.request, reason, "not wanted"))

    def refused(self, number: int, reason: messages.DenyReason) -> None:
        """Handle that a stream is refused, for good or for now. A sender that was refused on its channel asks again, a
        task connects again.
        """
        attempt = self.world.senders[number].job is not None
        if reason == "unknown":
            self.stream(number, phase="connecting" if attempt else "ready", connection=-1)
        elif reason == "complete":
            self.stream(number, phase="last")
            self.end(number, None)
        elif reason == "closed":
            self.unwanted(number, over=True)
        else:
            self.end(number, BROKEN)

    def unwanted(self, number: int, *, over: bool) -> None:
        """Handle that the receiver takes no more of a stream. over: whether it takes no attempt of it any more."""
        if self.world.senders[number].job is None or over:
            self.end(number, None)
        else:
            self.end(number, BROKEN)

    def connection_ended(self, number: int) -> None:
        """Handle that the receiver has closed: it has everything, or the connection was lost."""
        stream = self.streams[number]
        done = stream.phase == "last" and self.world.outlets.observed(stream.outlet).state is ChannelState.DONE
        if done and not self.world.senders[number].instance.lasting:
            self.end(number, None)
        else:
            self.broken(number)

    def broken(self, number: int) -> None:
        """Handle that a stream cannot be sent over this connection."""
        if self.world.senders[number].instance.lasting:
            self.stream(number, phase="ready", connection=-1, attempt=self.streams[number].attempt + 1)
        else:
            self.end(number, BROKEN)

    def give_up(self, number: int, cause: Cause) -> None:
        """End an instance before its stream, and tell the receiver why."""
        stream = self.streams[number]
        if stream.connection >= 0 and self.connections[stream.connection].at_sender:
            if stream.phase in ("open", "last"):
                outlet, chunk = self.world.outlets.step(stream.outlet, "cancel", cause.sqlstate, cause.message)
                self.stream(number, outlet=outlet)
                self.write(stream.connection, chunk)
            self.hang_up(stream.connection)
        self.end(number, cause)

    def end(self, number: int, cause: Cause | None) -> None:
        stream = self.streams[number]
        if stream.connection >= 0 and self.connections[stream.connection].at_sender:
            self.hang_up(stream.connection)
        job = self.world.senders[number].job
        if job is None:
            told = stream.told if self.world.senders[number].is_job else None
            self.stream(number, phase="done", cause=cause, held=b"", told=told)
            return
        self.stream(number, phase="over", held=b"", outlet=-1, sent=0, cut=False)
        if self.streams[job].phase == "sending":
            self.tried(job, stream, BROKEN if stream.cut else cause)

    def tried(self, job: int, attempt: Stream, cause: Cause | None) -> None:
        """Handle the end of an attempt at a job's task. If it was not the last one, another follows."""
        if cause is None:
            self.end(job, None)
            whole = attempt.phase == "last"
            self.stream(job, source_ended=not whole)
            self.produced(job, whole=whole)
        elif all(self.streams[n].phase in _RESTING for n in self.world.attempts(job)) and not self.try_task(job):
            self.end(job, ABORTED)

    def try_task(self, job: int) -> bool:
        """Begin the next attempt at a job's task, if one may follow."""
        ahead = [n for n in self.world.attempts(job) if self.streams[n].phase == "off"]
        if ahead:
            self.stream(ahead[0], phase="connecting")
        return bool(ahead)

    def produced(self, job: int, *, whole: bool) -> None:
        """Tell the receiver which rows it should have received."""
        sender, member = self.world.senders[job], self.world.running_at[job]
        rows = ((sender.partition, sender.instance.batches * sender.instance.rows),) if whole else ()
        self.send(member, self.world.receiver_of(job), Produced(QUERY, sender.instance.edge, 0, 0, rows))

    # -- small changes ------------------------------------------------------------------------------------------

    def send(self, sender: int, receiver: int, message: ControlMessage) -> bool:
        link = self.world.link[sender, receiver]
        if link in self.down:
            return False
        self.links[link] = (*self.links[link], message)
        return True

    def write(self, connection: int, chunk: bytes) -> None:
        """Let the sender write."""
        if chunk and self.connections[connection].at_sender:
            self.connect(connection, to_receiver=(*self.connections[connection].to_receiver, chunk))

    def new_connection(self) -> int:
        """Return an index for a connection: that of one which has ended, or a new one."""
        for number, found in enumerate(self.connections):
            if not found.at_sender and not found.at_receiver:
                return number
        self.connections.append(_ENDED)
        return len(self.connections) - 1

    def hang_up(self, connection: int) -> None:
        """Let the sender close: the bytes that it has written arrive, then the end."""
        found = self.connections[connection]
        if found.at_sender:
            ended = (*found.to_receiver, None) if found.at_receiver else ()
            self.connect(connection, at_sender=False, to_sender=(), to_receiver=ended)

    def inlet(self, member: int, *event: Any) -> Any:
        """Let a member's receiving side process an event."""
        inlets, (answer, effects) = self.world.inlets.step(self.members[member].inlets, *event)
        self.members[member] = self.members[member]._replace(inlets=inlets)
        self.affect(member, effects)
        return answer

    def take(self, member: int, edge: int) -> Taken:
        inlets, taken, effects = self.world._taken(self.members[member], edge)
        self.members[member] = self.members[member]._replace(inlets=inlets)
        self.affect(member, effects)
        return taken

    def affect(self, member: int, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case Written(number, data):
                    connection = self.connections[number]
                    if connection.at_sender:
                        self.connect(number, to_sender=(*connection.to_sender, data))
                case Closed(number, aborted):
                    connection = self.connections[number]
                    if connection.at_receiver:
                        heard = () if aborted else connection.to_sender
                        ends = (*heard, None) if connection.at_sender else ()
                        self.connect(number, at_receiver=False, to_receiver=(), to_sender=ends)
                        self.inlet(member, "gone", number)
                case Lost(_, _, fatal):
                    if fatal:
                        self.cancel(member, BROKEN)

    def receiver_of(self, connection: int) -> int:
        return self.world.receiver_of(self.connections[connection].stream)

    def read(self, rows: tuple[int, ...]) -> None:
        """Deliver rows to the client. They must be the next ones of their stream."""
        source = rows[0] // (16 * 4096)
        read = self.root.rows[source]
        first = row(source, read)
        if rows != tuple(range(first, first + self.world.scenario.instances[source].rows)):
            raise Violation(f"rows {rows[0]} to {rows[-1]} come where {first} was to come")
        self.root = self.root._replace(rows=(*self.root.rows[:source], read + 1, *self.root.rows[source + 1 :]))

    def check_whole(self) -> None:
        for place, sender in enumerate(self.world.senders):
            number, instance = sender.number, sender.instance
            if sender.job is not None or instance.reads is not None:
                continue
            # A job whose successful attempt had no rows says so.
            expected = 0 if sender.is_job and self.streams[place].source_ended else instance.batches
            if self.root.rows[number] != expected:
                raise Violation(f"the query has ended with {self.root.rows[number]} batches of instance {number}")

    def stream(self, number: int, **changes: Any) -> None:
        self.streams[number] = self.streams[number]._replace(**changes)

    def connect(self, number: int, **changes: Any) -> None:
        self.connections[number] = self.connections[number]._replace(**changes)

    def enter(self, member: int, part: str) -> None:
        self.members[member] = self.members[member]._replace(part=part)

    def spend(self, kind: Mishap) -> None:
        place = MISHAPS.index(kind)
        self.left = (*self.left[:place], self.left[place] - 1, *self.left[place + 1 :])
        self.mishaps |= {kind}


@functools.lru_cache(1 << 12)
def _passed(rows: tuple[int, ...]) -> bytes:
    return make_body(*rows)

"""A simulation of members that run queries together, without sockets, clocks or threads: a list of steps says what may
happen next.

Each member is a real `MemberQueries`. Fragments, portals and mailboxes are models of what the machine may assume about
them. Links keep the order of messages between a pair of members and promise nothing else: the test chooses which link
delivers next. A link that breaks loses the messages in flight, or delivers the first of them, then notifies both ends;
it works again once both know. A member that crashes delivers what it had sent, then nothing.

`World.step` does one of `World.steps()` and checks the invariants that hold at any time. `World.settle` lets everything
end and checks that nothing is left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from engine.runtime.queries import MemberQueries, initiator_of
from engine.runtime.query_state import Cause, DropEarly, Fail, Forget, Instruction, Limits, Refused, Run, Send, Stop
from wire.mesh.control_messages import Cancel, CheckResponse, ControlMessage, Start

LIMITS: Final = Limits(suspect_seconds=10, echo_seconds=1, early_seconds=30, early_queries=4)
FRAGMENTS: Final = (1, 2)
CLOSED: Final = Cause("00000", "closed early")
BROKEN: Final = Cause("08006", "a stream broke", echo=True)

Step = tuple[str, ...]


@dataclass
class Part:
    """A query on one member, as its coordinator sees it."""

    setting_up: bool = True
    running: set[int] = field(default_factory=set)
    stopped: set[int] = field(default_factory=set)
    was_stopped: bool = False
    forgotten: bool = False


@dataclass
class Truth:
    """The true history of a query. cause: the first cause that reached its initiator while the portal wanted rows."""

    participants: tuple[str, ...]
    unsent: list[str]
    delivered: set[tuple[str, int]] = field(default_factory=set)
    over: bool = False
    cause: Cause | None = None
    echo: tuple[Cause, float] | None = None
    fails: list[Cause] = field(default_factory=list)
    cancels: int = 0


class World:
    """Members and the links between them. members: their names. A query of `begin` is initiated by the member that its
    id names.
    """

    def __init__(self, members: tuple[str, ...]) -> None:
        self.now = 0.0
        self.members = {name: MemberQueries(name, LIMITS) for name in members}
        self.links: dict[tuple[str, str], deque[ControlMessage | None]] = {
            (one, other): deque() for one in members for other in members if one != other
        }
        self.down: set[tuple[str, str]] = set()
        self.parts: dict[tuple[str, str], Part] = {}
        self.truths: dict[str, Truth] = {}
        self.early: defaultdict[str, set[str]] = defaultdict(set)
        #: Who was told, by whom or whatever it may know it from, that a query is over.
        self.told: set[tuple[str, str]] = set()

    def begin(self, query: str) -> None:
        initiator = initiator_of(query)
        assert initiator is not None
        others = [name for name in self.members if name != initiator]
        truth = self.truths[query] = Truth((initiator, *others), others)
        self.parts[initiator, query] = Part()
        self._perform(initiator, self.members[initiator].begin(query, truth.participants, self.now))

    # -- what may happen ----------------------------------------------------------------------------------------

    def steps(self, kinds: frozenset[str] | None = None) -> list[Step]:
        """Return all steps of these kinds that may happen next."""
        found: list[Step] = [
            ("deliver", *link) for link, sent in self.links.items() if sent and link[1] in self.members
        ]
        found += [("send_start", query) for query, truth in self.truths.items() if truth.unsent and self._led(query)]
        for (member, query), part in self.parts.items():
            if part.setting_up:
                found += [("set_up", member, query), ("set_up_failed", member, query)]
            for number in sorted(part.running | part.stopped):
                found += [(how, member, query, str(number)) for how in ("end", "fail", "break")]
                found += (
                    [("sent", member, query, str(number))]
                    if (member, number) not in self.truths[query].delivered
                    else []
                )
            if part.running:
                found += [("ask", member, other, query) for other in self.members if other != member]
            if not part.forgotten:
                found += [("cancel", member, query)]
        for query in self.truths:
            if self._led(query):
                found += [("close", query)]
                if self._whole(query):
                    found += [("finish", query)]
        found += [("crash", member) for member in self.members if len(self.members) > 1]
        found += [("part", *link) for link in self.links if set(link) <= set(self.members) and not self._parted(link)]
        found += [("wait", seconds) for seconds in ("0.5", "2", "11")]
        return [step for step in found if kinds is None or step[0] in kinds]

    def step(self, step: Step) -> None:
        kind, *arguments = step
        do: Callable[..., None] = getattr(self, f"_{kind}")
        do(*arguments)
        self._check()

    def settle(self) -> None:
        """Let everything end: no new fault occurs, all messages in flight arrive, and time passes. Then check that
        nothing is left.

        A fragment of a query that is over does not end by itself, because its input will never come.
        """
        quiet = frozenset({"deliver", "send_start", "set_up", "end", "finish"})
        for _ in range(6):
            while steps := [step for step in self.steps(quiet) if not self._stuck(step)]:
                self.step(steps[0])
            for _ in range(3):
                self.step(("wait", "0.5"))
            self.step(("wait", "11"))
        self._check_the_end()

    # -- the steps ----------------------------------------------------------------------------------------------

    def _deliver(self, sender: str, receiver: str) -> None:
        message = self.links[sender, receiver].popleft()
        queries = self.members[receiver]
        about = (
            message.queries
            if isinstance(message, CheckResponse)
            else (message.query,)
            if isinstance(message, Cancel)
            else ()
        )
        self.told |= {(receiver, query) for query in about}
        if message is None:
            self.down.discard((receiver, sender))
            self._lost(receiver, sender)
            return
        if isinstance(message, Cancel) and self._led_by(message.query, receiver):
            self._caused(message.query, Cause.of_message(message))
        self._perform(receiver, queries.on_message(sender, message, b"", self.now))

    def _lost(self, member: str, lost: str) -> None:
        self.told |= {
            (member, query) for query in self.truths if self._led_by(query, lost) and (member, query) in self.parts
        }
        for query, truth in self.truths.items():
            if self._led_by(query, member) and lost in truth.participants:
                message = f"could not complete the query: member {lost} was lost"
                self._caused(query, Cause("40001", message, hint="The statement may be repeated.", member=lost))
        self._perform(member, self.members[member].on_member_lost(lost, self.now))

    def _send_start(self, query: str) -> None:
        truth = self.truths[query]
        self._send(truth.participants[0], truth.unsent.pop(0), Start(query, truth.participants))

    def _set_up(self, member: str, query: str) -> None:
        part = self.parts[member, query]
        part.setting_up, part.running = False, set(FRAGMENTS)
        self._perform(member, self.members[member].fragments_started(query, FRAGMENTS, self.now))

    def _set_up_failed(self, member: str, query: str) -> None:
        self.parts[member, query].setting_up = False
        self._perform(member, self.members[member].fragments_started(query, (), self.now))
        self._cancel(member, query)

    def _sent(self, member: str, query: str, number: str) -> None:
        """Record that the whole output of a running fragment has been read, before the fragment has noticed it."""
        if int(number) in self.parts[member, query].running:
            self.truths[query].delivered.add((member, int(number)))

    def _end(self, member: str, query: str, number: str) -> None:
        self._ended(member, query, int(number), None)

    def _fail(self, member: str, query: str, number: str) -> None:
        self._ended(member, query, int(number), Cause("22012", f"division by zero at {member} {number}"))

    def _break(self, member: str, query: str, number: str) -> None:
        self._ended(member, query, int(number), BROKEN)

    def _ended(self, member: str, query: str, number: int, cause: Cause | None) -> None:
        part, truth = self.parts[member, query], self.truths[query]
        if cause is None and number in part.running:
            truth.delivered.add((member, number))
        if cause is not None and self._led_by(query, member):
            self._caused(query, cause)
        part.running.discard(number)
        part.stopped.discard(number)
        self._perform(member, self.members[member].fragment_ended(query, number, cause, self.now))

    def _ask(self, sender: str, receiver: str, query: str) -> None:
        """Let a sender's member ask for a channel. The path of this request is not modelled."""
        state = self.members[receiver].channel(query, self.now)
        if state == "early":
            self.early[receiver].add(query)
        part = self.parts.get((receiver, query))
        assert (state == "running") == (part is not None and not part.was_stopped and not part.forgotten), state

    def _cancel(self, member: str, query: str) -> None:
        cause = Cause("57014", f"canceled at {member}")
        if self._led_by(query, member):
            self._caused(query, cause)
        self._perform(member, self.members[member].cancel(query, cause, self.now))

    def _close(self, query: str) -> None:
        truth = self.truths[query]
        truth.over = True
        initiator = truth.participants[0]
        self._perform(initiator, self.members[initiator].cancel(query, CLOSED, self.now))

    def _finish(self, query: str) -> None:
        truth = self.truths[query]
        truth.over = True
        initiator = truth.participants[0]
        self._perform(initiator, self.members[initiator].finish(query, self.now))

    def _crash(self, member: str) -> None:
        del self.members[member]
        self.early.pop(member, None)
        for key in [key for key in self.parts if key[0] == member]:
            del self.parts[key]
        for one, other in self.links:
            if other == member:
                self.links[one, other].clear()
            elif one == member:
                self.links[one, other].append(None)

    def _part(self, one: str, other: str) -> None:
        """Break the connection. The first message from `one` to `other` may still arrive."""
        for link, kept in (((one, other), 1), ((other, one), 0)):
            under_way = list(self.links[link])[:kept]
            self.links[link] = deque([*under_way, None])
            self.down.add(link)

    def _wait(self, seconds: str) -> None:
        self.now += float(seconds)
        for query, truth in self.truths.items():
            if truth.echo is not None and self.now - truth.echo[1] >= LIMITS.echo_seconds and self._led(query):
                self._caused(query, replace(truth.echo[0], echo=False))
        for member in list(self.members):
            self._perform(member, self.members[member].tick(self.now))

    # -- performing ---------------------------------------------------------------------------------------------

    def _perform(self, member: str, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Send(receiver, message):
                    if isinstance(message, Cancel):
                        self.truths[message.query].cancels += 1
                    self._send(member, receiver, message)
                case Run(query):
                    assert (member, query) not in self.parts, f"{query} runs twice on {member}"
                    self.early[member].discard(query)
                    self.parts[member, query] = Part()
                case Stop(query):
                    part = self.parts[member, query]
                    assert not part.forgotten
                    part.was_stopped = True
                    part.stopped |= part.running
                    part.running = set()
                case Fail(query, cause):
                    assert self._led_by(query, member)
                    self.truths[query].fails.append(cause)
                case DropEarly(query):
                    assert (member, query) not in self.parts
                    self.early[member].discard(query)
                case Forget(query):
                    part = self.parts[member, query]
                    assert (part.forgotten, part.setting_up, part.running, part.stopped) == (False, False, set(), set())
                    part.forgotten = True
                case Refused(sender, why):
                    raise AssertionError(f"{member} refuses what {sender} says: {why}")

    def _send(self, sender: str, receiver: str, message: ControlMessage) -> None:
        if receiver in self.members and (sender, receiver) not in self.down:
            self.links[sender, receiver].append(message)

    # -- what is true -------------------------------------------------------------------------------------------

    def _led(self, query: str) -> bool:
        return self.truths[query].participants[0] in self.members

    def _led_by(self, query: str, member: str) -> bool:
        return self.truths[query].participants[0] == member

    def _stuck(self, step: Step) -> bool:
        if step[0] != "end":
            return False
        _, member, query, number = step
        over = self.truths[query].over or not self._led(query)
        return (
            over
            and int(number) in self.parts[member, query].running
            and (member, int(number)) not in self.truths[query].delivered
        )

    def _parted(self, link: tuple[str, str]) -> bool:
        return link in self.down or link[::-1] in self.down

    def _whole(self, query: str) -> bool:
        truth = self.truths[query]
        return not truth.over and len(truth.delivered) == len(FRAGMENTS) * len(truth.participants)

    def _caused(self, query: str, cause: Cause) -> None:
        """Record that a cause has reached the initiator."""
        truth = self.truths[query]
        if truth.over:
            return
        if cause.echo:
            truth.echo = truth.echo or (cause, self.now)
            return
        truth.cause, truth.over = cause, True

    def _check(self) -> None:
        for (member, query), part in self.parts.items():
            assert not (part.was_stopped and part.running), f"{query} runs on {member} after its stop"
            assert not (part.running and (member, query) in self.told), (
                f"{query} runs on {member}, which knows that it is over"
            )
            assert part.forgotten or query in self.members[member].active(), f"{member} lost sight of {query}"
        for query, truth in self.truths.items():
            if self._led(query):
                assert truth.fails == ([truth.cause] if truth.cause is not None else []), query
            assert truth.cancels <= 2 * (len(truth.participants) - 1), f"{truth.cancels} messages to cancel {query}"

    def _check_the_end(self) -> None:
        for member, queries in self.members.items():
            held = {state: count for state, count in queries.statistics().items() if state != "over" and count}
            assert not held, f"{member} still holds {held}"
            assert not self.early[member], f"{member} keeps early mailboxes of {self.early[member]}"
        assert all(part.forgotten for part in self.parts.values())

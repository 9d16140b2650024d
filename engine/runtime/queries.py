"""The queries of one member: their registry, the checker, and the rules for whose messages about them count. Pure: no
clock, no IO, no thread.

Each query is a machine (`engine.runtime.query_state`). This module finds machines by token, checks messages of members
and passes them on, remembers queries that are over, and asks about queries of which a message may have been missed
(`check`, network-protocol seed 3.5).

    queries = MemberQueries("a")
    for instruction in queries.on_message(sender, message, body, now): perform(instruction)

An instance belongs to one operation thread. If a member has several, each has the queries of its partition; events that
concern members (`on_member_lost`, `tick`) go to all, and a Check or CheckResponse is split by its queries' partitions.

The caller guarantees:

- `begin` comes before the first Start is sent; the caller sends the Starts, since their bodies differ by member.
- Each `begin` and each Run is answered by one `fragments_started`, with () if nothing could be set up; a `cancel` gives
  the reason, before or after. Each fragment named there is reported once by `fragment_ended`, also after Stop. Only
  then does Forget come.
- Tokens never repeat, not even after a restart of their initiator: one that is over stays over.
- Instructions are performed in their order, and `tick` is called about twice a second.
- If a member cannot be reached when a stream is to be opened to it, or a stream breaks without a message, the caller
  reports a cause with `echo`. If only two participants see a loss, the one of them that has to send finds it; so the
  loss of a member that is not the initiator means nothing to a participant here.

Considered and rejected: keeping early queries as long as the initiator says they run (their start may have been lost
with a connection, and then nothing would ever end them); answering a late start (whoever cancelled has told the
initiator already).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from typing import Final, Literal

from engine.contracts.query_id import QueryId
from engine.runtime.query_state import SUCCESS, Cause, Instruction, Limits, Query, Refused, Run, Send, lost
from wire.mesh.control_messages import Cancel, Check, CheckResponse, ControlMessage, Start

#: running: register the mailbox. early: as running, and the query may turn out to be over. unknown: too many queries
#: are early; the sender asks again. over: the query's streams are no longer accepted here; the sender may end as if all
#: rows had been taken, because the member that ended the query has told the initiator.
ChannelState = Literal["running", "early", "unknown", "over"]

_DEFAULT: Final = Limits()


class MemberQueries:
    """See the module's docstring. member: this one's id. `now` is in seconds, from any clock that never goes back."""

    def __init__(self, member: str, limits: Limits = _DEFAULT) -> None:
        self._member = member
        self._limits = limits
        self._queries: dict[str, Query] = {}
        self._over = OverQueries(limits)

    # -- what the coordinator of this member says ---------------------------------------------------------------

    def begin(self, query: str, participants: tuple[str, ...], now: float) -> list[Instruction]:
        """Begin a query that this member initiates. participants: all members that run fragments, this one first."""
        assert participants[0] == self._member == QueryId.parse(query).initiator, f"{query} is not ours to begin"
        assert query not in self._queries, f"{query} began twice"
        assert query not in self._over, f"{query} is over"
        self._add(query, self._member, now).start(participants)
        return []

    def fragments_started(self, query: str, fragments: tuple[int, ...], now: float) -> list[Instruction]:
        """Note that the fragments of a Run, or of a begin, were set up. fragments: their numbers, each once."""
        known = self._queries[query]
        return self._settle(known, known.fragments_started(fragments), now)

    def fragment_ended(self, query: str, fragment: int, cause: Cause | None, now: float) -> list[Instruction]:
        """Note that a fragment has ended. cause: why; None if its whole output was sent and taken."""
        known = self._queries[query]
        return self._settle(known, known.fragment_ended(fragment, cause, now), now)

    def cancel(self, query: str, cause: Cause, now: float) -> list[Instruction]:
        """Stop a query for a cause on this member: user, timeout, a portal closed early (00000, initiator only), a
        failure, a broken stream (echo).
        """
        known = self._queries.get(query)
        if known is None:
            return []
        assert cause.is_failure or known.mine, "only the initiator ends a query without an error"
        return self._stop(known, cause, self._member, now)

    def streams_arrived(self, query: str) -> list[Instruction]:
        """Initiator: note that everything that other members send to the query is here, in memory or on disk."""
        if (known := self._queries.get(query)) is not None:
            known.streams_arrived()
        return []

    def finish(self, query: str, now: float) -> list[Instruction]:
        """Initiator: note that the root has ended and every stream has arrived whole."""
        known = self._queries.get(query)
        return [] if known is None else self._settle(known, known.finish(), now)

    def channel(self, query: str, now: float) -> ChannelState:
        """Decide whether a mailbox may be registered for a sender that wants to open a channel. The time of an early
        one runs from this moment.
        """
        known = self._queries.get(query)
        if known is not None:
            if not known.under_way:
                return "over"
            return "early" if known.state == "early" else "running"
        initiator = initiator_of(query)
        if initiator is None or initiator == self._member or query in self._over:
            return "over"
        if self.statistics()["early"] >= self._limits.early_queries:
            return "unknown"
        self._add(query, initiator, now)
        return "early"

    # -- what other members say ---------------------------------------------------------------------------------

    def on_message(self, sender: str, message: ControlMessage, body: bytes, now: float) -> list[Instruction]:
        """Handle a Start (with its body), Cancel, Check or CheckResponse from another member."""
        match message:
            case Start():
                return self._on_start(sender, message, body, now)
            case Cancel():
                return self._on_cancel(sender, message, now)
            case Check():
                return self._on_check(sender, message)
            case CheckResponse():
                return self._on_check_response(sender, message, now)
        raise AssertionError(f"{type(message).__name__} is not about the state of queries")

    def on_member_lost(self, member: str, now: float) -> list[Instruction]:
        """Handle the loss of a member. Queries of this member in which it participates fail, except those that need nothing more
        from other members. Queries that it initiated end without a message to other members."""
        cause = lost(member)
        instructions: list[Instruction] = []
        for query in list(self._queries.values()):
            concerned = query.initiator == member or (query.mine and member in query.participants)
            if concerned and query.needs_others:
                instructions += self._stop(query, cause, member, now)
        return instructions

    # -- what time says -----------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Instruction]:
        """End what has waited too long, and ask each initiator, in one message, about its long-running queries."""
        instructions: list[Instruction] = []
        for query in list(self._queries.values()):
            instructions += self._settle(query, query.expire(self._limits, now), now)
        self._over.expire(now)
        return instructions + self._checks(now)

    def active(self) -> tuple[str, ...]:
        """Return the queries that this member takes part in, including those that are being stopped."""
        return tuple(query.token for query in self._queries.values() if query.state != "early")

    def statistics(self) -> Mapping[str, int]:
        """Return the number of queries in each state. All except `over` are zero when nothing runs."""
        counts = {"early": 0, "running": 0, "finishing": 0, "stopping": 0, "over": len(self._over)}
        for query in self._queries.values():
            counts[query.state] += 1
        return counts

    # -- messages -----------------------------------------------------------------------------------------------

    def _on_start(self, sender: str, message: Start, body: bytes, now: float) -> list[Instruction]:
        why = self._start_refusal(sender, message)
        if why:
            return [Refused(sender, why)]
        if message.query in self._over:
            return []
        query = self._queries.get(message.query)
        if query is None:
            query = self._add(message.query, sender, now)
        elif query.state != "early":
            return [Refused(sender, f"start of query {message.query}, which has started already")]
        query.start(message.participants)
        return [Run(message.query, message, body, sender)]

    def _start_refusal(self, sender: str, message: Start) -> str:
        if initiator_of(message.query) != sender or message.participants[:1] != (sender,):
            return f"start of query {message.query} by member {sender}, which is not its initiator"
        if self._member not in message.participants:
            return f"start of query {message.query}, in which member {self._member} has no part"
        return ""

    def _on_cancel(self, sender: str, message: Cancel, now: float) -> list[Instruction]:
        initiator = initiator_of(message.query)
        query = self._queries.get(message.query)
        if initiator == self._member:
            return self._on_cancel_request(sender, message, query, now)
        if initiator != sender:
            return [Refused(sender, f"cancel of query {message.query} by member {sender}, which is not its initiator")]
        if query is None:
            self._over.remember(message.query, now)
            return []
        return self._stop(query, Cause.of_message(message), sender, now)

    def _on_cancel_request(self, sender: str, message: Cancel, query: Query | None, now: float) -> list[Instruction]:
        """Handle the first of the two steps of a cancel: a participant asks the initiator to stop the query."""
        if query is None:
            return []
        if sender not in query.participants:
            return [Refused(sender, f"cancel of query {message.query} by member {sender}, which has no part in it")]
        cause = Cause.of_message(message)
        if not cause.is_failure:
            # Accepting it would pass a part of the rows for all of them.
            why = f"member {sender} ended query {message.query} without an error, as only its initiator may"
            cause = Cause("08P01", why, member=sender)
        return self._stop(query, cause, sender, now)

    def _on_check(self, sender: str, message: Check) -> list[Instruction]:
        foreign = [token for token in message.queries if initiator_of(token) != self._member]
        if foreign:
            return [Refused(sender, f"check of query {foreign[0]}, which member {self._member} did not initiate")]
        inactive = tuple(token for token in message.queries if not self._runs_for(token, sender))
        return [Send(sender, CheckResponse(inactive))] if inactive else []

    def _runs_for(self, token: str, participant: str) -> bool:
        query = self._queries.get(token)
        return query is not None and query.state == "running" and participant in query.participants

    def _on_check_response(self, sender: str, message: CheckResponse, now: float) -> list[Instruction]:
        foreign = [token for token in message.queries if initiator_of(token) != sender]
        if foreign:
            return [Refused(sender, f"word about query {foreign[0]}, which member {sender} did not initiate")]
        cause = Cause(SUCCESS, "the initiator is done with the query", member=sender)
        instructions: list[Instruction] = []
        for token in message.queries:
            query = self._queries.get(token)
            if query is not None:
                instructions += self._stop(query, cause, sender, now)
        return instructions

    def _checks(self, now: float) -> list[Instruction]:
        suspects: defaultdict[str, list[str]] = defaultdict(list)
        for query in self._queries.values():
            tokens = suspects[query.initiator]
            if len(tokens) < self._limits.check_queries and query.asks(self._limits, now):
                tokens.append(query.token)
        return [Send(initiator, Check(tuple(tokens))) for initiator, tokens in suspects.items() if tokens]

    # -- the registry -------------------------------------------------------------------------------------------

    def _add(self, token: str, initiator: str, now: float) -> Query:
        query = self._queries[token] = Query(token, initiator, self._member, now)
        return query

    def _stop(self, query: Query, cause: Cause, source: str, now: float) -> list[Instruction]:
        return self._settle(query, query.stop(cause, source, now), now)

    def _settle(self, query: Query, instructions: list[Instruction], now: float) -> list[Instruction]:
        """Remove a query that is over from the registry."""
        if query.state == "over":
            del self._queries[query.token]
            self._over.remember(query.token, now)
        return instructions


class OverQueries:
    """The tokens of queries that are over, oldest first, bounded in number and time by the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._since: OrderedDict[str, float] = OrderedDict()

    def __contains__(self, token: str) -> bool:
        return token in self._since

    def __len__(self) -> int:
        return len(self._since)

    def remember(self, token: str, now: float) -> None:
        self._since[token] = now
        self._since.move_to_end(token)
        if len(self._since) > self._limits.over_queries:
            self._since.popitem(last=False)

    def expire(self, now: float) -> None:
        while self._since and now - next(iter(self._since.values())) >= self._limits.over_seconds:
            self._since.popitem(last=False)


def initiator_of(token: str) -> str | None:
    """Return the member that a query's token names, or None for an invalid token, which a peer may send."""
    try:
        return QueryId.parse(token).initiator
    except ValueError:
        return None

"""Faults of one line, planted into the protocol's code: does the exploration find them?

    python tests/exploration/mutants.py          # all, as a table; exit status 1 if one is not found

Each names the world that finds it first. A fault that no world finds would be a gap in the invariants, or a line that
the protocol does not need.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[1]
# It is also run as a program, which finds nothing but what is beside it.
sys.path[:0] = [str(_HERE), str(_HERE.parent), str(_ROOT)]

from support.planting import Fault, plant, run_hunts  # noqa: E402


@dataclass(frozen=True, slots=True)
class Mutant(Fault):
    """A planted fault. world: the world that finds it."""

    world: str


_CREDITS: Final = "wire.mesh.credits"
_CHANNEL: Final = "wire.mesh.channel"
_BACKLOG: Final = "wire.mesh.backlog"
_STATE: Final = "engine.runtime.query_state"
_QUERIES: Final = "engine.runtime.queries"
_RECEIVE: Final = "engine.exchange.receive"
_INBOUND: Final = "engine.exchange.inbound_stream"
_PROMISED: Final = "engine.exchange.promised_streams"
_ORDER: Final = "engine.exchange.reading_order"
_MAILBOXES: Final = "engine.runtime.mailboxes"
_LISTENER: Final = "engine.exchange.listener"
_MEMBERSHIP: Final = "server.cluster.membership"
_CONTROL_LINKS: Final = "server.cluster.control_links"
_TARGETS: Final = "server.cluster.dial_targets"
_CONNECTION: Final = "server.cluster.control_connection"
_LINK: Final = "server.cluster.mesh_link"
_CONTROL: Final = "wire.mesh.control_channel"

MUTANTS: Final = (
    Mutant(
        "skip the credit return",
        _CREDITS,
        "self.granted = max(self.granted, self.released + self.window)",
        "pass",
        "stale batch",
    ),
    Mutant("release twice", _CREDITS, "self.released += size", "self.released += 2 * size", "stale batch"),
    Mutant(
        "announce no grant below a window",
        _CREDITS,
        "if news == 0 or (self.held > 0 and 2 * news < self.window):",
        "if news < self.window:",
        "stale batch",
    ),
    Mutant(
        "go on one batch too late",
        _BACKLOG,
        "        self.sent = batches\n",
        "        self.sent = min(batches + 1, self.offered)\n",
        "gone on after a severed connection",
    ),
    Mutant(
        "forget batches that were sent",
        _BACKLOG,
        "if not self.keeps:\n            self._drop_to(self.sent)",
        "if self:\n            self._drop_to(self.sent)",
        "gone on after a severed connection",
    ),
    Mutant(
        "count the batches of a stream by its connection",
        _LISTENER,
        "batches=stream.batches",
        "batches=0",
        "gone on after a severed connection",
    ),
    Mutant(
        "take what was sent for what has arrived",
        _CHANNEL,
        "return self.state is State.DONE and self._backlog.is_confirmed",
        "return self.state is State.DONE",
        "gone on after a severed connection",
    ),
    Mutant(
        "another connection begins with a whole window",
        _CHANNEL,
        "self.credits = ReceiveCredits(window, held)",
        "self.credits = ReceiveCredits(window)",
        "gone on after a severed connection",
    ),
    Mutant(
        "send without credit",
        _CHANNEL,
        "if not self.credits.covers(size):",
        "if False:",
        "stale batch",
    ),
    Mutant(
        "do not announce an oversize batch",
        _CHANNEL,
        "chunks.append(encode(Oversize(size)))",
        "pass",
        "batch larger than a window",
    ),
    Mutant(
        "do not widen the limit with the credit",
        _CHANNEL,
        "self._reader.body_limit = max(0, account.available)",
        "pass",
        "stale batch",
    ),
    Mutant(
        "the last batch does not end the stream",
        _CHANNEL,
        "        if last:\n            self.state = State.DONE",
        "        if last:\n            pass",
        "stale batch",
    ),
    Mutant(
        "a grant is forgotten",
        _CHANNEL,
        "            case FlowControl(granted, batches):\n                self._grant(granted)",
        "            case FlowControl(granted, batches):\n                pass",
        "stale batch",
    ),
    Mutant(
        "the receiver does not close when it has everything",
        _LISTENER,
        "                    self._write(self._machine.confirmation())\n                    self._end()",
        "                    pass",
        "retry against partial delivery",
    ),
    Mutant(
        "a broken connection is not told to its stream",
        _LISTENER,
        "            self._stream.lost(self)",
        "            pass",
        "retry against partial delivery",
    ),
    Mutant(
        "drop what came before the start",
        _ORDER,
        "self.ready.extend(stream for stream in self._streams.values() for _ in stream.entries)",
        "pass",
        "batch before start",
    ),
    Mutant(
        "end without the last batch",
        _PROMISED,
        "(stream := streams.get(partition)) is not None and stream.complete for partition in expected",
        "streams.get(partition) is not None for partition in expected",
        "stale batch",
    ),
    Mutant(
        "end without the promised streams",
        _PROMISED,
        "        self.partitions.update(partitions)",
        "        pass",
        "retry against partial delivery",
    ),
    Mutant(
        "take the end of a stream for the end of its partition",
        _PROMISED,
        "        self._confirmed.update(rows)",
        "        pass",
        "attempt cut short",
    ),
    Mutant(
        "take all rows of a task that comes again, after some have been consumed",
        _INBOUND,
        "        if self.consumed:",
        "        if False:",
        "retry against partial delivery",
    ),
    Mutant(
        "keep the batches of a failed attempt",
        _INBOUND,
        "        while self.entries:\n            self._release(self.entries.popleft())",
        "        pass",
        "retry against partial delivery",
    ),
    Mutant(
        "leave the channel registered",
        _MAILBOXES,
        "            self._listener.unregister(mailbox.channel)",
        "            pass",
        "stale batch",
    ),
    Mutant(
        "forget a query whose fragments still run",
        _STATE,
        "if waits or not self._set_up or self._fragments:",
        "if waits or not self._set_up:",
        "start against cancel",
    ),
    Mutant(
        "do not stop the fragments",
        _STATE,
        "return [*fail, *others, Stop(self.token, cause), *self._drain()]",
        "return [*fail, *others, *self._drain()]",
        "end of what computes for long",
    ),
    Mutant(
        "do not tell the participants",
        _STATE,
        "return tuple(member for member in self.participants if",
        "return tuple(member for member in () if",
        "end of what computes for long",
    ),
    Mutant(
        "do not tell the client",
        _STATE,
        'if self.mine and before == "running" and cause.is_failure else []',
        "if False else []",
        "start against cancel",
    ),
    Mutant(
        "take an echo for a cause",
        _STATE,
        "        if cause.echo:\n            self._suspect(cause, now)\n            return []",
        "        pass",
        "echo against cause",
    ),
    Mutant(
        "never explain an echo",
        _STATE,
        "if self._echo is not None and now - self._echoed >= limits.echo_seconds:",
        "if False:",
        "echo against cause",
    ),
    Mutant(
        "wait for ever for a start",
        _STATE,
        'if self.state == "early" and now - self._since >= limits.early_seconds:',
        "if False:",
        "crash of a member",
    ),
    Mutant(
        "a fragment's failure is nobody's business",
        _STATE,
        "stopped = self.stop(cause, self._member, now) if cause is not None and cause.is_failure else []",
        "stopped: list[Instruction] = []",
        "plan fails before its stream opens",
    ),
    Mutant(
        "believe that every query goes on",
        _QUERIES,
        'return query is not None and query.state == "running" and participant in query.participants',
        "return True",
        "start lost with its connection",
    ),
    Mutant(
        "answer a check with those that go on",
        _QUERIES,
        "if not self._runs_for(token, sender))",
        "if self._runs_for(token, sender))",
        "check against finish",
    ),
    Mutant(
        "open a channel for a query that is over",
        _QUERIES,
        "or initiator == self._member or query in self._over:",
        "or initiator == self._member:",
        "late open",
    ),
    Mutant(
        "participants go on without their initiator",
        _QUERIES,
        "concerned = query.initiator == member or (query.mine and member in query.participants)",
        "concerned = query.mine and member in query.participants",
        "crash beside what computes for long",
    ),
    Mutant(
        "the initiator goes on without a participant",
        _QUERIES,
        "concerned = query.initiator == member or (query.mine and member in query.participants)",
        "concerned = query.initiator == member",
        "crash of a member",
    ),
    Mutant(
        "take the other's call although one's own has arrived",
        _MEMBERSHIP,
        "if self.me.member < peer.member and any(",
        "if False and any(",
        "both call at once",
    ),
    Mutant(
        "both refuse the other's call",
        _MEMBERSHIP,
        "if self.me.member < peer.member and any(",
        "if any(",
        "both call at once",
    ),
    Mutant(
        "who calls again has its earlier connection still",
        _MEMBERSHIP,
        "        if record is None or record.link is None:\n            return []\n        link = record.link",
        "        if True:\n            return []\n        link = record.link",
        "both call, and one connection breaks",
    ),
    Mutant(
        "do not call again who was lost",
        _TARGETS,
        "return record.link is None and (target.seed or",
        "return False and (target.seed or",
        "both call, and one connection breaks",
    ),
    Mutant(
        "wait for ever for the end of a handshake",
        _CONTROL_LINKS,
        "since = link.heard if link.open else link.since",
        "since = link.heard if link.open else now",
        "switched off, and begun again elsewhere",
    ),
    Mutant(
        "never miss a member that says nothing",
        _CONTROL_LINKS,
        "since = link.heard if link.open else link.since",
        "since = now if link.open else link.since",
        "switched off, and begun again elsewhere",
    ),
    Mutant(
        "the loss of an earlier connection is nobody's business",
        _MEMBERSHIP,
        'return [*self._lose(link, "it has connected anew", now), Close(link.number)]',
        "return [Close(link.number)]",
        "switched off, and begun again",
    ),
    Mutant(
        "a connection that is not wanted stays open",
        _CONNECTION,
        "        if not self._link.connection_ready(self):\n            self.end(None)",
        "        if not self._link.connection_ready(self):\n            pass",
        "both call, and one connection breaks",
    ),
    # -- the handshake -------------------------------------------------------------------------------------------------
    Mutant(
        "proof reflected",
        _CONTROL,
        'role = b"sluice dialler\\0" if by_dialler else b"sluice acceptor\\0"',
        'role = b"sluice\\0"',
        "a call into the stranger's hands",
    ),
    Mutant(
        "who calls takes any proof",
        _CONTROL,
        "if not hmac.compare_digest(proof.code,",
        "if not self.dialled and not hmac.compare_digest(proof.code,",
        "a call into the stranger's hands",
    ),
    Mutant(
        "who is called takes any proof",
        _CONTROL,
        "if not hmac.compare_digest(proof.code,",
        "if self.dialled and not hmac.compare_digest(proof.code,",
        "a call, and one that is answered",
    ),
    Mutant(
        "the proof leaves out the hello",
        _CONTROL,
        "role + self._hello + self._welcome",
        "role + self._welcome",
        "one call for two",
    ),
    Mutant(
        "the proof leaves out the welcome",
        _CONTROL,
        "role + self._hello + self._welcome",
        "role + self._hello",
        "one call for two",
    ),
    Mutant(
        "all nonces are the same",
        _LINK,
        "nonce = secrets.token_bytes(NONCE_BYTES)",
        "nonce = bytes(NONCE_BYTES)",
        "one call for two",
    ),
    Mutant(
        "act upon what comes before the proof",
        _CONTROL,
        "        if not heard:",
        "        if not heard and isinstance(message, _HANDSHAKE):",
        "a call into the stranger's hands",
    ),
    Mutant(
        "take in long headers before the proof",
        _CONTROL,
        "        self._reader.header_limit = HANDSHAKE_BYTES_MAX\n",
        "",
        "a call into the stranger's hands",
    ),
    Mutant(
        "open a call when it has come",
        _CONTROL,
        "        self.state = State.ANSWERED",
        "        self._open()",
        "a call, and one that is answered",
    ),
    Mutant(
        "open a call when one has proved oneself",
        _CONTROL,
        "            self.state = State.PROVING",
        "            self._open()",
        "a call into the stranger's hands",
    ),
    Mutant(
        "take members of other clusters",
        _CONTROL,
        "if opening.cluster != self._cluster:",
        "if False:",
        "two clusters with one secret",
    ),
    Mutant("take any version", _CONTROL, "if opening.version != VERSION:", "if False:", "a version to come"),
    # -- tokens, and hostile senders -----------------------------------------------------------------------------------
    Mutant(
        "token ignored",
        _LISTENER,
        "if not hmac.compare_digest(token, opening.token):",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "one token for all channels",
        _LISTENER,
        "token = secrets.token_bytes(_TOKEN_BYTES)",
        "token = bytes(_TOKEN_BYTES)",
        "check against finish",
    ),
    Mutant(
        "take streams of any schema",
        _RECEIVE,
        "if self._fingerprint is not None and opening.schema != self._fingerprint:",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "take a batch of another stream",
        _CHANNEL,
        "if (message.edge, message.partition, message.attempt) != (o.edge, o.partition, o.attempt):",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "take rows without a body",
        _CHANNEL,
        "if bool(body) != (message.rows > 0) or not (body or message.last):",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "believe what credit a sender has",
        _CHANNEL,
        "if message.remaining > account.available:",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "grant any announcement",
        _CREDITS,
        "        if size <= self.window:",
        "        if False:",
        "check against finish",
    ),
    # -- credits -------------------------------------------------------------------------------------------------------
    Mutant(
        "oversize grant while batches are held",
        _CREDITS,
        "if self._oversize and self.held == 0:",
        "if self._oversize:",
        "batch larger than a window",
    ),
    Mutant(
        "grant a larger batch for ever",
        _CREDITS,
        "            self._oversize = 0",
        "            pass",
        "batch larger than a window",
    ),
    Mutant(
        "forget what has been announced",
        _CREDITS,
        "        self.announced = self.granted\n        return self.granted",
        "        return self.granted",
        "stale batch",
    ),
    # -- attempts ------------------------------------------------------------------------------------------------------
    Mutant(
        "complete stream superseded", _INBOUND, "        if self.complete:", "        if False:", "task begun twice"
    ),
    Mutant(
        "an earlier attempt takes the place of a later one",
        _INBOUND,
        "if self.opening.attempt >= opening.attempt:",
        "if False:",
        "task begun twice",
    ),
    Mutant(
        "who was superseded goes on", _INBOUND, "        if not self.dead:", "        if False:", "task begun twice"
    ),
    Mutant(
        "open a stream after its job has ended without it",
        _RECEIVE,
        "if self.promised.is_missing(opening.partition):",
        "if False:",
        "task without rows, begun twice",
    ),
    Mutant(
        "wait for a stream that was lost after the word of its end",
        _RECEIVE,
        "elif self.retried and stream.opening.partition in self.promised.partitions:",
        "elif False:",
        "stream lost behind its end",
    ),
    Mutant(
        "wait for a stream that was lost before the word of its end",
        _RECEIVE,
        "if self.retried and any((s :=",
        "if False and any((s :=",
        "stream lost behind its end",
    ),
    Mutant(
        "keep rows that Spark did not take",
        _PROMISED,
        "if stream.consumed or (stream.rows and not stream.dead):",
        "if False:",
        "task without rows, begun twice",
    ),
    Mutant(
        "the last error is the cause",
        _RECEIVE,
        "        if self._error is None and not self._closed:",
        "        if not self._closed:",
        "first error wins",
    ),
    # -- who may say what of a query -----------------------------------------------------------------------------------
    Mutant(
        "anybody cancels a query",
        _QUERIES,
        "        if initiator != sender:",
        "        if False:",
        "batch before start",
    ),
    Mutant(
        "anybody starts a query",
        _QUERIES,
        "if initiator_of(message.query) != sender or message.participants[:1] != (sender,):",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "start a query that one has no part in",
        _QUERIES,
        "if self._member not in message.participants:",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "start a query twice",
        _QUERIES,
        '        elif query.state != "early":',
        "        elif False:",
        "check against finish",
    ),
    Mutant(
        "who has no part in a query cancels it",
        _QUERIES,
        "if sender not in query.participants:",
        "if False:",
        "check against finish",
    ),
    Mutant(
        "a participant ends a query without an error",
        _QUERIES,
        "        if not cause.is_failure:",
        "        if False:",
        "check against finish",
    ),
    Mutant(
        "answer for queries of others",
        _QUERIES,
        "foreign = [token for token in message.queries if initiator_of(token) != self._member]",
        "foreign = list[str]()",
        "check against finish",
    ),
    Mutant(
        "believe anybody that a query is over",
        _QUERIES,
        "foreign = [token for token in message.queries if initiator_of(token) != sender]",
        "foreign = list[str]()",
        "batch before start",
    ),
    Mutant(
        "go on for who has no part",
        _QUERIES,
        'return query is not None and query.state == "running" and participant in query.participants',
        'return query is not None and query.state == "running"',
        "check against finish",
    ),
    # -- cancel and check ----------------------------------------------------------------------------------------------
    Mutant(
        "forget a cancel that came first",
        _QUERIES,
        "            self._over.remember(message.query, now)",
        "            pass",
        "cancel that comes first",
    ),
    Mutant(
        "forget what is over",
        _QUERIES,
        "            self._over.remember(query.token, now)",
        "            pass",
        "late open",
    ),
    Mutant(
        "tell a cancel to whom it comes from",
        _STATE,
        "if member not in (self._member, source))",
        "if member != self._member)",
        "start against cancel",
    ),
    Mutant(
        "never ask",
        _STATE,
        'if self.mine or self.state not in ("early", "running"):',
        "if True:",
        "start lost with its connection",
    ),
    Mutant(
        "fail for a loss when all has arrived",
        _STATE,
        'return self.state != "finishing" and not self._arrived',
        'return self.state != "finishing"',
        "crash of a sender",
    ),
    # -- incarnations --------------------------------------------------------------------------------------------------
    Mutant(
        "who leaves is not lost",
        _MEMBERSHIP,
        'has left"), Lost(link.peer.member)]',
        'has left")]',
        "one leaves",
    ),
    Mutant(
        "who is lost is not told",
        _MEMBERSHIP,
        'is lost: {reason}"), Lost(link.peer.member)]',
        'is lost: {reason}")]',
        "both call, and one connection breaks",
    ),
    Mutant(
        "a call that is established leaves the earlier connection",
        _MEMBERSHIP,
        "return [*self._replace(link.peer, now), *self._open_link(link, link.peer, now)]",
        "return self._open_link(link, link.peer, now)",
        "killed, and begun again",
    ),
)


def hunt(mutant: Mutant) -> str | None:
    """Explore the mutant's world in this process. Returns what was found."""
    plant(mutant)
    logging.disable(logging.ERROR)
    from explorer import Explorable, Found, explore
    from handshake import HandshakeWorld
    from meeting import MeetingWorld
    from world import World
    from worlds import HANDSHAKES, HASTY, HASTY_MEETINGS, PATIENT, PATIENT_MEETINGS

    worlds: list[Explorable] = [World(scenario) for scenario in (*HASTY, *PATIENT)]
    worlds += [MeetingWorld(meeting) for meeting in (*HASTY_MEETINGS, *PATIENT_MEETINGS)]
    worlds += [HandshakeWorld(handshakes) for handshakes in HANDSHAKES]
    [world] = [world for world in worlds if world.name == mutant.world]
    try:
        explore(world)
    except Found as found:
        return str(found).split("\n", 1)[0]
    return None


if __name__ == "__main__":
    sys.exit(run_hunts(__file__, MUTANTS, hunt))

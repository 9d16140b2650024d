"""Probes of a member's machines with the messages of a hostile peer, in every state in which a world has met the
machines.

A probe adds no state to a world. Each machine is probed once in each of its states, on a copy:

- its receiving side (`probe_inlets`), by a connection that does not have the channel's token, and on an open connection
  by frames that its sender must not send;
- its coordinator (`probe_coordinator`), by control messages about a query from a sender that may not send them.

The probe requires that the peer is refused and the state is unchanged, or that the connection is closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from explorer import Violation
from learned import Learned
from parts import BATCH_BYTES, SCHEMA_MESSAGE, Account, Closed, Coordinator, CoordinatorView, Inlets, InletView, Written
from scenario import QUERY

from engine.exchange.send import schema_fingerprint
from engine.runtime.query_state import Fail, Refused, Send, Stop
from wire.mesh import messages
from wire.mesh.control_messages import Cancel, Check, CheckResponse, ControlMessage, Start
from wire.mesh.framing import PREFACE, FrameReader

_FINGERPRINT: Final = schema_fingerprint(SCHEMA_MESSAGE)
#: The number of the attacker's connection, and the attacker's name among members.
_INTRUDER: Final = 1 << 20
_OUTSIDER: Final = "z"


def probe_inlets(inlets: Learned[Inlets], number: int) -> None:
    """Probe the receiving side. Raises Violation."""
    view: InletView = inlets.observed(number)
    tokens = {channel: token for channel, token, _ in view.channels}
    for channel, token, adopted in view.channels:
        if adopted:
            opening = messages.Open(messages.VERSION, channel, token, 0, 0, 9, 0, bytes(32))
            _turn_away(inlets, number, messages.encode(opening), why=None)
    for channel, token in (*tokens.items(), ("mesh/none", b"")):
        others = [each for name, each in tokens.items() if name != channel]
        for guess in (b"", bytes(len(token) or 1), token[:-1], *others):
            opening = messages.Open(messages.VERSION, channel, guess, 0, 0, 9, 0, _FINGERPRINT)
            _turn_away(inlets, number, messages.encode(opening), why=("unknown", "forbidden"))
    _break_off(inlets, number)
    for account in view.accounts:
        if account.open:
            for what, frame in _forged(account):
                _, (_, effects) = inlets.step(number, "hear", account.number, frame)
                if Closed(account.number, aborted=True) not in effects:
                    raise Violation(f"the receiver puts up with {what}")


def _turn_away(inlets: Learned[Inlets], number: int, opening: bytes, why: tuple[str, ...] | None) -> None:
    """Require that a sender without the token, or with another schema, is denied and leaves no state behind. why: the
    reasons that the denial may give; None for any.
    """
    there, _ = inlets.step(number, "connect", _INTRUDER)
    there, (_, effects) = inlets.step(there, "hear", _INTRUDER, PREFACE + opening)
    said = [_decoded(effect.data) for effect in effects if isinstance(effect, Written)]
    denied = all(isinstance(message, messages.Deny) and (why is None or message.reason in why) for message in said)
    if len(said) != 1 or not denied or len(effects) != 2:
        what = "another schema than its edge's" if why is None else "another token than its channel's"
        raise Violation(f"a stream is opened with {what}: {said}")
    there, _ = inlets.step(there, "gone", _INTRUDER)
    if there != number:
        raise Violation("a sender that was denied leaves something behind")


def _break_off(inlets: Learned[Inlets], number: int) -> None:
    """Require that a batch that arrives before a stream was opened closes the connection."""
    there, _ = inlets.step(number, "connect", _INTRUDER)
    batch = messages.encode(messages.Batch(0, 0, 0, 0, True, 0))
    _, (_, effects) = inlets.step(there, "hear", _INTRUDER, PREFACE + batch)
    if effects != (Closed(_INTRUDER, aborted=True),):
        raise Violation("a batch is taken from who has opened nothing")


def _decoded(data: bytes) -> messages.Message:
    [item] = FrameReader(preface=False).feed(data)
    return messages.decode(item.kind, item.header)


def _forged(account: Account) -> Iterator[tuple[str, bytes]]:
    """Yield frames that the sender of a stream must not send. The account says what it may send."""
    edge, partition, attempt = account.stream
    available = account.announced - account.received
    if available:
        one = b"x"
        for other in ((edge + 1, partition, attempt), (edge, partition + 1, attempt), (edge, partition, attempt + 1)):
            yield "a batch of another stream", _batch(*other, 1, False, 0, payload=one)
        yield "more credit than was given", _batch(edge, partition, attempt, 1, False, available, payload=one)
        yield "a body without rows", _batch(edge, partition, attempt, 0, True, 0, payload=one)
    yield "rows without a body", _batch(edge, partition, attempt, 1, True, 0)
    yield "a batch of nothing", _batch(edge, partition, attempt, 0, False, 0)
    yield "a batch without credit", _batch(edge, partition, attempt, 1, False, 0, payload=bytes(available + 1))
    yield "a small batch that is announced", messages.encode(messages.Oversize(account.window))
    opening = messages.Open(messages.VERSION, "mesh/1", b"", edge, partition, attempt, 0, _FINGERPRINT)
    yield "a second opening", messages.encode(opening)
    yield "credit from a sender", messages.encode(messages.FlowControl(account.announced + BATCH_BYTES))


def _batch(
    edge: int,
    partition: int,
    attempt: int,
    rows: int,
    last: bool,
    remaining: int,
    *,
    payload: bytes = b"",
) -> bytes:
    message = messages.Batch(edge, partition, attempt, rows, last, remaining)
    return messages.encode(message, len(payload)) + payload


def probe_coordinator(coordinators: Learned[Coordinator], number: int, member: str, names: Sequence[str]) -> None:
    """Probe the coordinator. Raises Violation."""
    initiator = names[0]
    for sender in (*(name for name in names if name != member), _OUTSIDER):
        for message in _spoken(sender, member, names):
            after, said = coordinators.step(number, "on_message", sender, message, b"", 0.0)
            if after != number or not _is_refusal(said, message, sender, mine=member == initiator):
                raise Violation(f"{member} listens to {sender}, who says {message}: {said}")
    view: CoordinatorView = coordinators.observed(number)
    if member != initiator and view.running:
        after, said = coordinators.step(number, "on_message", initiator, Start(QUERY, tuple(names)), b"", 0.0)
        if after != number or not said or not all(isinstance(each, Refused) for each in said):
            raise Violation(f"{member} starts the query a second time: {said}")
    if member == initiator and view.running:
        for sender in names[1:]:
            end = Cancel(QUERY, sender, "00000", "enough rows")
            _, said = coordinators.step(number, "on_message", sender, end, b"", 0.0)
            if any(isinstance(each, Stop) for each in said) and not any(isinstance(each, Fail) for each in said):
                raise Violation(f"{sender} ends the query of {member} without an error")


def _spoken(sender: str, member: str, names: Sequence[str]) -> Iterator[ControlMessage]:
    """Yield messages about the query of the first member that `sender` is not entitled to send."""
    initiator, participants = names[0], tuple(names)
    if sender == _OUTSIDER or initiator not in (sender, member):
        yield Cancel(QUERY, sender, "57014", "canceled")
    if sender != initiator:
        yield Start(QUERY, participants)
        yield Start(QUERY, (sender, member))
        yield CheckResponse((QUERY,))
    elif member != initiator:
        yield Start(QUERY, (initiator, _OUTSIDER))
        yield Start(QUERY, (member, initiator))
    if sender == _OUTSIDER or member != initiator:
        yield Check((QUERY,))


def _is_refusal(said: Any, message: ControlMessage, sender: str, *, mine: bool) -> bool:
    """Return whether the member has refused the message. An initiator answers every check with a response that the
    query does not run for the sender.
    """
    if mine and isinstance(message, Check):
        return bool(said == (Send(sender, CheckResponse((QUERY,))),))
    late = mine and isinstance(message, Cancel) and said == ()
    return late or (bool(said) and all(isinstance(each, Refused) for each in said))

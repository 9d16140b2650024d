"""The worlds that are explored, each named after the race in it, with the section of the seeds that describes it.

`HASTY` are explored in every run, `PATIENT` in the long one; together they have more than a million states. Likewise
for the meetings of members, `HASTY_MEETINGS` and `PATIENT_MEETINGS`.
"""

from __future__ import annotations

from typing import Any, Final

from handshake import End, Handshakes
from meeting import Meeting
from parts import OVERSIZE_ROWS
from scenario import Instance, Scenario

from wire.mesh.messages import VERSION

#: One stream.
PAIR: Final[dict[str, Any]] = {"members": "ab", "edges": (("b", "a"),), "instances": (Instance("b", 0),)}
LONG_PAIR: Final[dict[str, Any]] = {**PAIR, "instances": (Instance("b", 0, batches=3),)}
LARGE_PAIR: Final[dict[str, Any]] = {**PAIR, "instances": (Instance("b", 0, batches=2, rows=OVERSIZE_ROWS),)}
#: Two streams into one receiver.
FORK: Final[dict[str, Any]] = {
    "members": "abc",
    "edges": (("bc", "a"),),
    "instances": (Instance("b", 0, batches=1), Instance("c", 0, sender=1, batches=2)),
}
#: Two edges: c sends to b, which may not have started, and b passes on to a.
CHAIN: Final[dict[str, Any]] = {
    "members": "abc",
    "edges": (("b", "a"), ("c", "b")),
    "instances": (Instance("b", 0, reads=1), Instance("c", 1)),
}
SHORT_CHAIN: Final[dict[str, Any]] = {**CHAIN, "instances": (Instance("b", 0, reads=1), Instance("c", 1, batches=1))}
#: One that computes for long beside one that sends.
BUSY: Final[dict[str, Any]] = {
    **FORK,
    "instances": (Instance("b", 0, idle=True), Instance("c", 0, sender=1, batches=1)),
}
#: A job of Spark's: its task is tried three times.
JOB: Final[dict[str, Any]] = {"members": "ab", "edges": (("b", "a"),), "instances": (Instance("b", 0, attempts=3),)}
#: One that has sent everything before anything is read.
SHORT_JOB: Final[dict[str, Any]] = {**JOB, "instances": (Instance("b", 0, batches=1, attempts=2),)}
#: One whose task finds rows, or none: what a query reads may differ from one attempt to the next.
BARREN_JOB: Final[dict[str, Any]] = {**JOB, "instances": (Instance("b", 0, attempts=2, barren=0),)}
JOBS: Final[dict[str, Any]] = {
    "members": "abc",
    "edges": (("bc", "a"),),
    "instances": (Instance("b", 0, batches=1, attempts=2), Instance("c", 0, sender=1, batches=1, attempts=2)),
}
#: One stream that outlives its connections; of batches larger than a window; two of them, one after another.
LASTING_PAIR: Final[dict[str, Any]] = {**PAIR, "instances": (Instance("b", 0, lasting=True),)}
LASTING_LARGE: Final[dict[str, Any]] = {
    **PAIR,
    "instances": (Instance("b", 0, batches=2, rows=OVERSIZE_ROWS, lasting=True),),
}
LASTING_CHAIN: Final[dict[str, Any]] = {
    **CHAIN,
    "instances": (Instance("b", 0, reads=1, lasting=True), Instance("c", 1, batches=1, lasting=True)),
}

HASTY: Final[tuple[Scenario, ...]] = (
    Scenario("nothing befalls", **FORK),
    # network protocol, 3.5.1, snippet 14
    Scenario("batch before start", hostile=True, **CHAIN),
    Scenario("start that comes too late", mishaps={"tick": 1}, **CHAIN),
    # network protocol, 3.5.1, snippet 13
    Scenario("stale batch", mishaps={"close": 1, "cancel": 1}, hostile=True, **LONG_PAIR),
    Scenario("start against cancel", mishaps={"cancel": 2}, **PAIR),
    Scenario("check against finish", mishaps={"tick": 2}, hostile=True, **PAIR),
    Scenario("check against a lost connection", mishaps={"part": 1, "tick": 1}, **PAIR),
    # network protocol, 3.4
    Scenario("credits against discards", mishaps={"cancel": 1, "close": 1, "fail": 1}, **LONG_PAIR),
    Scenario("batch larger than a window", mishaps={"sever": 1, "cancel": 1}, hostile=True, **LARGE_PAIR),
    # RFC, work units that are tried again
    Scenario("retry against partial delivery", mishaps={"sever": 2}, **JOB),
    Scenario("attempt cut short", mishaps={"cut": 1}, hostile=True, **JOB),
    Scenario("task begun twice", mishaps={"twin": 1}, **JOB),
    Scenario("task without rows, begun twice", mishaps={"twin": 1}, **BARREN_JOB),
    Scenario("stream lost behind its end", mishaps={"sever": 1}, **SHORT_JOB),
    Scenario("cancel that comes first", mishaps={"unsent": 1}, **CHAIN),
    Scenario("late open", mishaps={"close": 1}, **CHAIN),
    Scenario("plan fails before its stream opens", mishaps={"fail": 1}, **CHAIN),
    Scenario("crash of a member", mishaps={"crash": 1}, **SHORT_CHAIN),
    Scenario("end of what computes for long", mishaps={"cancel": 1}, **BUSY),
    Scenario("crash beside what computes for long", mishaps={"crash": 1}, **BUSY),
    Scenario("crash of a sender", mishaps={"crash": 1, "sever": 1}, **PAIR),
    Scenario("plan that cannot be read", mishaps={"unread": 1, "close": 1}, **CHAIN),
    Scenario("echo against cause", mishaps={"sever": 1, "fail": 1, "tick": 1}, **PAIR),
    # channels, "Once a connection has been established buffered data is sent"; ADR 9
    Scenario("gone on after a severed connection", mishaps={"sever": 2}, **LASTING_PAIR),
    Scenario("gone on with a batch larger than a window", mishaps={"sever": 1}, **LASTING_LARGE),
    Scenario("gone on, against the end", mishaps={"sever": 1, "close": 1, "cancel": 1}, **LASTING_PAIR),
)

# The order decides which are in a part of the campaign: of those that CI explores none takes minutes.
PATIENT: Final[tuple[Scenario, ...]] = (
    # channels, "deny and retry"; RFC, work units that are tried again
    Scenario("deny against register", mishaps={"twin": 1, "cancel": 1, "part": 1}, **JOB),
    Scenario("duplicate connect", mishaps={"twin": 1, "sever": 1}, **JOB),
    Scenario("word of the end against the rows", mishaps={"part": 1, "twin": 1}, **JOB),
    Scenario("jobs begun twice", mishaps={"twin": 1}, **JOBS),
    # network protocol, 3.3: two steps, at most 2N messages
    Scenario("cancel against cancel", mishaps={"cancel": 2}, **FORK),
    Scenario("first error wins", mishaps={"fail": 2}, **FORK),
    Scenario("crash among three", mishaps={"crash": 1}, **FORK),
    Scenario("crash in a chain, and a cancel", mishaps={"crash": 1, "cancel": 1}, **CHAIN),
    Scenario("control connection lost in a chain", mishaps={"part": 1}, **CHAIN),
    Scenario("control connection lost among three", mishaps={"part": 1}, **FORK),
    Scenario("data connection lost in a chain", mishaps={"sever": 1, "close": 1}, **CHAIN),
    Scenario("data connection lost, and its cause", mishaps={"sever": 1, "crash": 1}, **CHAIN),
    Scenario("jobs tried again", mishaps={"sever": 1}, **JOBS),
    Scenario("cut short, and begun twice", mishaps={"cut": 1, "twin": 1}, **JOB),
    Scenario("jobs cut short", mishaps={"cut": 1, "sever": 1}, **JOBS),
    Scenario("start lost with its connection", mishaps={"part": 1}, **SHORT_CHAIN),
    Scenario("check among three", mishaps={"tick": 1}, **FORK),
    Scenario("gone on in a chain", mishaps={"sever": 1}, **LASTING_CHAIN),
    Scenario("gone on, against a crash", mishaps={"sever": 1, "crash": 1}, **LASTING_PAIR),
    Scenario("gone on, without a control connection", mishaps={"sever": 1, "part": 1}, **LASTING_PAIR),
)

#: Each has the other for a seed.
_BOTH: Final[dict[str, str]] = {"a": "b", "b": "a"}

HASTY_MEETINGS: Final[tuple[Meeting, ...]] = (
    Meeting("both call at once", _BOTH, {"say": 1}),
    Meeting("both call, and one connection breaks", _BOTH, {"part": 1}),
    Meeting("one leaves", _BOTH, {"leave": 1}),
    Meeting("a hello that comes late", _BOTH, {"late": 1}),
    Meeting("killed, and begun again elsewhere", _BOTH, {"kill": 1, "move": 1}),
    Meeting("switched off, and begun again elsewhere", _BOTH, {"off": 1, "move": 1}),
)

PATIENT_MEETINGS: Final[tuple[Meeting, ...]] = (
    Meeting("two who hear of each other from a third", {"a": "", "b": "a", "c": "a"}),
    Meeting("a word, and its connection breaks", _BOTH, {"part": 1, "say": 1}),
    Meeting("switched off, and begun again", _BOTH, {"off": 1, "restart": 1, "say": 1}),
    Meeting("hellos that come too late", _BOTH, {"late": 3}),
    Meeting("killed, and begun again", _BOTH, {"kill": 1, "restart": 1}),
    Meeting("left, and begun again", _BOTH, {"leave": 1, "restart": 1}),
)

HANDSHAKES: Final[tuple[Handshakes, ...]] = (
    Handshakes("a call into the stranger's hands", (End("a", dialled=True),)),
    Handshakes("a call, and one that is answered", (End("a", dialled=True), End("a", dialled=False))),
    Handshakes("one call for two", (End("a", dialled=True), End("b", dialled=False), End("b", dialled=False))),
    Handshakes("calls both ways", (End("a", dialled=True), End("a", dialled=False), End("b", dialled=False))),
    Handshakes("two clusters with one secret", (End("a", dialled=True, cluster="other"), End("b", dialled=False))),
    Handshakes("a version to come", (End("a", dialled=True, version=VERSION + 1), End("b", dialled=False))),
)

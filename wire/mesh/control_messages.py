"""Messages of a control connection between two members. They are typed structs in MessagePack; no data from a peer is
executed as code.

Names and fields are the network-protocol seed's (`start`, `cancel`, `check`, `check_response`) and the channel seed's
(`open_channel`, `ok`, `deny`). Numbers begin at 64; lower numbers belong to the data connection (`wire.mesh.messages`).
Numbers 64 to 69 are the handshake and the heartbeats (`wire.mesh.control_channel`); numbers from 70 on are messages of
the members' engines. A message that changes incompatibly gets a new number. A query is named by its token
`initiator:local`, from which the initiator is read (3.1).

A `Start` carries the plan as the body of its frame, in an encoding that only the engine knows (`engine.plan_ir.spec`).
Messages of the members' servers (from 80) are in `server.cluster.routing`, `server.cluster.cursor_routing`,
`server.cluster.notification_routing` and `server.cluster.activity_routing`; an answer carries rows, columns or a
member's activity as its body.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from wire.mesh.error_fields import ErrorFields
from wire.mesh.messages import DenyReason, Message
from wire.mesh.vocabulary import Vocabulary

#: Random bytes that each end adds to a handshake.
NONCE_BYTES: Final = 32

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,63}\Z")]
ClusterName = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{1,63}\Z")]
HostPort = Annotated[str, msgspec.Meta(max_length=262)]
Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]

#: leave: the member shuts down normally. redundant: the pair has a connection already, or another one is about to be
#: made. The other reasons are refusals.
GoodbyeReason = Literal["leave", "redundant", "name", "secret", "version", "cluster"]


class ControlMessage(Message, frozen=True):
    """A message of the control connection."""


class Identity(Message, frozen=True):
    """The identity that a member states. Its fields are those of `engine.contracts.mesh.MemberInfo`."""

    member: Name
    incarnation: Name
    mesh: HostPort
    client: HostPort
    role: Literal["data", "lite"]
    version: Annotated[str, msgspec.Meta(max_length=63)]


class Hello(ControlMessage, frozen=True):
    """The first message of the end that dialled. version: the protocol's."""

    version: int
    cluster: ClusterName
    nonce: Nonce
    identity: Identity


class Welcome(ControlMessage, frozen=True):
    """The answer to a `Hello`: the same fields, about the end that accepted."""

    version: int
    cluster: ClusterName
    nonce: Nonce
    identity: Identity


class Proof(ControlMessage, frozen=True):
    """The proof that the sender knows the cluster's secret. The dialling end sends it first; the other end sends it as
    it accepts.
    """

    code: bytes


class Heartbeat(ControlMessage, frozen=True):
    """A sign of life. load: the number of queries that the sender takes part in. draining: whether it refuses new ones.

    spark, application, waits_for, failed: `engine.contracts.shared_spark.SharedSpark`.
    """

    load: int
    draining: bool
    spark: Annotated[str, msgspec.Meta(max_length=63)] = ""
    application: Annotated[int, msgspec.Meta(ge=0, le=2)] = 0
    waits_for: Annotated[str, msgspec.Meta(max_length=200)] = ""
    failed: bool = False


class Goodbye(ControlMessage, frozen=True):
    """The last message of a connection, with its reason."""

    reason: GoodbyeReason
    message: Annotated[str, msgspec.Meta(max_length=1000)]


class Members(ControlMessage, frozen=True):
    """Members that the sender is connected to. A long list takes several messages."""

    members: tuple[Identity, ...]


class Start(ControlMessage, frozen=True):
    """Initiator to participant: run your fragments of this query, at once. participants: the fixed list, the initiator
    first.
    """

    query: str
    participants: tuple[str, ...]


class Cancel(ControlMessage, frozen=True):
    """Participant to initiator, or initiator to participants: the query is over.

    member: the member that cancels. sqlstate, message, detail, hint, fields: the error; sqlstate 00000 is an end
    without an error (enough rows).
    """

    query: str
    member: str
    sqlstate: str
    message: str
    detail: str = ""
    hint: str = ""
    fields: ErrorFields | None = None


class Check(ControlMessage, frozen=True):
    """Participant to initiator: are these queries, of which the participant still holds state, running?"""

    queries: tuple[str, ...]


class CheckResponse(ControlMessage, frozen=True):
    """Initiator to participant: those of the queries that are not running."""

    queries: tuple[str, ...]


class OpenChannel(ControlMessage, frozen=True):
    """Sender's member to receiver's member: where is the receiving end of this stream?

    request: the sender's own number for the answer. edge: the query's. receiver: the number of the consuming instance;
    sender: of the producing instance.
    """

    request: int
    query: str
    edge: int
    sender: int
    receiver: int


class ChannelOk(ControlMessage, frozen=True):
    """The answer to `OpenChannel`: connect to host:port and send channel and token (`wire.mesh.messages.Open`)."""

    request: int
    channel: str
    token: bytes
    host: str
    port: int


class ChannelDeny(ControlMessage, frozen=True):
    """The answer to `OpenChannel`: not yet (`unknown`: ask again later) or no longer."""

    request: int
    reason: DenyReason
    message: str


class Produced(ControlMessage, frozen=True):
    """Sender's member to receiver's member: instance `sender` of the edge's producer has finished. rows: the streams
    that it opened, by partition, each with the number of its rows as Spark reports it in the task's result. It is sent
    if the streams were not known before (Spark's partitions).
    """

    query: str
    edge: int
    sender: int
    receiver: int
    rows: tuple[tuple[int, int], ...]


class Counted(ControlMessage, frozen=True):
    """Participant to initiator: its part of an EXPLAIN ANALYZE has ended. counters: named as the engine names them."""

    query: str
    counters: tuple[tuple[str, int], ...]


class CancelRequest(ControlMessage, frozen=True):
    """Member to member: a client's CancelRequest for a session that belongs to the receiver by its process id. key: the
    cancel key.
    """

    pid: int
    key: bytes


class CancelBackend(ControlMessage, frozen=True):
    """Member to member: pg_cancel_backend, or pg_terminate_backend, of a session that belongs to the receiver by its
    process id.
    """

    pid: int
    terminate: bool


class Notified(ControlMessage, frozen=True):
    """Member to all members: a transaction of session `pid` has sent these notifications with NOTIFY, each a channel
    and a payload.
    """

    pid: int
    notifications: tuple[tuple[str, str], ...]


class DescribeCursor(ControlMessage, frozen=True):
    """Member to initiator: which columns does this query's cursor have? request: the sender's own number for the
    answer.

    user, database: those of the session that asks; they must be the same as the cursor's.
    """

    request: int
    query: str
    user: str
    database: str


class MoveCursor(ControlMessage, frozen=True):
    """Member to initiator: a FETCH or MOVE of this query's cursor, or the rest of one after a page.

    count: None is ALL. rows: whether the rows are wanted, or only their number (MOVE). page_bytes: the approximate size
        of the answer.
    position: the position that the cursor must have, if this continues a FETCH.
    """

    request: int
    query: str
    user: str
    database: str
    direction: Literal["forward", "backward", "absolute", "relative"]
    count: int | None
    rows: bool
    page_bytes: Annotated[int, msgspec.Meta(gt=0)]
    position: int | None = None


class CloseCursor(ControlMessage, frozen=True):
    """Member to initiator: CLOSE of this query's cursor."""

    request: int
    query: str
    user: str
    database: str


class ReadPartition(ControlMessage, frozen=True):
    """Member to initiator: return the next rows of this query's cursor to the session that reads one of its partitions.

    statement: a digest of the query's text, which must be the cursor's. partition: from 1 to `partitions`. page_bytes:
    the approximate size of the answer. first: whether this is the first request for the partition.
    """

    request: int
    query: str
    user: str
    database: str
    statement: str
    partition: Annotated[int, msgspec.Meta(gt=0)]
    partitions: Annotated[int, msgspec.Meta(gt=0)]
    page_bytes: Annotated[int, msgspec.Meta(gt=0)]
    first: bool


class CursorDescribed(ControlMessage, frozen=True):
    """The answer to `DescribeCursor`, with the columns as its body (`wire.mesh.cursor_columns`). binary: as the cursor
    was declared.
    """

    request: int
    binary: bool


class CursorMoved(ControlMessage, frozen=True):
    """The answer to `MoveCursor` and `ReadPartition`. The body has the rows as an Arrow IPC stream; it is empty if
    there are none.

    passed: the number of rows. position: the cursor's position now. last: whether the movement is complete.
    """

    request: int
    passed: int
    position: int
    last: bool


class CursorClosed(ControlMessage, frozen=True):
    """The answer to `CloseCursor`: the cursor is closed."""

    request: int


class CursorRefused(ControlMessage, frozen=True):
    """The answer to a request about a cursor: an error, as the client is to see it."""

    request: int
    sqlstate: str
    message: str
    detail: str = ""
    hint: str = ""
    fields: ErrorFields | None = None


class CursorSettled(ControlMessage, frozen=True):
    """Member to initiator: the client has received your answer to this MoveCursor or ReadPartition."""

    request: int


class CursorAbandoned(ControlMessage, frozen=True):
    """Member to initiator: nobody waits for this MoveCursor or ReadPartition any more, and the rows that it has passed
    are lost.
    """

    request: int


class AskActivity(ControlMessage, frozen=True):
    """Member to member: what are you and your clients doing? request: the asking member's own number for the answer.

    parts: the wanted parts of the answer (`server.monitor.activity`). query: only the activity of this query; empty:
    everything.
    """

    request: int
    parts: tuple[
        Literal[
            "sessions", "running", "finished", "recent", "fragments", "edges", "spark_jobs", "graph", "status", "progress",
            "statements",
        ],
        ...,
    ]  # fmt: skip
    query: str = ""


class ActivityAnswer(ControlMessage, frozen=True):
    """The answer to `AskActivity`. The body has the parts, in an encoding of the servers'
    (`engine.contracts.activity.Answer`).
    """

    request: int


class CancelStatement(ControlMessage, frozen=True):
    """Member to initiator: cancel the statement with this id, if it has not ended."""

    query: str


class ResetStatements(ControlMessage, frozen=True):
    """Member to member: reset the counters of statements. The answer is an `ActivityAnswer` without a body.

    request: the asking member's own number for the answer; 0: no answer is wanted. user: the role whose statements are
    reset; None: all roles. query_id: the statement to reset; 0: all.
    """

    request: int
    user: str | None
    query_id: int


#: The messages that may have a body.
WITH_BODY: Final = (Start, CursorDescribed, CursorMoved, ActivityAnswer)
#: The number of the first message, by which a control connection is distinguished from a data connection.
HELLO_KIND: Final = 64
_VOCABULARY: Final = Vocabulary[ControlMessage](
    {
        64: Hello,
        65: Welcome,
        66: Proof,
        67: Heartbeat,
        68: Goodbye,
        69: Members,
        70: Start,
        71: Cancel,
        72: Check,
        73: CheckResponse,
        74: OpenChannel,
        75: ChannelOk,
        76: ChannelDeny,
        78: Counted,
        80: CancelRequest,
        81: CancelBackend,
        82: DescribeCursor,
        83: MoveCursor,
        84: CloseCursor,
        85: CursorDescribed,
        86: CursorMoved,
        87: CursorClosed,
        88: CursorRefused,
        89: CursorSettled,
        90: CursorAbandoned,
        91: Notified,
        92: Produced,
        93: AskActivity,
        94: ActivityAnswer,
        95: CancelStatement,
        96: ResetStatements,
        97: ReadPartition,
    }
)
encode = _VOCABULARY.encode
decode = _VOCABULARY.decode

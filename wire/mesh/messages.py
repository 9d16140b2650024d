"""Messages of a data connection between two members. They are typed structs in MessagePack; no data from a peer is
executed as code.

Names and fields are the network-protocol seed's where it has them (`batch`, `flow_control`, `cancel`), and the channel
seed's for opening (`open`, `ok`, `deny`). The number of a message never changes its meaning: a message that changes
incompatibly gets a new number. Numbers from 64 on are the control connection's.

Credits are totals since the connection opened (`wire.mesh.credits`). Batches are numbered from the beginning of the
stream, over all connections that carry it (`wire.mesh.backlog`).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from wire.mesh.error_fields import ErrorFields
from wire.mesh.vocabulary import Vocabulary

VERSION: Final = 6

#: unknown: the channel is not registered (not yet, or no longer): try again. complete: another attempt has delivered
#: the whole stream: there is nothing to send. The others are final.
DenyReason = Literal["unknown", "complete", "superseded", "forbidden", "version", "schema", "closed"]


class Message(msgspec.Struct, frozen=True, array_like=True):
    """A message. Its fields go by position: new ones are added at the end, with a default."""


class Open(Message, frozen=True):
    """Sender to receiver, the first message: the stream that this connection carries.

    version: the sender's protocol version.
    channel, token: the receiving end, and the proof that the sender was given its address.
    edge, partition, attempt: the stream. A later attempt at the same partition has a higher number.
    stage: the sender's own name of the work unit, for finding out why an attempt failed.
    schema: fingerprint of the batches' Arrow schema (its SHA-256), which both ends know from elsewhere.
    kept: if the stream outlives its connections, the number of the first batch that the sender still has. A later
        attempt continues after the batches that the receiver has. None: a later attempt sends the whole stream again.
    """

    version: int
    channel: str
    token: bytes
    edge: int
    partition: int
    attempt: int
    stage: int
    schema: bytes
    kept: int | None = None


class Ok(Message, frozen=True):
    """Receiver to sender: begin. granted: bytes of credit. window: the largest batch that needs no announcement.

    batches: how many batches of a stream that outlives its connections the receiver has. None: they are not counted.
    held: how many of their bytes are in memory; they count as sent over this connection.
    """

    granted: int
    window: int
    batches: int | None = None
    held: int = 0


class Deny(Message, frozen=True):
    """Receiver to sender: not yet (`unknown`) or not at all."""

    reason: DenyReason
    message: str


class Batch(Message, frozen=True):
    """Sender to receiver, with an Arrow IPC record batch message as body. The length of the body is its cost in credit.

    last: whether the stream ends here. The body of the last message may be empty; then there is no batch.
    remaining: the sender's credits after this batch, as it knows them.
    """

    edge: int
    partition: int
    attempt: int
    rows: int
    last: bool
    remaining: int


class Oversize(Message, frozen=True):
    """Sender to receiver: the pending batch has `size` bytes, more than the window."""

    size: int


class FlowControl(Message, frozen=True):
    """Receiver to sender: the new total of credit. batches: as in `Ok`; 0 if they are not counted."""

    granted: int
    batches: int = 0


class Cancel(Message, frozen=True):
    """Either direction: the stream ends before its end, for this reason."""

    sqlstate: str
    message: str
    detail: str = ""
    hint: str = ""
    fields: ErrorFields | None = None


_VOCABULARY: Final = Vocabulary[Message](
    {
        1: Open,
        2: Ok,
        3: Deny,
        4: Batch,
        5: Oversize,
        6: FlowControl,
        7: Cancel,
    }
)
encode = _VOCABULARY.encode
decode = _VOCABULARY.decode

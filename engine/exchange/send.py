"""SEND for a blocking worker: one stream of an edge over its own data connection.

The state machine is `wire.mesh.channel.DataSender`; this module owns its socket. It runs where Spark's tasks run, so it
imports nothing heavier than Arrow. The peer is `engine.exchange.listener` with a receiver (`engine.exchange.receive`).

A sender that fails abandons the stream and sends its error to the receiver. A receiver that no longer wants the stream
raises `StreamRefused` here, one that has disappeared `StreamLost`.
"""

from __future__ import annotations

import hashlib
import socket
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from wire.dataclass import dataclass
from wire.errors import QueryCanceled, SerializationFailure, SqlError
from wire.mesh.channel import DataSender, State
from wire.mesh.error_fields import fields_of
from wire.mesh.messages import VERSION, Cancel, Deny, Ok, Open

if TYPE_CHECKING:
    from engine.exchange.mesh_tls import TlsPeer

_CONNECT_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_RECEIVE_BYTES: Final = 4096


class StreamRefused(Exception):
    """The receiver denied or cancelled the stream. over: whether it is done with the query, rather than only with this
    attempt.
    """

    def __init__(self, message: str, *, over: bool = False) -> None:
        super().__init__(message)
        self.over = over


class StreamLost(ConnectionError):
    """The connection ended without a message. The receiver may still want the stream, from another attempt."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge as its senders know it: the address of its receiver, and the proof that they may send.

    schema: the Arrow IPC schema message of the edge's batches. batch_bytes: the size above which a batch is split. tls:
    None: without TLS; otherwise the name that the receiver must prove, and the files of the sender's own certificate.
    """

    host: str
    port: int
    channel: str
    token: bytes
    edge: int
    schema: bytes
    batch_bytes: int
    tls: TlsPeer | None = None


class StreamSender:
    """One stream: `with StreamSender(edge, ...) as stream: stream.send(batch) ...; stream.finish()`.

    Leaving the block without `finish` abandons the stream and sends the reason to the receiver. The counters are the
    rows, bytes and batches that were sent, and stalls: how often one had to wait for credit. `complete` is true if the
    receiver has this partition's stream from an earlier attempt: nothing is sent, and `rows` is the number that the
    stream must have had. (The earlier attempt may have lost its executor, and ended its stream too soon.)
    """

    def __init__(self, edge: Edge, *, partition: int, attempt: int, stage: int) -> None:
        self.rows = 0
        self.bytes = 0
        self.batches = 0
        self.stalls = 0
        self.complete = False
        self._edge = edge
        schema = schema_fingerprint(edge.schema)
        self._opening = Open(VERSION, edge.channel, edge.token, edge.edge, partition, attempt, stage, schema)
        self._socket, self._machine = self._connect()

    def __enter__(self) -> StreamSender:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._give_up(error)
        finally:
            self._socket.close()

    def send(self, batch: pa.RecordBatch) -> None:
        """Send a batch, split into pieces of about `batch_bytes`. Waits while there is no credit."""
        if self.complete:
            self.rows += batch.num_rows
            return
        if not batch.num_rows:
            return
        size = max(batch.nbytes, 1)
        rows = max(1, batch.num_rows * self._edge.batch_bytes // size)
        if rows >= batch.num_rows or size <= self._edge.batch_bytes:
            self._send_piece(batch)
            return
        for start in range(0, batch.num_rows, rows):
            self._send_piece(batch.slice(start, rows))

    def finish(self) -> None:
        """End the stream after everything has been sent. Returns when the receiver has everything, which it signals by
        closing the connection.

        (If the sender closed first, with unread grants, TCP would reset the connection and discard the last batches.)
        """
        if self.complete:
            return
        self._write(self._machine.offer(b"", 0, last=True))
        while data := self._socket.recv(_RECEIVE_BYTES):
            self._hear(data)

    def _send_piece(self, batch: pa.RecordBatch) -> None:
        body = batch.serialize()
        self._write(self._machine.offer(memoryview(body), batch.num_rows))
        self.stalls += self._machine.has_pending
        while self._machine.has_pending:
            self._hear(_receive(self._socket))
            self._write(self._machine.send_pending())
        self.rows += batch.num_rows
        self.bytes += body.size
        self.batches += 1

    def _connect(self) -> tuple[socket.socket, DataSender]:
        """Open the stream. If the receiver does not know the channel yet, try again, with growing pauses."""
        for pause in _RETRY_SECONDS:
            connection, machine, answer = self._open_once()
            if isinstance(answer, Ok):
                return connection, machine
            if answer.reason == "complete":
                self.complete = True
                return connection, machine
            connection.close()
            if answer.reason != "unknown":
                raise StreamRefused(answer.message, over=answer.reason == "closed")
            time.sleep(pause)
        raise StreamLost("the receiver does not know the channel")

    def _open_once(self) -> tuple[socket.socket, DataSender, Ok | Deny]:
        machine = DataSender(self._opening)
        connection = _open_socket(self._edge)
        try:
            connection.sendall(machine.opening_bytes())
            answer: Ok | Deny | None = None
            while machine.state is State.OPENING:
                # A receiver that closes at once sends its cancel in one packet with its answer.
                for event in machine.receive_data(_receive(connection)):
                    if isinstance(event, Cancel):
                        raise _refusal(event)
                    if isinstance(event, Ok | Deny):
                        answer = event
        except BaseException:
            connection.close()
            raise
        assert answer is not None, "a sender left OPENING without an answer"
        return connection, machine, answer

    def _hear(self, data: bytes) -> None:
        """Process the receiver's bytes. Raises StreamRefused if the receiver wants no more."""
        for event in self._machine.receive_data(data):
            if isinstance(event, Cancel):
                raise _refusal(event)

    def _write(self, chunks: tuple[bytes | memoryview, ...]) -> None:
        for chunk in chunks:
            self._socket.sendall(chunk)

    def _give_up(self, error: BaseException) -> None:
        cause = _cause(error)
        try:
            self._socket.sendall(
                self._machine.cancel(
                    cause.sqlstate, cause.message, cause.detail or "", cause.hint or "", fields_of(cause)
                )
            )
        except OSError:
            return  # The receiver is gone; it knows more about the end of this query than this task.


def _cause(error: BaseException) -> SqlError:
    """Return the error that the receiver is told. A task that lost one of its streams abandons the others: they may be
    repeated.
    """
    if isinstance(error, SqlError):
        return error
    if isinstance(error, StreamRefused | ConnectionError | TimeoutError):
        return SerializationFailure(f"a task of the query could not send its rows: {error}")
    return SqlError(str(error) or type(error).__name__)


def _refusal(cancel: Cancel) -> StreamRefused:
    return StreamRefused(cancel.message, over=cancel.sqlstate == QueryCanceled.default_sqlstate)


def _open_socket(edge: Edge) -> socket.socket:
    connection = socket.create_connection((edge.host, edge.port), timeout=_CONNECT_SECONDS)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if edge.tls is not None:
            # Imported only where it is needed: OpenSSL would add tens of milliseconds to the start of every worker.
            from engine.exchange.mesh_tls import secure_connection

            connection = secure_connection(connection, edge.tls)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


def schema_fingerprint(schema: bytes | pa.Buffer) -> bytes:
    """Return the fingerprint that stands for a schema (its Arrow IPC message) where a stream is opened."""
    return hashlib.sha256(schema).digest()


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(_RECEIVE_BYTES)
    if not data:
        raise StreamLost("the receiver closed the connection")
    return data

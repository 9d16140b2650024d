"""The blocking sender of one stream (`engine.operators.send`), against a receiver's real machine over a real socket."""

from __future__ import annotations

import socket
import threading

import pyarrow as pa
import pytest

from engine.operators.send import Edge, StreamRefused, StreamSender
from wire.mesh.channel import DataReceiver
from wire.mesh.messages import Open

_WINDOW = 1 << 20


def test_a_cancel_in_one_packet_with_the_answer_is_heard() -> None:
    """A receiver that closes as soon as it has admitted a stream: its words may arrive together."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        receiving = threading.Thread(target=_admit_and_cancel, args=(listening,))
        receiving.start()
        host, port = listening.getsockname()
        schema = pa.schema([("n", pa.int64())])
        edge = Edge(host, port, "edge", b"t" * 16, 0, schema.serialize().to_pybytes(), 1000)
        with pytest.raises(StreamRefused) as refused, StreamSender(edge, partition=0, attempt=0, stage=0):
            pass
        receiving.join()
    assert refused.value.over


def _admit_and_cancel(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    machine = DataReceiver()
    with connection:
        while not any(isinstance(event, Open) for event in machine.receive_data(connection.recv(1 << 16))):
            pass
        connection.sendall(machine.accept(_WINDOW) + machine.cancel("57014", "the query is over"))
        while connection.recv(1 << 16):
            pass

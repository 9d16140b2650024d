"""The blocking sender of one stream (`engine.exchange.send`), against a receiver's real state machine over a real
socket.
"""

from __future__ import annotations

import socket
import threading

import pyarrow as pa
import pytest

from engine.exchange.send import Edge, StreamLost, StreamRefused, StreamSender
from wire.mesh.channel import DataReceiver
from wire.mesh.messages import Cancel, Open

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


def test_a_task_that_loses_one_stream_says_so_on_the_others() -> None:
    """With an SQLSTATE that says that the query may be repeated: nothing is wrong with the task, nor with the statement."""
    heard: list[Cancel] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        receiving = threading.Thread(target=_admit_and_listen, args=(listening, heard))
        receiving.start()
        host, port = listening.getsockname()
        edge = Edge(host, port, "edge", b"t" * 16, 0, pa.schema([]).serialize().to_pybytes(), 1000)
        with pytest.raises(StreamLost), StreamSender(edge, partition=0, attempt=0, stage=0):
            raise StreamLost("the receiver closed the connection")
        receiving.join()
    assert [(cancel.sqlstate, cancel.message) for cancel in heard] == [
        ("40001", "a task of the query could not send its rows: the receiver closed the connection")
    ]


def _admit_and_listen(listening: socket.socket, heard: list[Cancel]) -> None:
    connection, _ = listening.accept()
    machine = DataReceiver()
    with connection:
        while data := connection.recv(1 << 16):
            for event in machine.receive_data(data):
                if isinstance(event, Open):
                    connection.sendall(machine.accept(_WINDOW))
                elif isinstance(event, Cancel):
                    heard.append(event)


def _admit_and_cancel(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    machine = DataReceiver()
    with connection:
        while not any(isinstance(event, Open) for event in machine.receive_data(connection.recv(1 << 16))):
            pass
        connection.sendall(machine.accept(_WINDOW) + machine.cancel("57014", "the query is over"))
        while connection.recv(1 << 16):
            pass

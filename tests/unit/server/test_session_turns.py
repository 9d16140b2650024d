"""A client's turns: the messages that it sent without having received an answer in between
(`engine.contracts.sessions.Client.turn`).
"""

from __future__ import annotations

import struct

from support.session_server import raw, serve

from server.pgwire.client_stream import ClientStream
from wire.pg.connection import Connection, State


def _message(kind: str) -> bytes:
    text = b"select 1\0"
    return kind.encode() + struct.pack("!i", 4 + len(text)) + text


async def test_messages_that_were_there_together_are_one_turn() -> None:
    stream = ClientStream(Connection())
    stream.data_received(_message("Q") * 2)
    stream.connection.state = State.IDLE
    turns = []
    for _ in range(2):
        await stream.next_event()
        turns.append(stream.turn)
        stream.connection.state = State.IDLE
    assert turns[0] == turns[1]
    stream.data_received(_message("Q"))
    await stream.next_event()
    assert stream.turn > turns[1]


async def test_a_client_that_waits_for_answers_begins_a_new_turn_each_time() -> None:
    async with serve() as server, raw(server) as client:
        [session] = server.sessions
        turns = []
        for _ in range(3):
            client.query("select 1")
            await client.until("Z")
            turns.append(session.client.turn)
        assert turns == sorted(set(turns))

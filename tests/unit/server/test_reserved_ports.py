"""A reserved port is given to nobody but the one who names it."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

import pytest

from server.common.reserved_ports import reserve_ports

HOST = "127.0.0.1"


async def _ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


def test_a_server_listens_on_a_port_while_it_is_reserved() -> None:
    async def serve(port: int) -> None:
        async with await asyncio.start_server(_ignore, HOST, port):
            reader, writer = await asyncio.open_connection(HOST, port)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

    with ExitStack() as held:
        for port in reserve_ports(HOST, 3, held):
            asyncio.run(serve(port))


def test_a_reserved_port_is_taken_for_everybody_else() -> None:
    with ExitStack() as held:
        [port] = reserve_ports(HOST, 1, held)
        with socket.socket() as anybody, pytest.raises(OSError, match="Address already in use"):
            anybody.bind((HOST, port))


def test_a_port_that_is_reserved_no_more_is_free() -> None:
    with ExitStack() as held:
        [port] = reserve_ports(HOST, 1, held)
    with socket.socket() as anybody:
        anybody.bind((HOST, port))

"""The FunctionCall message: the member answers the same bytes as PostgreSQL."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.local_member import LocalMember, local_member
from support.postgres_server import PostgresServer
from support.session_server import RawClient, raw_to

pytestmark = pytest.mark.postgres

REVERSE, LENGTH, ABS, REPEAT, SLEEP, SERIES, COUNT = 3062, 1317, 1397, 1622, 2626, 1067, 2803


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def _call(
    client: RawClient, oid: int, values: Sequence[bytes | None], formats: Sequence[int] = (), result: int = 0
) -> RawClient:
    body = struct.pack(f"!IH{len(formats)}hH", oid, len(formats), *formats, len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return client.message("F", body + struct.pack("!h", result))


CALLS: list[tuple[int, Sequence[bytes | None], Sequence[int], int]] = [
    (REVERSE, [b"abc"], (), 0),
    (REVERSE, [b"abc"], (1,), 1),
    (REVERSE, [None], (), 0),
    (LENGTH, ["ärger".encode()], (0,), 1),
    (ABS, [b"\xff\xff\xff\xf9"], (1,), 0),
    (ABS, [b"-7"], (), 1),
    (ABS, [b"seven"], (), 0),
    (REPEAT, [b"ab", b"\0\0\0\3"], (0, 1), 0),
    (REPEAT, [b"ab"], (), 0),
    (REPEAT, [b"ab", b"3"], (0, 0, 0), 0),
    (SLEEP, [b"0"], (), 0),
    (SERIES, [b"1", b"2"], (), 0),
    (COUNT, [], (), 0),
    (REVERSE, [b"abc"], (7,), 0),
    (1, [], (), 0),
]


async def _answers(client: RawClient) -> list[tuple[str, bytes | str]]:
    told: list[tuple[str, bytes | str]] = []
    while not told or told[-1][0] != "Z":
        kind, body = await client.receive()
        if kind == "E":
            told.append((kind, f"{client.error['C']} {client.error['M']}"))
        elif kind != "S":
            told.append((kind, body))
    return told


async def _transcript(host: str, port: int, user: str, database: str) -> list[object]:
    async with raw_to(host, port) as client:
        client.startup(user=user, database=database)
        await client.until("Z")
        told: list[object] = []
        for call in CALLS:
            told.append((call, await _answers(_call(client, *call))))
        for text in ("begin", "nonsense"):
            client.query(text)
            await client.until("Z")
        told.append(await _answers(_call(client, REVERSE, [b"abc"])))
        return told


async def test_function_calls_are_answered_as_by_postgresql(local: LocalMember, postgres: PostgresServer) -> None:
    expected = await _transcript(postgres.host, postgres.port, "postgres", "postgres")
    assert await _transcript("127.0.0.1", local.port, "tester", "sluice") == expected

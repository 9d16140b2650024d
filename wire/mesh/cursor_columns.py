"""The columns of a cursor as members send them to each other: the body of a `CursorDescribed`.

The body has everything that RowDescription and the encoding of rows need (`engine.contracts.sessions.ResultColumn`), in
typed structs. It is the body and not part of the message, since 1,600 columns with long names do not fit into a header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from wire.mesh.framing import RemoteProtocolError
from wire.mesh.messages import Message
from wire.types.user_types import TypeTold


class ColumnType(Message, frozen=True):
    """The fields of `engine.common.sql_type.SqlType`. type: the PostgreSQL type. display: a value of `NumericScale`."""

    type: TypeTold
    typmod: int
    precision: int
    scale: int
    display: str
    minimum: int
    fields: tuple[tuple[str, ColumnType], ...] = ()


class CursorColumn(Message, frozen=True):
    """One column. table_oid, attribute: the table and number of a plain table column, else 0."""

    name: str
    type: ColumnType
    table_oid: int
    attribute: int


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(tuple[CursorColumn, ...])


def encode_columns(columns: Sequence[CursorColumn]) -> bytes:
    return _ENCODER.encode(tuple(columns))


def decode_columns(body: bytes | bytearray) -> tuple[CursorColumn, ...]:
    """Decode the columns of a body. Raises RemoteProtocolError."""
    try:
        return _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"malformed columns of a cursor: {error}") from error

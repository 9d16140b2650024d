"""Text and binary codecs of the types that are carried as another type (`PgType.carried`), except enums and ranges: one
table with a row for each type.

    CODECS[t.INET].read("10.0.0.0/8", -1)                the canonical value, which is the carrier's
    text_of(t.INET, array)                               a column's texts

A value is read and written as a whole, by the functions of the modules `wire.types.network`, `.bits`, `.geometry`,
`.money`, `.jsonpath`, `.text_search` and `.text_search_queries`. Of a column, each distinct value is converted once.

Ranges are not in this table, since their bounds may have any type: `wire.types.input` and `wire.types.output`, which
are above this module, read and write them with `wire.types.range_bounds`.

Rejected: kernels over whole columns, as for the types of `wire.types.output_numbers`. Columns of addresses, money and
the like have repeated values, or are short. If a column is neither, a kernel can be added in front of this table.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

import pyarrow as pa

from wire.common.digits import parse_digits
from wire.dataclass import dataclass
from wire.errors import (
    FeatureNotSupported,
    InvalidBinaryRepresentation,
    InvalidXmlContent,
)
from wire.types import bits, geometry, jsonpath, money, network, text_search, text_search_queries
from wire.types import pg_types as t
from wire.types.byte_columns import ByteColumn, of_array
from wire.types.client_encodings import from_client
from wire.types.numbers_input import invalid

_LSN: Final = re.compile(r"([0-9a-fA-F]{1,8})/([0-9a-fA-F]{1,8})")
#: What strtoull reads: a sign, and digits in base 16, 8 or 10. It matches any text.
_XID8: Final = re.compile(r"[ \t-\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))?")
_TID: Final = re.compile(r"\s*\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)\s*")
_JSONPATH_VERSION: Final = b"\x01"
_INT8_MAX: Final = 2**63 - 1
_UINT8_MAX: Final = 2**64 - 1
#: Types with words in their binary format, which are read and written in UTF-8 only.
WORDS: Final = (t.TSVECTOR, t.TSQUERY, t.JSONPATH)


@dataclass(frozen=True, slots=True)
class Codec:
    """The functions of a type. read: from text and a modifier. show: to text; None: the value is its own text. send,
    receive: binary.
    """

    read: Callable[[str, int], Any]
    send: Callable[[Any], bytes]
    receive: Callable[[bytes], Any]
    show: Callable[[Any], str] | None = None


def _unpack(layout: str, data: bytes) -> tuple[Any, ...]:
    if len(data) != struct.calcsize(layout):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    return struct.unpack(layout, data)


# -- identifiers of transactions and tuples ------------------------------------------------------------------------------


def _read_lsn(text: str, _typmod: int) -> int:
    found = _LSN.fullmatch(text)
    if not found:
        raise invalid("pg_lsn", text)
    return _held("pg_lsn", int(found[1], 16) << 32 | int(found[2], 16))


def _held(name: str, value: int) -> int:
    if value > _INT8_MAX:
        raise FeatureNotSupported(f"not supported: values of {name} beyond {_INT8_MAX}")
    return value


def _lsn_text(value: int) -> str:
    return f"{value >> 32:X}/{value & 0xFFFFFFFF:X}"


def _read_xid8(text: str, _typmod: int) -> int:
    """Read as many digits as there are, in base 8 after 0 and 16 after 0x; PostgreSQL 15 ignores the rest (xid8in)."""
    found = _XID8.match(text)
    assert found is not None
    sign, hexadecimal, octal, decimal = found.groups()
    if hexadecimal is not None:
        value = int(hexadecimal, 16)
    else:
        value = int(octal, 8) if octal is not None else parse_digits(decimal or "0")
    if value > _UINT8_MAX:
        value = _UINT8_MAX
    elif sign == "-":
        value = -value % (_UINT8_MAX + 1)
    return _held("xid8", value)


def _read_tid(text: str, _typmod: int) -> str:
    found = _TID.fullmatch(text)
    block, offset = (parse_digits(found[1]), parse_digits(found[2])) if found else (-1, -1)
    if not 0 <= block < 1 << 32 or not 0 <= offset < 1 << 16:
        raise invalid("tid", text)
    return f"({block},{offset})"


def _send_tid(text: str) -> bytes:
    return struct.pack("!IH", *map(int, text[1:-1].split(",")))


def _uint8(read: Callable[[str, int], int], show: Callable[[int], str]) -> Codec:
    return Codec(read, lambda v: struct.pack("!Q", v), lambda b: _held("64 bits", _unpack("!Q", b)[0]), show)


# -- texts ---------------------------------------------------------------------------------------------------------------


def _read_xml(text: str, _typmod: int) -> str:
    """Check XML content: elements and text, well formed. Entities that a document would declare are refused."""
    parser = expat.ParserCreate()
    content = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        parser.Parse(f"<c>{content}</c>", True)
    except expat.ExpatError as error:
        if "<!DOCTYPE" in text:
            raise FeatureNotSupported("not supported: xml with a document type") from None
        raise InvalidXmlContent("invalid XML content", detail=expat.errors.messages[error.code]) from None
    return re.sub(r"^<\?xml\s+version=[\"']1\.0[\"'](?:\s+encoding=[\"'][^\"']*[\"'])?\s*\?>\n?", "", text)


def _read_aclitem(_text: str, _typmod: int) -> str:
    raise FeatureNotSupported("not supported: input of type aclitem")


def _receive_jsonpath(data: bytes) -> str:
    if data[:1] != _JSONPATH_VERSION:
        raise InvalidBinaryRepresentation(f"unsupported jsonpath version number: {data[0] if data else 0}")
    return jsonpath.read_jsonpath(from_client(data[1:], "UTF8"))


def _own_text(read: Callable[[str, int], str]) -> Codec:
    return Codec(read, str.encode, lambda data: read(from_client(data, "UTF8"), -1))


def _geometry(typ: t.PgType) -> Codec:
    return Codec(
        lambda text, _typmod: geometry.read_geometry(typ, text),
        functools.partial(geometry.send_geometry, typ),
        functools.partial(geometry.receive_geometry, typ),
    )


def _address(typ: t.PgType) -> Codec:
    return Codec(
        lambda text, _typmod: network.read_address(typ, text),
        functools.partial(network.send_address, typ),
        functools.partial(network.receive_address, typ),
        functools.partial(network.address_text, typ),
    )


def _mac(typ: t.PgType, read: Callable[[t.PgType, str], str]) -> Codec:
    receive = functools.partial(network.receive_mac, typ)
    return Codec(lambda text, _typmod: read(typ, text), network.send_mac, receive)


def _bits(typ: t.PgType) -> Codec:
    return Codec(lambda text, typmod: bits.read_bits(typ, text, typmod), bits.send_bits, bits.receive_bits)


CODECS: Final[dict[t.PgType, Codec]] = {
    t.INET: _address(t.INET),
    t.CIDR: _address(t.CIDR),
    t.MACADDR: _mac(t.MACADDR, network.read_mac),
    t.MACADDR8: _mac(t.MACADDR8, network.read_mac8),
    t.BIT: _bits(t.BIT),
    t.VARBIT: _bits(t.VARBIT),
    t.MONEY: Codec(
        lambda text, _typmod: money.read_money(text),
        lambda v: struct.pack("!q", v),
        lambda b: _unpack("!q", b)[0],
        money.money_text,
    ),
    t.PG_LSN: _uint8(_read_lsn, _lsn_text),
    t.XID8: _uint8(_read_xid8, str),
    t.TID: Codec(_read_tid, _send_tid, lambda data: "({},{})".format(*_unpack("!IH", data))),
    t.XML: _own_text(_read_xml),
    t.ACLITEM: _own_text(_read_aclitem),
    t.REFCURSOR: _own_text(lambda text, _typmod: text),
    t.TSVECTOR: Codec(
        lambda text, _typmod: text_search.read_tsvector(text), text_search.send_tsvector, text_search.receive_tsvector
    ),
    t.TSQUERY: Codec(
        lambda text, _typmod: text_search_queries.read_tsquery(text),
        text_search_queries.send_tsquery,
        text_search_queries.receive_tsquery,
        text_search_queries.tsquery_text,
    ),
    t.JSONPATH: Codec(
        lambda text, _typmod: jsonpath.read_jsonpath(text),
        lambda carried: _JSONPATH_VERSION + jsonpath.jsonpath_text(carried).encode(),
        _receive_jsonpath,
        jsonpath.jsonpath_text,
    ),
    **{typ: _geometry(typ) for typ in (t.POINT, t.LSEG, t.BOX, t.PATH, t.POLYGON, t.LINE, t.CIRCLE)},
}


# -- columns -------------------------------------------------------------------------------------------------------------


def each(array: pa.Array, make: Callable[[Any], bytes]) -> ByteColumn:
    """Apply `make` to the values of a column, once to each distinct one."""
    encoded = array.dictionary_encode()
    made = pa.array([make(value) for value in encoded.dictionary.to_pylist()], pa.binary())
    return of_array(made.take(encoded.indices))


def text_of(typ: t.PgType, array: pa.Array) -> ByteColumn:
    """Return a column's texts, in UTF-8."""
    show = CODECS[typ].show
    return of_array(array) if show is None else each(array, lambda value: show(value).encode())

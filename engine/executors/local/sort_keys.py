"""Byte strings whose order and equality are PostgreSQL's, for types whose carriers sort differently: jsonb, ranges,
multiranges, tsvector, tsquery.

A key contains what a comparison of two values would examine, in the same order: the number of an array's elements and
then each element; a lower bound, whether it is inclusive, then the upper bound. Texts end with a zero byte, which no
text contains. Numbers are encoded as sign, magnitude and digits, all inverted for negative numbers.

Source: PostgreSQL 15, jsonb_util.c (compareJsonbContainers), rangetypes.c (range_cmp), tsvector_op.c
(silly_cmp_tsvector), tsquery_op.c (CompareTSQ), tsquery_util.c (QTNodeCompare).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from engine.executors.local import json_documents as documents
from engine.executors.local.distinct_calls import register
from wire.types import pg_types as t
from wire.types import text_search, text_search_queries
from wire.types.multiranges import RANGES, pieces
from wire.types.range_bounds import read_bound
from wire.types.ranges import SUBTYPES, Range, parse_bounds

_BIAS: Final = 1 << 31
_NULL, _STRING, _NUMBER, _FALSE, _TRUE, _ARRAY, _OBJECT = (bytes((n,)) for n in (0, 1, 2, 3, 4, 16, 17))


def number_key(value: Decimal) -> bytes:
    """Return the key of a finite number; 1.50 has the key of 1.5."""
    if not value:
        return b"\1"
    sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int)
    magnitude = (len(digits) + exponent + _BIAS).to_bytes(4)
    # Digits are increased by one, so that none equals the end mark.
    shown = magnitude + bytes(digit + 1 for digit in digits) + b"\0"
    return b"\0" + bytes(255 - byte for byte in shown) if sign else b"\2" + shown


def document_key(text: str) -> bytes:
    """Return the key of a jsonb. A scalar sorts like an array that contains it, but before the real array of that one
    element.
    """
    value = documents.read(text)
    if isinstance(value, dict):
        return _part(value)
    return _list_key(value, b"\1") if isinstance(value, list) else _list_key([value], b"\0")


def _list_key(items: list[Any], container: bytes) -> bytes:
    return _ARRAY + len(items).to_bytes(4) + container + b"".join(map(_part, items))


def _part(value: Any) -> bytes:
    if isinstance(value, dict):
        members = sorted(((key.encode(), item) for key, item in value.items()), key=lambda m: (len(m[0]), m[0]))
        return _OBJECT + len(members).to_bytes(4) + b"".join(key + b"\0" + _part(item) for key, item in members)
    if isinstance(value, list):
        return _list_key(value, b"\1")
    if isinstance(value, documents.Number):
        return _NUMBER + number_key(Decimal(value))
    if isinstance(value, str):
        return _STRING + value.encode() + b"\0"
    return _NULL if value is None else _TRUE if value else _FALSE


def range_key(typ: t.PgType, text: str) -> bytes:
    """Return the key of a range's canonical text. The empty range sorts first; no lower bound sorts before any, no
    upper bound after all.
    """
    found = parse_bounds(text)
    return b"\0" if found.empty else b"\1" + _lower(typ, found) + _upper(typ, found)


def multirange_key(typ: t.PgType, text: str) -> bytes:
    """Return the key of a multirange's canonical text: the keys of its ranges in order, then an end mark that sorts
    before any range.
    """
    return b"".join(range_key(RANGES[typ], piece) for piece in pieces(text)) + b"\0"


def _lower(typ: t.PgType, given: Range) -> bytes:
    if given.lower is None:
        return b"\0"
    return b"\1" + _bound(typ, given.lower) + (b"\0" if given.lower_in else b"\1")


def _upper(typ: t.PgType, given: Range) -> bytes:
    if given.upper is None:
        return b"\2"
    return b"\1" + _bound(typ, given.upper) + (b"\1" if given.upper_in else b"\0")


def _bound(typ: t.PgType, text: str) -> bytes:
    value = read_bound(SUBTYPES[typ], text)
    return number_key(value) if isinstance(value, Decimal) else (value + (1 << 63)).to_bytes(8)


def tsvector_key(text: str) -> bytes:
    """Return the key of a tsvector: the size in bytes that PostgreSQL needs, the number of words, and for each word:
    whether it has positions, the word itself, and its positions, more of them before fewer.
    """
    entries = text_search.entries_of(text)
    key = _size(8 + 4 * len(entries) + text_search.texts_bytes(entries)) + _size(len(entries))
    for word, places in entries:
        key += (b"\0" if places else b"\1") + word.encode() + b"\0"
        if places:
            key += _descending_key(len(places)) + b"".join(
                _descending_key(place) + _descending_key(weight) for place, weight in places
            )
    return key


def _size(number: int) -> bytes:
    return number.to_bytes(4)


def _descending_key(number: int) -> bytes:
    """Return a key that sorts greater numbers first."""
    return (_BIAS * 2 - 1 - number).to_bytes(4)


def tsquery_key(carried: str) -> bytes:
    """Return the key of a tsquery: the number of nodes, the size in bytes that PostgreSQL needs, and the kind and
    content of each node: operators first, words by their checksum.
    """
    tree = text_search_queries.tree_of(carried)
    nodes = list(text_search_queries.nodes(tree))
    words = [node.text for node in nodes if isinstance(node, text_search_queries.Word)]
    key = _size(len(nodes)) + _size(8 + 12 * len(nodes) + sum(len(word.encode()) + 1 for word in words))
    left_over: list[Any] = [tree] if tree is not None else []
    while left_over:
        node = left_over.pop()
        if isinstance(node, bytes):
            key += node
        elif isinstance(node, text_search_queries.Word):
            key += b"\1" + _descending_key(_checksum(node.text.encode()) + _BIAS) + node.text.encode() + b"\0"
        else:
            key += b"\0" + _descending_key(node.kind)
            distance = [_descending_key(node.distance)] if node.kind == text_search_queries.PHRASE else []
            left_over += [*distance, *([] if node.left is None else [node.left]), node.right]
    return key


def _checksum(word: bytes) -> int:
    """Compute PostgreSQL's legacy CRC as a signed number: the usual table, applied in the other direction."""
    crc = 0xFFFFFFFF
    for byte in word:
        crc = _CRC[(crc >> 24) ^ byte] ^ (crc << 8 & 0xFFFFFFFF)
    crc ^= 0xFFFFFFFF
    return crc - (crc >> 31 << 32)


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0xEDB88320 if byte & 1 else 0)
    return byte


_CRC: Final = [_crc_of(byte) for byte in range(256)]


def _of_range(typ: t.PgType) -> None:
    key = multirange_key if typ in RANGES else range_key
    register(f"sluice_{typ.name}_key", ["VARCHAR"], "BLOB", lambda text: key(typ, text))


register("sluice_jsonb_key", ["VARCHAR"], "BLOB", document_key)
register("sluice_tsvector_key", ["VARCHAR"], "BLOB", tsvector_key)
register("sluice_tsquery_key", ["VARCHAR"], "BLOB", tsquery_key)
for _typ in (*SUBTYPES, *RANGES):
    _of_range(_typ)

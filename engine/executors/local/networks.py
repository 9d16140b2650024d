"""Functions of network addresses in the local engine; addresses are carried as bytes (`wire.types.network`).

Each distinct value of a batch, or each distinct pair of arguments, is computed once.

Source: PostgreSQL 15, network.c.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.executors.local.udf import arrow_function
from wire.errors import InvalidParameterValue, NumericValueOutOfRange
from wire.types import pg_types as t
from wire.types.network import Address, address_of, address_text

_Values = Callable[..., Any]


def _whole(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _each(compute: _Values, typ: pa.DataType) -> Callable[[Any], pa.Array]:
    def run(keys: Any) -> pa.Array:
        encoded = _whole(keys).dictionary_encode()
        made = [compute(address_of(key)) for key in encoded.dictionary.to_pylist()]
        return pa.array(made, typ).take(encoded.indices)

    return run


def _each_pair(compute: _Values, typ: pa.DataType) -> Callable[[Any, Any], pa.Array]:
    def run(left: Any, right: Any) -> pa.Array:
        one, two = _whole(left).dictionary_encode(), _whole(right).dictionary_encode()
        width = max(len(two.dictionary), 1)
        pairs = one.indices.to_numpy().astype(np.int64) * width + two.indices.to_numpy()
        found, back = np.unique(pairs, return_inverse=True)
        firsts, seconds = one.dictionary.to_pylist(), two.dictionary.to_pylist()
        made = [compute(firsts[pair // width], seconds[pair % width]) for pair in found.tolist()]
        return pa.array(made, typ).take(pa.array(back))

    return run


def _with(address: Address, packed: int, bits: int) -> bytes:
    return Address(address.family, bits, packed.to_bytes(len(address.packed))).key()


def _size(address: Address) -> int:
    return len(address.packed) * 8


def _mask(address: Address) -> int:
    return (1 << _size(address)) - (1 << (_size(address) - address.bits))


def _host_mask(address: Address) -> int:
    return (1 << (_size(address) - address.bits)) - 1


def _broadcast(address: Address) -> bytes:
    return _with(address, int.from_bytes(address.packed) | _host_mask(address), address.bits)


def _network(address: Address) -> bytes:
    return Address(address.family, address.bits, address.network).key()


def _host(address: Address) -> str:
    return address_text(t.INET, Address(address.family, _size(address), address.packed).key())


def _set_masklen(key: bytes, bits: int) -> bytes:
    address = address_of(key)
    bits = _size(address) if bits == -1 else bits
    if not 0 <= bits <= _size(address):
        raise InvalidParameterValue(f"invalid mask length: {bits}")
    return Address(address.family, bits, address.packed).key()


def _set_network_length(key: bytes, bits: int) -> bytes:
    return _network(address_of(_set_masklen(key, bits)))


def contains(one: bytes, two: bytes, *, equal: bool) -> bool:
    """Return whether the network of `one` contains that of `two`; with `equal`, also if they are the same."""
    outer, inner = address_of(one), address_of(two)
    if outer.family != inner.family or not (outer.bits <= inner.bits if equal else outer.bits < inner.bits):
        return False
    return Address(inner.family, outer.bits, inner.packed).network == outer.network


def _merge_networks(one: bytes, two: bytes) -> bytes:
    """Return the smallest network that contains both. Raises InvalidParameterValue for different families."""
    a, b = address_of(one), address_of(two)
    if a.family != b.family:
        raise InvalidParameterValue("cannot merge addresses from different families")
    differing = int.from_bytes(a.packed) ^ int.from_bytes(b.packed)
    bits = min(a.bits, b.bits, _size(a) - differing.bit_length())
    return _network(Address(a.family, bits, a.packed))


def _abbreviate(address: Address) -> str:
    """Print a network without the octets or words that its mask does not reach."""
    if address.family != 2:
        return _abbreviate_six(address) + f"/{address.bits}"
    kept = max((address.bits + 7) // 8, 1)
    return ".".join(map(str, address.packed[:kept])) + f"/{address.bits}"


def _abbreviate_six(address: Address) -> str:
    """Print the words of an IPv6 network that its mask reaches, at least two, with the longest run of zeros as `::`
    (inet_cidr_ntop.c, inet_cidr_ntop_ipv6).
    """
    if address.bits == 0:
        return "::"
    packed = address.packed
    count = max((address.bits + 15) // 16, 2)
    words = [int.from_bytes(packed[place : place + 2]) for place in range(0, 2 * count, 2)]
    start, length = _longest_zeros(words)
    has_octets = length != count and start == 0 and _holds_ipv4(packed, length)
    text = ""
    for place, word in enumerate(words):
        if start <= place < start + length:
            text += ":" * ((place == start) + (place == count - 1))
        elif has_octets and place > 5:
            octets = packed[2 * place : 2 * place + 1 + (place != 7 or address.bits > 120)]
            text += (":" if place == 6 else ".") + ".".join(map(str, octets))
        else:
            text += (":" if text else "") + f"{word:x}"
    return text


def _holds_ipv4(packed: bytes, zeros: int) -> bool:
    """Return whether the words after so many leading zero words are written as an IPv4 address."""
    mapped = zeros == 5 and packed[10:12] == b"\xff\xff"
    return zeros == 6 or mapped or (zeros == 7 and packed[14] != 0 and packed[15] != 1)


def _longest_zeros(words: Sequence[int]) -> tuple[int, int]:
    """Return the start and length of the longest run of zeros. As in PostgreSQL, a run that is not the longest is
    counted on into the next one.
    """
    start = length = now_start = now = 0
    for place, word in enumerate(words):
        if word == 0:
            now_start = now_start if now else place
            now += 1
        elif now > length:
            start, length, now = now_start, now, 0
    return (now_start, now) if now > length else (start, length)


def _not(address: Address) -> bytes:
    return _with(address, int.from_bytes(address.packed) ^ ((1 << _size(address)) - 1), address.bits)


def _bitwise(word: str, combine: Callable[[int, int], int]) -> Callable[[bytes, bytes], bytes]:
    """Return the bitwise operator of two addresses. The result has the longer of the two masks."""

    def compute(one: bytes, two: bytes) -> bytes:
        a, b = _alike(one, two, f"cannot {word} inet values of different sizes")
        return _with(a, combine(int.from_bytes(a.packed), int.from_bytes(b.packed)), max(a.bits, b.bits))

    return compute


def _alike(one: bytes, two: bytes, otherwise: str) -> tuple[Address, Address]:
    """Read two addresses. Raises InvalidParameterValue if they have different families."""
    a, b = address_of(one), address_of(two)
    if a.family != b.family:
        raise InvalidParameterValue(otherwise)
    return a, b


def _plus(key: bytes, number: int) -> bytes:
    address = address_of(key)
    moved = int.from_bytes(address.packed) + number
    if not 0 <= moved < 1 << _size(address):
        raise NumericValueOutOfRange("result is out of range")
    return _with(address, moved, address.bits)


def _distance(one: bytes, two: bytes) -> int:
    a, b = _alike(one, two, "cannot subtract inet values of different sizes")
    found = int.from_bytes(a.packed) - int.from_bytes(b.packed)
    if not -(1 << 63) <= found < 1 << 63:
        raise NumericValueOutOfRange("result is out of range")
    return found


#: Functions of one address: the name, the result's types in DuckDB and in Arrow, the implementation.
_FUNCTIONS: Final[tuple[tuple[str, str, pa.DataType, _Values], ...]] = (
    ("host", "VARCHAR", pa.utf8(), _host),
    ("masklen", "INTEGER", pa.int32(), lambda address: address.bits),
    ("family", "INTEGER", pa.int32(), lambda address: 4 if address.family == 2 else 6),
    ("network", "BLOB", pa.binary(), _network),
    ("broadcast", "BLOB", pa.binary(), _broadcast),
    ("netmask", "BLOB", pa.binary(), lambda address: _with(address, _mask(address), _size(address))),
    ("abbreviated", "VARCHAR", pa.utf8(), _abbreviate),
    ("not", "BLOB", pa.binary(), _not),
    ("hostmask", "BLOB", pa.binary(), lambda address: _with(address, _host_mask(address), _size(address))),
)
_PAIRS: Final[tuple[tuple[str, str, str, pa.DataType, _Values], ...]] = (
    ("set_masklen", "INTEGER", "BLOB", pa.binary(), _set_masklen),
    ("set_network_length", "INTEGER", "BLOB", pa.binary(), _set_network_length),
    ("contains", "BLOB", "BOOLEAN", pa.bool_(), lambda one, two: contains(one, two, equal=False)),
    ("contains_or_is", "BLOB", "BOOLEAN", pa.bool_(), lambda one, two: contains(one, two, equal=True)),
    ("and", "BLOB", "BLOB", pa.binary(), _bitwise("AND", operator.and_)),
    ("or", "BLOB", "BLOB", pa.binary(), _bitwise("OR", operator.or_)),
    ("plus", "BIGINT", "BLOB", pa.binary(), _plus),
    ("distance", "BLOB", "BIGINT", pa.int64(), _distance),
    ("merged", "BLOB", "BLOB", pa.binary(), _merge_networks),
)
for _name, _returns, _typ, _compute in _FUNCTIONS:
    arrow_function(f"sluice_inet_{_name}", ["BLOB"], _returns)(_each(_compute, _typ))
for _name, _second, _returns, _typ, _compute in _PAIRS:
    arrow_function(f"sluice_inet_{_name}", ["BLOB", _second], _returns)(_each_pair(_compute, _typ))

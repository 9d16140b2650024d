"""Functions of network addresses in the local engine; addresses are carried as bytes (`wire.text_network`).

A value is asked for once, of two arguments each pair of them once.

Source: PostgreSQL 15, network.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.local.udf import arrow_function
from wire import types as t
from wire.errors import InvalidParameterValue
from wire.text_network import Address, address_of, address_text

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
    """Whether the network of `one` contains that of `two`, or is it."""
    outer, inner = address_of(one), address_of(two)
    if outer.family != inner.family or not (outer.bits <= inner.bits if equal else outer.bits < inner.bits):
        return False
    return Address(inner.family, outer.bits, inner.packed).network == outer.network


def _merged(one: bytes, two: bytes) -> bytes:
    """The smallest network that has both. Raises InvalidParameterValue for two families."""
    a, b = address_of(one), address_of(two)
    if a.family != b.family:
        raise InvalidParameterValue("cannot merge addresses from different families")
    differing = int.from_bytes(a.packed) ^ int.from_bytes(b.packed)
    bits = min(a.bits, b.bits, _size(a) - differing.bit_length())
    return _network(Address(a.family, bits, a.packed))


#: By the function's name: what it takes beside an address, what it gives, how.
_FUNCTIONS: Final[tuple[tuple[str, str, pa.DataType, _Values], ...]] = (
    ("host", "VARCHAR", pa.utf8(), _host),
    ("masklen", "INTEGER", pa.int32(), lambda address: address.bits),
    ("family", "INTEGER", pa.int32(), lambda address: 4 if address.family == 2 else 6),
    ("network", "BLOB", pa.binary(), _network),
    ("broadcast", "BLOB", pa.binary(), _broadcast),
    ("netmask", "BLOB", pa.binary(), lambda address: _with(address, _mask(address), _size(address))),
    ("hostmask", "BLOB", pa.binary(), lambda address: _with(address, _host_mask(address), _size(address))),
)
_PAIRS: Final[tuple[tuple[str, str, str, pa.DataType, _Values], ...]] = (
    ("set_masklen", "INTEGER", "BLOB", pa.binary(), _set_masklen),
    ("set_network_length", "INTEGER", "BLOB", pa.binary(), _set_network_length),
    ("contains", "BLOB", "BOOLEAN", pa.bool_(), lambda one, two: contains(one, two, equal=False)),
    ("contains_or_is", "BLOB", "BOOLEAN", pa.bool_(), lambda one, two: contains(one, two, equal=True)),
    ("merged", "BLOB", "BLOB", pa.binary(), _merged),
)
for _name, _returns, _typ, _compute in _FUNCTIONS:
    arrow_function(f"sluice_inet_{_name}", ["BLOB"], _returns)(_each(_compute, _typ))
for _name, _second, _returns, _typ, _compute in _PAIRS:
    arrow_function(f"sluice_inet_{_name}", ["BLOB", _second], _returns)(_each_pair(_compute, _typ))

"""Network addresses: inet and cidr as bytes that sort as PostgreSQL sorts the values, macaddr and macaddr8 as their
canonical text.

An inet is carried as the family (2 or 3), the network's bits (followed by zeros), their number, and the whole address.
Comparing these bytes gives network_cmp's order: family, the bits that both networks have, the length of the mask, the
address. Hexadecimal digits in lower case sort as the bytes that they represent, so a macaddr is carried as text.

Source: PostgreSQL 15, network.c, inet_net_pton.c, inet_cidr_ntop.c, mac.c, mac8.c; behaviour compared with a real
server.
"""

from __future__ import annotations

import re
import socket
from typing import Final, NamedTuple

from wire.common.digits import is_digits, parse_digits
from wire.errors import InvalidBinaryRepresentation, InvalidTextRepresentation
from wire.types import pg_types as t
from wire.types.numbers_input import invalid

_V4, _V6 = 2, 3
_SIZE: Final = {_V4: 4, _V6: 16}
_FAMILY: Final = {_V4: socket.AF_INET, _V6: socket.AF_INET6}
_OCTETS: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){0,3}\.?")


class Address(NamedTuple):
    """An address. family: 2 or 3. bits: the number of the network's bits. packed: the whole address."""

    family: int
    bits: int
    packed: bytes

    @property
    def network(self) -> bytes:
        size = len(self.packed) * 8
        return (int.from_bytes(self.packed) >> (size - self.bits) << (size - self.bits)).to_bytes(len(self.packed))

    def key(self) -> bytes:
        return bytes((self.family,)) + self.network + bytes((self.bits,)) + self.packed


def address_of(key: bytes) -> Address:
    size = _SIZE[key[0]]
    return Address(key[0], key[1 + size], key[2 + size :])


def read_address(typ: t.PgType, text: str) -> bytes:
    """Read an inet or cidr. Raises InvalidTextRepresentation."""
    cidr = typ is t.CIDR
    address, slash, mask = text.partition("/")
    if slash and not is_digits(mask):
        raise invalid(typ.name, text)
    found = _v6(address, mask) if ":" in address else _v4(address, mask, cidr)
    if found is None:
        raise invalid(typ.name, text)
    if cidr and found.network != found.packed:
        raise InvalidTextRepresentation(f'invalid cidr value: "{text}"', detail="Value has bits set to right of mask.")
    return found.key()


def _v6(address: str, mask: str) -> Address | None:
    bits = parse_digits(mask) if mask else 128
    try:
        return Address(_V6, bits, socket.inet_pton(socket.AF_INET6, address)) if bits <= 128 else None
    except OSError:
        return None


def _v4(address: str, mask: str, cidr: bool) -> Address | None:
    if not _OCTETS.fullmatch(address) or address.endswith("."):
        return None
    octets = [int(part) for part in address.split(".")]
    if max(octets) > 255 or (mask and parse_digits(mask) > 32):
        return None
    if mask and not cidr and parse_digits(mask) // 8 > len(octets):
        return None
    if mask:
        bits = parse_digits(mask)
    elif cidr:
        bits = _class_bits(octets)
    elif len(octets) == 4:
        bits = 32
    else:
        return None
    return Address(_V4, bits, bytes(octets + [0] * (4 - len(octets))))


def _class_bits(octets: list[int]) -> int:
    """Return the mask length of an address without a mask, by its class."""
    first = octets[0]
    bits = 32 if first >= 240 else 8 if first >= 224 else 24 if first >= 192 else 16 if first >= 128 else 8
    bits = max(bits, len(octets) * 8)
    return 4 if bits == 8 and first == 224 else bits


def address_text(typ: t.PgType, key: bytes) -> str:
    """Write an address as inet_out and cidr_out do: without an inet's mask if it covers the whole address."""
    found = address_of(key)
    shown = socket.inet_ntop(_FAMILY[found.family], found.packed)
    if typ is t.CIDR or found.bits != len(found.packed) * 8:
        return f"{shown}/{found.bits}"
    return shown


def send_address(typ: t.PgType, key: bytes) -> bytes:
    found = address_of(key)
    return bytes((found.family, found.bits, typ is t.CIDR, len(found.packed))) + found.packed


def receive_address(typ: t.PgType, data: bytes) -> bytes:
    """Read an inet or cidr from the binary format. Raises InvalidBinaryRepresentation."""
    kind = typ.name
    if len(data) < 4 or data[0] not in _SIZE:
        raise InvalidBinaryRepresentation(f'invalid address family in external "{kind}" value')
    size = _SIZE[data[0]]
    if data[1] > size * 8:
        raise InvalidBinaryRepresentation(f'invalid bits in external "{kind}" value')
    if data[3] != size or len(data) != 4 + size:
        raise InvalidBinaryRepresentation(f'invalid length in external "{kind}" value')
    found = Address(data[0], data[1], data[4:])
    if typ is t.CIDR and found.network != found.packed:
        raise InvalidBinaryRepresentation(
            'invalid external "cidr" value', detail="Value has bits set to right of mask."
        )
    return found.key()


# -- macaddr -----------------------------------------------------------------------------------------------------------

_HEX: Final = "[0-9a-fA-F]"
_MAC: Final = tuple(
    re.compile(rf"\s*{form}\s*")
    for form in (
        rf"({_HEX}{{1,2}}):({_HEX}{{1,2}}):({_HEX}{{1,2}}):({_HEX}{{1,2}}):({_HEX}{{1,2}}):({_HEX}{{1,2}})",
        rf"({_HEX}{{1,2}})-({_HEX}{{1,2}})-({_HEX}{{1,2}})-({_HEX}{{1,2}})-({_HEX}{{1,2}})-({_HEX}{{1,2}})",
        rf"({_HEX}{{2}})({_HEX}{{2}})({_HEX}{{2}})[:-]({_HEX}{{2}})({_HEX}{{2}})({_HEX}{{2}})",
        rf"({_HEX}{{2}})({_HEX}{{2}})[.]({_HEX}{{2}})({_HEX}{{2}})[.]({_HEX}{{2}})({_HEX}{{2}})",
        rf"({_HEX}{{2}})({_HEX}{{2}})-({_HEX}{{2}})({_HEX}{{2}})-({_HEX}{{2}})({_HEX}{{2}})",
        rf"({_HEX}{{2}})({_HEX}{{2}})({_HEX}{{2}})({_HEX}{{2}})({_HEX}{{2}})({_HEX}{{2}})",
    )
)
_MAC8: Final = re.compile(rf"\s*(?:{_HEX}{{2}}([:.-]?)){{5}}{_HEX}{{2}}(?:\1?{_HEX}{{2}}\1?{_HEX}{{2}})?\s*")


def read_mac(typ: t.PgType, text: str) -> str:
    """Read a macaddr. Raises InvalidTextRepresentation."""
    for form in _MAC:
        if found := form.fullmatch(text):
            return ":".join(f"{int(part, 16):02x}" for part in found.groups())
    raise invalid(typ.name, text)


def read_mac8(typ: t.PgType, text: str) -> str:
    """Read a macaddr8. Six bytes become eight, with ff:fe in the middle. Raises InvalidTextRepresentation."""
    digits = re.sub(r"[:.\s-]", "", text).lower()
    if not _MAC8.fullmatch(text) or len({c for c in text if c in ":.-"}) > 1:
        raise invalid(typ.name, text)
    if len(digits) == 12:
        digits = digits[:6] + "fffe" + digits[6:]
    return ":".join(digits[at : at + 2] for at in range(0, 16, 2))


def send_mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def receive_mac(typ: t.PgType, data: bytes) -> str:
    """Read a macaddr or macaddr8 from the binary format. Raises InvalidBinaryRepresentation."""
    if typ is t.MACADDR8 and len(data) == 6:
        data = data[:3] + b"\xff\xfe" + data[3:]
    if len(data) != (6 if typ is t.MACADDR else 8):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    return data.hex(":")

"""Random mutations of byte strings, with which the fast test runs each target without coverage guidance."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

#: What decoders are most often wrong about: limits, signs, ends of strings, escapes.
_TELLING: Final = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\0\0\0\0",
    b'"',
    b"'",
    b"\\",
    b"\n",
    b"{",
    b"}",
    b"(",
    b"-",
    b"1e999",
    b"infinity",
    b"\xc3\x28",
    b"99999999999999999999",
)


def mutations(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` variations of the seeds; the same ones for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            _change(data, seeds, chance)
        yield bytes(data)


def _change(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((0, 1, 1, 2, 4, 16)))
    match chance.randrange(6):
        case 0:
            del data[at:end]
        case 1:
            data[at:end] = chance.choice(_TELLING)
        case 2:
            data[at:at] = data[at:end] * chance.randint(1, 4)
        case 3:
            other = chance.choice(seeds)
            data[at:end] = other[chance.randint(0, len(other)) :][:16]
        case 4:
            data[at:end] = chance.randbytes(end - at)
        case _ if at < len(data):
            data[at] ^= 1 << chance.randrange(8)

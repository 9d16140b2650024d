"""Each target over its seeds and some mutations, without coverage: a short version of `make fuzz`."""

from __future__ import annotations

import pytest

from fuzzing.mutation import mutations
from fuzzing.targets import TARGETS

_MUTATIONS = 300
#: What `make fuzz` has found, by target: each stays read or refused as its contract says.
FOUND: list[tuple[str, bytes]] = [
    ("parameter", b"\x3f\x01\0\0\0\x01\0\x76\x8b\0"),
    ("configuration", b'data = "\xff"'),
    ("configuration_yaml", b"a: 2024-99-99"),
    ("configuration_yaml", b"[" * 1000),
    ("configuration", b"a = " + b"[" * 5000),
    ("topology", b"a: 2024-99-99"),
    ("topology", b"[" * 1000),
]


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    for data in (b"", *seeds, *mutations(seeds, _MUTATIONS // target.weight, 1)):
        target.run(data)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name: str) -> None:
    """A seed that is refused at once tests little. Most seeds must be read; not all, because some types have no input,
    and some statements are wrong on purpose.
    """
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert sum(target.run(data) for data in seeds) >= len(seeds) * 0.8


@pytest.mark.parametrize(("name", "data"), FOUND)
def test_found(name: str, data: bytes) -> None:
    TARGETS[name].run(data)

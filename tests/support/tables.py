"""Tables among the tests: many cases of one kind, of which a run may ask a part."""

from __future__ import annotations

from collections.abc import Sequence


def sample(names: Sequence[str], parts: int, seed: int) -> set[str]:
    """Return one of so many of a table's cases, at least one. Successive seeds choose all of them, each once."""
    # By name: the order of tests is another one in each run.
    return set(sorted(names)[seed % min(parts, len(names)) :: parts])

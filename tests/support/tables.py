"""Sampling of test tables: tables have many cases of one kind, of which a run may execute a part."""

from __future__ import annotations

from collections.abc import Sequence


def sample(names: Sequence[str], parts: int, seed: int) -> set[str]:
    """Return one of `parts` parts of a table's cases, with at least one case. Successive seeds choose every case once."""
    # By name: the order of tests is another one in each run.
    return set(sorted(names)[seed % min(parts, len(names)) :: parts])

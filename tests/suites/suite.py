"""The definition of a suite, as the runner uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suites.outcomes import Outcomes
from suites.servers import Server


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tests that are not counted. pattern: as in `fnmatch`, over their names. why: for people, a clause."""

    pattern: str
    why: str


@dataclass(frozen=True, slots=True)
class Suite:
    """name: of its files, and on the command line. package: what it comes from and which version, for the table. bar: which
    share of what passes on PostgreSQL must pass here. run: all of its tests against one server; raises `SuiteError`. family: whose
    reasons it shares; its own where it has no family."""

    name: str
    title: str
    package: str
    bar: float
    run: Callable[[Server], Outcomes]
    left_out: Sequence[LeftOut] = ()
    family: str = ""

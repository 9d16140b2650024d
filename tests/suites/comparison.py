"""The comparison of a suite's run here with the one on PostgreSQL: which tests must pass, which do not, and why not.

Reasons are in `reasons/NAME.toml`, where NAME is the suite's or its family's; people review them:

    [[reason]]
    why = "rows are not locked: ..."          # what a user reads
    tests = ["*::test_for_update*"]           # fnmatch over names
    says = "could not obtain lock"            # if given: a regular expression that matches the test's output

The first reason that matches a failure applies.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from suites.outcomes import MISSING, Outcome, Outcomes
from suites.suite import Suite

REASONS: Final = Path(__file__).parent / "reasons"


@dataclass(frozen=True, slots=True)
class Reason:
    why: str
    tests: Sequence[str]
    says: str = ""

    def explains(self, test: str, outcome: Outcome) -> bool:
        return any(_fits(test, pattern) for pattern in self.tests) and bool(re.search(self.says, outcome.said))


@dataclass(frozen=True, slots=True)
class Comparison:
    """required: what passes on PostgreSQL. failures: of these, what does not here. explained: those by reason."""

    required: int
    failures: Mapping[str, Outcome]
    explained: Mapping[str, Sequence[str]]

    @property
    def passed(self) -> int:
        return self.required - len(self.failures)

    @property
    def unexplained(self) -> Mapping[str, Outcome]:
        known = {test for tests in self.explained.values() for test in tests}
        return {test: outcome for test, outcome in self.failures.items() if test not in known}


def counted(suite: Suite, outcomes: Outcomes) -> Outcomes:
    """Without what is left out."""
    return {
        test: outcome
        for test, outcome in outcomes.items()
        if not any(_fits(test, left.pattern) for left in suite.left_out)
    }


def compare(here: Outcomes, there: Outcomes, reasons: Sequence[Reason]) -> Comparison:
    required = [test for test, outcome in there.items() if outcome.state == "passed"]
    found = {test: here.get(test, MISSING) for test in required}
    failures = {test: outcome for test, outcome in found.items() if outcome.state != "passed"}
    explained: dict[str, list[str]] = {}
    for test, outcome in failures.items():
        reason = next((reason for reason in reasons if reason.explains(test, outcome)), None)
        if reason is not None:
            explained.setdefault(reason.why, []).append(test)
    return Comparison(len(required), failures, explained)


def reasons(suite: Suite) -> list[Reason]:
    file = REASONS / f"{suite.family or suite.name}.toml"
    if not file.exists():
        return []
    return [Reason(**entry) for entry in tomllib.loads(file.read_text())["reason"]]


def _fits(test: str, pattern: str) -> bool:
    """fnmatch in which brackets, which parametrised tests have in their names, mean themselves."""
    return fnmatchcase(test, pattern.replace("[", "[[]"))

"""The outcome of each test of a run, from pytest's report in JUnit's XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

State = Literal["passed", "skipped", "failed"]
#: A test may be told more than once: its call passed, its teardown failed. The worst counts.
_WORSE: Final[Mapping[State, int]] = {"passed": 0, "skipped": 1, "failed": 2}
_TAGS: Final[Mapping[str, State]] = {"failure": "failed", "error": "failed", "skipped": "skipped"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """said: why it did not pass, in its runner's words; empty if it did."""

    state: State
    said: str = ""


Outcomes = Mapping[str, Outcome]
MISSING: Final = Outcome("failed", "the test was not run")


def read_junit(file: Path) -> dict[str, Outcome]:
    """The tests of a report by `class::name`."""
    outcomes: dict[str, Outcome] = {}
    for case in ET.parse(file).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        outcome = _outcome(case)
        if name not in outcomes or _WORSE[outcome.state] > _WORSE[outcomes[name].state]:
            outcomes[name] = outcome
    return outcomes


def _outcome(case: ET.Element) -> Outcome:
    for child in case:
        if child.tag in _TAGS:
            return Outcome(_TAGS[child.tag], f"{child.get('message') or ''}\n{child.text or ''}".strip())
    return Outcome("passed")

"""The table in docs/compatibility.md, written from the results of each suite's last stored run (`results/NAME.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from suites.comparison import Comparison
from suites.suite import Suite
from suites.workshop import ROOT

RESULTS: Final = Path(__file__).parent / "results"
PAGE: Final = ROOT / "docs" / "compatibility.md"
_BEGIN: Final = "<!-- suites: written by make clients -->\n"
_END: Final = "<!-- /suites -->\n"


class Result(msgspec.Struct, frozen=True):
    """required: passes on PostgreSQL 15. failures: tests by reason. seconds: here, and on PostgreSQL. note: what is to be known
    of a result that is not one whole run's; written into the file by whoever put it together."""

    required: int
    passed: int
    failures: Mapping[str, Sequence[str]]
    seconds: float
    seconds_postgres: float
    note: str = ""


def keep(suite: Suite, comparison: Comparison, seconds: float, seconds_postgres: float) -> None:
    failures = {why: sorted(tests) for why, tests in sorted(comparison.explained.items())}
    result = Result(comparison.required, comparison.passed, failures, round(seconds), round(seconds_postgres))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{suite.name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def write(suites: Sequence[Suite]) -> None:
    """Put the table and the failures of all suites that were kept into the page."""
    kept = [(suite, _kept(suite)) for suite in suites if _file(suite).exists()]
    text = "\n".join([*_table(kept), "", *(line for suite, result in kept for line in _details(suite, result))])
    page = PAGE.read_text()
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table: {_BEGIN.strip()} ... {_END.strip()}")
    PAGE.write_text(f"{before}{_BEGIN}{text.rstrip()}\n{_END}{after}")


def _file(suite: Suite) -> Path:
    return RESULTS / f"{suite.name}.json"


def _kept(suite: Suite) -> Result:
    return msgspec.json.decode(_file(suite).read_bytes(), type=Result)


def _table(kept: Sequence[tuple[Suite, Result]]) -> Iterator[str]:
    yield "| suite | its package | passes on PostgreSQL 15 | of these here | share | bar | seconds here, there |"
    yield "|---|---|---|---|---|---|---|"
    for suite, result in kept:
        yield (
            f"| {suite.title} | {suite.package} | {result.required} | {result.passed} | {_share(result)} "
            f"| {suite.bar:.0%} | {result.seconds:.0f}, {result.seconds_postgres:.0f} |"
        )


def _share(result: Result) -> str:
    # Down, not to the nearest: what is not all is not 100 %.
    return f"{int(1000 * result.passed / result.required) / 10:.1f} %"


def _details(suite: Suite, result: Result) -> Iterator[str]:
    if not suite.left_out and not result.failures and not result.note:
        return
    yield f"**{suite.title}**"
    yield ""
    if result.note:
        yield f"- {result.note}"
    for left in suite.left_out:
        yield f"- left out, {left.why}: `{left.pattern}`"
    for why, tests in result.failures.items():
        yield f"- {why}: {', '.join(f'`{_short(test)}`' for test in tests)}"
    yield ""


def _short(test: str) -> str:
    """A test's name without the module that it lies in."""
    module, separator, name = test.partition("::")
    return f"{re.sub('.*[.]', '', module)}{separator}{name}"

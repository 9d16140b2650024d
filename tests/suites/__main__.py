"""`python -m suites [NAME ...] [--against sluice|postgres|both] [--write]`: run suites, compare and report."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from suites import (
    asyncpg_tests,
    client_sessions,
    dbt_postgres,
    page,
    pg8000_tests,
    pgbench,
    psycopg2_tests,
    sqlalchemy_dialect,
)
from suites.comparison import Comparison, compare, counted, reasons
from suites.outcomes import Outcomes
from suites.servers import Kind, running
from suites.suite import Suite
from suites.workshop import FOLDER

#: All there are, in the order of the table.
SUITES: Final[Sequence[Suite]] = (
    sqlalchemy_dialect.PSYCOPG,
    sqlalchemy_dialect.ASYNCPG,
    asyncpg_tests.SUITE,
    psycopg2_tests.SUITE,
    pg8000_tests.SUITE,
    dbt_postgres.SUITE,
    pgbench.SUITE,
    *client_sessions.SUITES,
)


def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which: " + ", ".join(suite.name for suite in SUITES) + "; or all.")
    ] = None,
    against: Annotated[Literal["sluice", "postgres", "both"], typer.Option(help="Which servers.")] = "both",
    write: Annotated[bool, typer.Option("--write", help="Keep the results and write docs/compatibility.md.")] = False,
) -> None:
    """Run suites of other authors; fail when a test that passes on PostgreSQL fails here without a reason."""
    console = Console(soft_wrap=True)
    chosen = _chosen(names or [])
    verdicts = [_judged(suite, against, write, console) for suite in chosen]
    if write:
        page.write(SUITES)
        console.print(f"written to {page.PAGE}")
    if not all(verdicts):
        sys.exit(1)


def _chosen(names: Sequence[str]) -> Sequence[Suite]:
    known = {suite.name: suite for suite in SUITES}
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no {name!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else SUITES


def _judged(suite: Suite, against: str, write: bool, console: Console) -> bool:
    """Whether a suite's run is as it should be; of a run against one server, whether it could run."""
    console.rule(suite.title)
    kinds: Sequence[Kind] = ("sluice", "postgres")
    ran = {kind: _run(suite, kind, console) for kind in kinds if against in (kind, "both")}
    if len(ran) < len(kinds):
        return True
    (here, seconds), (there, seconds_postgres) = ran["sluice"], ran["postgres"]
    comparison = compare(here, there, reasons(suite))
    _tell(suite, comparison, console)
    if write:
        page.keep(suite, comparison, seconds, seconds_postgres)
    return not comparison.unexplained and comparison.passed >= suite.bar * comparison.required


def _run(suite: Suite, kind: Kind, console: Console) -> tuple[Outcomes, float]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with running(kind, FOLDER / f"{suite.name}-member.log") as server:
        begun = time.monotonic()
        outcomes = counted(suite, suite.run(server))
        seconds = time.monotonic() - begun
    states = [outcome.state for outcome in outcomes.values()]
    told = ", ".join(f"{states.count(state)} {state}" for state in ("passed", "failed", "skipped"))
    console.print(f"{kind}: {told}, in {seconds:.0f} s")
    return outcomes, seconds


def _tell(suite: Suite, comparison: Comparison, console: Console) -> None:
    share = comparison.passed / comparison.required
    console.print(f"{comparison.passed} of {comparison.required} pass here: {share:.1%}; the bar is {suite.bar:.0%}")
    for why, tests in comparison.explained.items():
        console.print(f"{len(tests)} x {why}", style="yellow", markup=False)
    for test, outcome in comparison.unexplained.items():
        first = next(iter(outcome.said.splitlines()), "")
        console.print(f"without a reason: {test}: {outcome.state}: {first}", style="red", markup=False)


if __name__ == "__main__":
    typer.run(main)

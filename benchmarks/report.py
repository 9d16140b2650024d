"""Reports of figures: a table on the terminal, and the sections of `docs/benchmarks.md`.

The page has one section per measure. A run rewrites the sections of the measures that it ran and leaves the others;
each says when and on what machine its figures were taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure, Measure

PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_HEAD: Final = """# Benchmarks

Sluice's promises about speed and memory (the bars), and the measured figures. `make bench` runs all benchmarks,
`.venv/bin/python -m benchmarks NAME ...` some of them; `--write` writes the results into this page. Members run as with
`sluice serve`, with embedded Spark on 2 cores and 1 GB of heap, over TPC-H data in Parquet. Every system that a figure is
compared with ran on the same machine in the same run. No test depends on these times.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """A measure's figures, and the circumstances: lines about the time, the machine and the method."""

    measure: Measure
    figures: Sequence[Figure]
    circumstances: Sequence[str]


def show(console: Console, result: Result) -> None:
    table = Table("", "measured", "bar", "", title=result.measure.title, title_justify="left", show_edge=False)
    for figure in result.figures:
        style = "red" if figure.met is False else None
        table.add_row(figure.label, figure.value_text, figure.bar_text, figure.verdict, style=style)
    console.print(table)


def write(results: Sequence[Result], order: Sequence[Measure]) -> None:
    """Write the results into the page, with the sections in the order of the measures."""
    found = sections(PAGE.read_text() if PAGE.exists() else "")
    found |= {result.measure.name: _section(result) for result in results}
    kept = [found[measure.name] for measure in order if measure.name in found]
    PAGE.write_text("\n".join([_HEAD, *kept]))


def sections(page: str) -> dict[str, str]:
    """Return the page's sections by the names of their measures."""
    parts = re.split(r"^<!-- measure: ([\w-]+) -->\n", page, flags=re.MULTILINE)[1:]
    return {
        name: f"<!-- measure: {name} -->\n{body.rstrip()}\n" for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def _section(result: Result) -> str:
    rows = [
        f"| {figure.label} | {figure.value_text} | {figure.bar_text} | {figure.verdict} |" for figure in result.figures
    ]
    lines = [
        f"<!-- measure: {result.measure.name} -->",
        f"## {result.measure.title}",
        "",
        "| | measured | bar | |",
        "|---|---|---|---|",
        *rows,
        "",
        result.measure.method,
        "",
        *(f"- {line}" for line in result.circumstances),
    ]
    return "\n".join(lines) + "\n"

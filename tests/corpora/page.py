"""The table of a run's results, and the differences of each file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from corpora.comparison import KINDS, Compared, Kind


def table(results: Mapping[str, Mapping[str, Compared]]) -> str:
    """In Markdown: a line for each file and engine, and the sums. results: by file, then by engine."""
    lines = [
        f"| file | engine | statements | {' | '.join(KINDS)} |",
        f"|---|---|---|{'---|' * len(KINDS)}",
    ]
    sums: dict[str, Counter[Kind]] = {}
    for file, engines in results.items():
        for engine, compared in engines.items():
            sums.setdefault(engine, Counter()).update(compared.counts)
            lines.append(_line(file, engine, compared.counts))
    lines += [_line("**all**", engine, counts) for engine, counts in sums.items()]
    return "\n".join(lines) + "\n"


def _line(file: str, engine: str, counts: Counter[Kind]) -> str:
    return f"| {file} | {engine} | {counts.total()} | {' | '.join(str(counts[kind]) for kind in KINDS)} |"


def write(folder: Path, results: Mapping[str, Mapping[str, Compared]]) -> Sequence[Path]:
    """`table.md`, and a file for each file and engine with differences. Return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "table.md"]
    written[0].write_text(table(results))
    for file, engines in results.items():
        for engine, compared in engines.items():
            path = folder / engine / f"{file}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            texts = [
                f"-- line {each.statement.line}: {each.kind}: {each.said}\n{each.statement.text};\n"
                for each in compared.different
            ]
            path.write_text("\n".join(texts))
            written.append(path)
    return written

"""Counters of the operators of an engine's own plan, as EXPLAIN ANALYZE collects them.

A profile is a tree of operators; between members it travels as counters, which have names and numbers
(`engine.runtime.analysis`):

operator.<fragment>.<instance>.<number>.<depth>.<kind>.<source>      rows; numbers go parents first

`engine.executors.local.profile` and `engine.executors.spark.profile` make it; `engine.planner.explain.actual_rows`
matches it with our operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from wire.dataclass import dataclass

#: The source of operators that read relations given to a statement: inputs of its fragment, the system catalog.
GIVEN = "given"
#: The rows of an operator that did not count them.
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of an engine's plan. kind: the engine's name for it. rows: how many it gave, or `UNKNOWN`. source:
    for an operator without inputs, its input: `GIVEN`, or the first of its files, which is replaced by `table_source`
    or `reader_source`; "" for all others.
    """

    kind: str
    rows: int
    source: str = ""
    below: tuple[Operator, ...] = ()


def with_sources(operator: Operator, named: Callable[[str], str]) -> Operator:
    """Return the tree with its sources renamed; "" for a source that is not known."""
    source = operator.source if operator.source in ("", GIVEN) else named(operator.source)
    return replace(operator, source=source, below=tuple(with_sources(child, named) for child in operator.below))


def by_files(files: Iterable[tuple[str, Iterable[str]]]) -> Callable[[str], str]:
    """Return a function that finds a source's name in a text: the name of which one of the files begins the text."""
    known = [(name, tuple(own)) for name, own in files]

    def known_name(text: str) -> str:
        return next((name for name, own in known if own and text.startswith(own)), "")

    return known_name


def table_source(oid: int) -> str:
    return f"t{oid}"


def reader_source(reader: int) -> str:
    """Return the source name of a reader of a physical plan, by its number."""
    return f"r{reader}"


def counters(root: Operator, prefix: str) -> Mapping[str, int]:
    """Return the tree as counters whose names begin with `prefix`."""
    return {
        f"{prefix}.{number}.{depth}.{operator.kind}.{operator.source}": operator.rows
        for number, (depth, operator) in enumerate(_walk(root, 0))
    }


def _walk(operator: Operator, depth: int) -> Iterator[tuple[int, Operator]]:
    yield depth, operator
    for child in operator.below:
        yield from _walk(child, depth + 1)


@dataclass(frozen=True, slots=True)
class Line:
    """One counter of a tree, parsed."""

    number: int
    depth: int
    kind: str
    source: str
    rows: int


def tree(lines: list[Line]) -> Operator | None:
    """Rebuild the tree of these counters; None if they do not form one."""
    ordered = sorted(lines, key=lambda line: line.number)
    if not ordered or [line.number for line in ordered] != list(range(len(ordered))):
        return None
    root, end = _read(ordered, 0)
    return root if end == len(ordered) else None


def _read(lines: list[Line], at: int) -> tuple[Operator, int]:
    """Return the operator that begins at `at`, and the place of the next one."""
    own, at = lines[at], at + 1
    below: list[Operator] = []
    while at < len(lines) and lines[at].depth > own.depth:
        child, at = _read(lines, at)
        below.append(child)
    return Operator(own.kind, own.rows, own.source, tuple(below)), at

r"""Prints results and errors as psql does: aligned, or a column a line (\x). Values are the texts that the server sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
from rich.cells import cell_len

#: Types whose values are right-aligned: integers, floats, numeric, money, oid.
_RIGHT: Final = frozenset({20, 21, 23, 26, 700, 701, 790, 1700})

Row = tuple[str, ...]


def tell(text: str) -> None:
    """Write lines to standard output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Write lines to standard error, after flushing standard output."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def texts(cursor: psycopg.Cursor[Any]) -> tuple[Row, Sequence[bool], list[Row]]:
    """Return a result's column names, whether each column is right-aligned, and its rows as texts; null is empty."""
    result = cursor.pgresult
    assert result is not None, "the cursor has run a statement"
    columns = range(result.nfields)
    names = tuple((result.fname(column) or b"").decode() for column in columns)
    rows = [
        tuple((result.get_value(row, column) or b"").decode("utf-8", "replace") for column in columns)
        for row in range(result.ntuples)
    ]
    return names, [result.ftype(column) in _RIGHT for column in columns], rows


def aligned_lines(names: Row, right: Sequence[bool], rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table, and a line with the number of rows."""
    cells = [[value.split("\n") for value in row] for row in rows]
    widths = [
        max([cell_len(name), *(cell_len(line) for row in cells for line in row[column])])
        for column, name in enumerate(names)
    ]
    yield "|".join(f" {_pad(name, width, middle=True)} " for name, width in zip(names, widths, strict=True)).rstrip()
    yield "+".join("-" * (width + 2) for width in widths)
    for row in cells:
        for number in range(max((len(lines) for lines in row), default=1)):
            parts = []
            for lines, width, at_right in zip(row, widths, right, strict=True):
                more = "+" if number < len(lines) - 1 else " "
                parts.append(f" {_pad(lines[number] if number < len(lines) else '', width, right=at_right)}{more}")
            yield "|".join(parts).rstrip()
    yield row_count_line(len(rows))


def expanded_lines(names: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a result, one for each column of each row."""
    width = max((cell_len(name) for name in names), default=0)
    for number, row in enumerate(rows, 1):
        yield f"-[ RECORD {number} ]".ljust(width + 3, "-")
        for name, value in zip(names, row, strict=True):
            first, *others = value.split("\n")
            yield f"{_pad(name, width)} | {first}".rstrip()
            yield from (f"{' ' * width} | {line}".rstrip() for line in others)
    if not rows:
        yield row_count_line(0)


def row_count_line(rows: int) -> str:
    return f"({rows} row{'' if rows == 1 else 's'})"


def _pad(text: str, width: int, *, right: bool = False, middle: bool = False) -> str:
    blanks = width - cell_len(text)
    before = blanks if right else blanks // 2 if middle else 0
    return " " * before + text + " " * (blanks - before)


def error_lines(error: psycopg.Error, statement: str) -> Iterator[str]:
    """Format an error of a server or of psycopg, with its position in the statement."""
    said = error.diag
    if said.message_primary is None:
        yield f"ERROR:  {str(error).strip()}"
        return
    yield f"{said.severity}:  {said.message_primary}"
    if said.statement_position is not None:
        yield from _place(statement, int(said.statement_position) - 1)
    for label, text in (("DETAIL", said.message_detail), ("HINT", said.message_hint), ("CONTEXT", said.context)):
        if text:
            yield f"{label}:  {text}"


def _place(statement: str, at: int) -> Iterator[str]:
    before = statement[:at]
    start = before.rfind("\n") + 1
    line = statement[start:].split("\n", 1)[0]
    head = f"LINE {before.count(chr(10)) + 1}: "
    yield head + line
    yield " " * (len(head) + cell_len(statement[start:at])) + "^"

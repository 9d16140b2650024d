"""Foreign tables of table formats (`Table.lake`), at their newest version and at earlier ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Final

from engine.catalog.model.objects import Lake, Table
from engine.lakes import delta, iceberg
from engine.lakes.state import LakeState

_READINGS: Final = count(1)


def kind_of(path: str) -> Lake:
    """Return the format of the table at a path; empty if there is none."""
    if iceberg.is_iceberg(path):
        return "iceberg"
    return "delta" if delta.is_delta(path) else ""


def newest(lake: Lake, path: str) -> LakeState:
    """Return the newest version of a table. May block. Raises SqlError with the reason."""
    return iceberg.newest(path) if lake == "iceberg" else delta.newest(path)


def next_reading() -> int:
    """Return a version for a table whose changes cannot be detected: a different one for each statement."""
    return next(_READINGS)


def refresh(table: Table) -> Table:
    """Return the table with the files of its newest version; the same object if it has them."""
    if table.lake == "spark":
        return replace(table, files=(table.path,), version=next_reading())
    state = newest(table.lake, table.path)
    return table if state.digest == table.version else state.of(table)


def at_version(table: Table, number: int) -> Table:
    """Return the table with a version's files. May block. Raises InvalidParameterValue if there is no such version."""
    then = iceberg.at_version if table.lake == "iceberg" else delta.at_version
    return _promising_nothing(then(table.path, number).of(table))


def at_time(table: Table, micros: int) -> Table:
    """Return the table as it was at a moment, in microseconds since 1970. May block. Raises InvalidParameterValue."""
    then = iceberg.at_time if table.lake == "iceberg" else delta.at_time
    return _promising_nothing(then(table.path, micros).of(table))


def _promising_nothing(table: Table) -> Table:
    """Drop NOT NULL from the columns: it holds for the current rows, but not necessarily for those of an older
    version.
    """
    return replace(table, columns=tuple(replace(column, nullable=True) for column in table.columns))

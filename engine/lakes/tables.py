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
    """The format of the table that a path is; the empty one where it is none."""
    if iceberg.is_iceberg(path):
        return "iceberg"
    return "delta" if delta.is_delta(path) else ""


def newest(lake: Lake, path: str) -> LakeState:
    """The newest version of a table. May block. Raises SqlError, which says what is wrong with it."""
    return iceberg.newest(path) if lake == "iceberg" else delta.newest(path)


def next_reading() -> int:
    """A version for a table of which nobody tells whether it has changed: another one for each statement."""
    return next(_READINGS)


def refresh(table: Table) -> Table:
    """The table with the files of its newest version; the same object where it has them."""
    if table.lake == "spark":
        return replace(table, files=(table.path,), version=next_reading())
    state = newest(table.lake, table.path)
    return table if state.digest == table.version else state.of(table)


def at_version(table: Table, number: int) -> Table:
    """The table with a version's files. May block. Raises InvalidParameterValue where there is no such version."""
    then = iceberg.at_version if table.lake == "iceberg" else delta.at_version
    return _promising_nothing(then(table.path, number).of(table))


def at_time(table: Table, micros: int) -> Table:
    """The table as it was at a moment, in microseconds since 1970. May block. Raises InvalidParameterValue."""
    then = iceberg.at_time if table.lake == "iceberg" else delta.at_time
    return _promising_nothing(then(table.path, micros).of(table))


def _promising_nothing(table: Table) -> Table:
    """Drop NOT NULL from the columns: it holds for today's rows and need not have held for an older version's."""
    return replace(table, columns=tuple(replace(column, nullable=True) for column in table.columns))

"""Foreign tables of table formats (`Table.lake`): as they are now, and as they were."""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.objects import Lake, Table
from engine.lakes import delta
from engine.lakes.state import LakeState


def kind_of(path: str) -> Lake:
    """The format of the table that a folder is; the empty one where it is none."""
    return "delta" if delta.is_delta(path) else ""


def newest(lake: Lake, path: str) -> LakeState:
    """The newest version of a table. May block. Raises SqlError, which says what is wrong with it."""
    assert lake == "delta", "a table format"
    return delta.newest(path)


def refresh(table: Table) -> Table:
    """The table with the files of its newest version; the same object where it has them."""
    state = newest(table.lake, table.path)
    return table if state.digest == table.version else state.of(table)


def at_version(table: Table, number: int) -> Table:
    """The table with a version's files. May block. Raises InvalidParameterValue where there is no such version."""
    return _promising_nothing(delta.at_version(table.path, number).of(table))


def at_time(table: Table, micros: int) -> Table:
    """The table as it was at a moment, in microseconds since 1970. May block. Raises InvalidParameterValue."""
    return _promising_nothing(delta.at_time(table.path, micros).of(table))


def _promising_nothing(table: Table) -> Table:
    """What is promised of the rows today need not have been then."""
    return replace(table, columns=tuple(replace(column, nullable=True) for column in table.columns))

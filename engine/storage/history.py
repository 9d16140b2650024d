"""A stored table at an earlier version of its Delta log, read with its current definition.

This is correct because a folder has one set of columns: changes that affect the columns in files (ADD COLUMN, most
changes of a type) make a new folder with a log of its own, and changes that affect only names map them
(`TableColumn.stored`). So the versions that can be requested are those of the table's current folder. Constraints of
the current definition (NOT NULL, keys, checks) did not necessarily hold then, so they are left out.

A version is available while its files exist: VACUUM removes files an hour after they were removed from the table. The
files' existence is checked when the statement is bound, so that a missing one gives a clear error.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Storage, Table
from engine.storage import delta, tables
from wire.errors import DataCorrupted, InvalidParameterValue

_HINT: Final = "sluice.tables has the newest version of each table."
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def at_version(table: Table, number: int) -> Table:
    """Return the table with the files of a version. Blocks. Raises InvalidParameterValue if there is no such version,
    or no longer.
    """
    newest = _storage(table).version
    if not 0 <= number <= newest:
        raise InvalidParameterValue(
            f'table "{table.name}" has no version {number}', detail=f"Its newest version is {newest}.", hint=_HINT
        )
    then = tables.at(table, number)
    try:
        files = tables.files(then)
    except DataCorrupted as error:
        raise _version_gone(table, number, "its commit is not in the table's log any more") from error
    present = frozenset(tables.files(table))
    lost = sum(1 for file in files if file not in present and not os.path.exists(file))
    if lost:
        raise _version_gone(table, number, f"{lost} of its {len(files)} files were removed by VACUUM")
    columns = tuple(replace(column, nullable=True) for column in table.columns)
    return replace(then, files=files, columns=columns, constraints=())


def at_time(table: Table, micros: int) -> Table:
    """Return the table as its log recorded it at a moment, in microseconds since 1970. Blocks. Raises
    InvalidParameterValue.
    """
    newest = _storage(table).version
    times = {number: made for number, made in delta.commit_times(table.path).items() if number <= newest}
    found = max((number for number, made in times.items() if made * 1000 <= micros), default=None)
    if found is None:
        first = min(times, default=None)
        detail = "Its log has no times."
        if first is not None:
            moment = _EPOCH + dt.timedelta(milliseconds=times[first])
            detail = f"The first that its log knows is {first}, of {moment:%Y-%m-%d %H:%M:%S.%f+00}."
        raise InvalidParameterValue(f'table "{table.name}" has no version of that time', detail=detail)
    return at_version(table, found)


def _version_gone(table: Table, number: int, why: str) -> InvalidParameterValue:
    newest = _storage(table).version
    return InvalidParameterValue(
        f'version {number} of table "{table.name}" is not there any more',
        detail=f"{why[0].upper()}{why[1:]}. The newest version is {newest}.",
    )


def _storage(table: Table) -> Storage:
    assert table.storage is not None, "a stored table"
    return table.storage

"""What messages may show of a table's rows, by the privileges of the role that runs the statement: `engine.plan.shown_columns`."""

from __future__ import annotations

from collections.abc import Iterable

from engine.authority import Authority
from engine.catalog.objects import Table
from engine.plan.shown_columns import EVERYTHING, ShownColumns
from engine.sql.accesses import Requirement


def shown_columns(authority: Authority, table: Table, requirements: Iterable[Requirement] = ()) -> ShownColumns:
    """authority: of the role that runs the statement, also where a view's owner reads the table. requirements: the statement's,
    which have the columns that it gives values."""
    if authority.may_read(table):
        return EVERYTHING
    names = {column.number: column.name for column in table.columns}
    readable = frozenset(names[number] for number in authority.readable_columns(table))
    given = (r.inserted | r.updated for r in requirements if r.relation == table.oid)
    return ShownColumns(readable, frozenset(names[n] for numbers in given for n in numbers if n in names))

"""What messages may show of a table's rows, by the privileges of the role that runs the statement: `engine.plan.shown_columns`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.authority import Authority
from engine.catalog.objects import Table
from engine.plan.logical import Mutate
from engine.plan.shown_columns import EVERYTHING, ShownColumns
from engine.sql.accesses import Requirement


def with_shown(plan: Mutate, authority: Authority, requirements: Iterable[Requirement]) -> Mutate:
    """The plan with what messages may show to the role that runs it now. authority, requirements: as in `shown_columns`."""
    return replace(plan, shown=shown_columns(authority, plan.table, requirements))


def shown_columns(authority: Authority, table: Table, requirements: Iterable[Requirement] = ()) -> ShownColumns:
    """authority: of the role that runs the statement, also where a view's owner reads the table. requirements: the statement's,
    which have the columns that it gives values."""
    if authority.may_read(table):
        return EVERYTHING
    names = {column.number: column.name for column in table.columns}
    readable = frozenset(names[number] for number in authority.readable_columns(table))
    given = (r.inserted | r.updated for r in requirements if r.relation == table.oid)
    return ShownColumns(readable, frozenset(names[n] for numbers in given for n in numbers if n in names))

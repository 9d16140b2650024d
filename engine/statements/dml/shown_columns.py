"""Compute the columns that messages may show (`engine.plan_ir.shown_columns`), from the privileges of the statement's role."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.catalog.authority import Authority
from engine.catalog.model.objects import Table
from engine.plan_ir.logical import Mutate
from engine.plan_ir.requirements import Requirement
from engine.plan_ir.shown_columns import EVERYTHING, ShownColumns


def with_shown(plan: Mutate, authority: Authority, requirements: Iterable[Requirement]) -> Mutate:
    """Return the plan with the columns that messages may show to the role that runs it now. authority, requirements: as in
    `shown_columns`."""
    return replace(plan, shown=shown_columns(authority, plan.table, requirements))


def shown_columns(authority: Authority, table: Table, requirements: Iterable[Requirement] = ()) -> ShownColumns:
    """Return the columns that messages may show. authority: that of the role that runs the statement, even where a view accesses
    the table with the privileges of its owner. requirements: those of the statement; they contain the columns that it assigns."""
    if authority.may_read(table):
        return EVERYTHING
    names = {column.number: column.name for column in table.columns}
    readable = frozenset(names[number] for number in authority.readable_columns(table))
    given = (r.inserted | r.updated for r in requirements if r.relation == table.oid)
    return ShownColumns(readable, frozenset(names[n] for numbers in given for n in numbers if n in names))

"""The columns that every table has beside its own: tableoid, xmin, xmax, cmin, cmax (PostgreSQL 15, section 5.5).

Rows have no transactions here, so the four say what can be said. A row of a stored table came with `xmin`, the catalog's
version at which the table's files last changed: two reads that see one number saw the same rows, which is what clients keep it
for (and a change of any row of the table changes it). Nobody deletes what is seen, so the others are 0. The system catalog's
rows have been there since PostgreSQL made them, in transaction 1. Where a row lies (ctid) is told to nobody, and of tables that
others keep only the tableoid is known.

They are there where a statement names one of them, as constants that are emitted over the table, so that an outer join makes
nulls of them as of others.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common import sql_type as st
from engine.plan_ir.expr import Const, Node
from engine.plan_ir.logical import Evaluator
from engine.sql.binder.blocks import pass_through
from engine.sql.binder.scope import BindContext, SourceColumn
from wire.types import pg_types as t

_TYPES: Final = {"tableoid": t.OID, "xmin": t.XID, "xmax": t.XID, "cmin": t.CID, "cmax": t.CID}
_BOOTSTRAP: Final = 1


def add_system_columns(
    context: BindContext, item: exp.Table, relation: Table | SystemTable, node: Node
) -> tuple[Node, tuple[SourceColumn, ...]]:
    """Add to a relation's reader the system columns that the statement names anywhere; return it and these."""
    named = _named_columns(context, item, relation)
    if not named:
        return node, ()
    consts = {name: Const(st.of(_TYPES[name]), _value(relation, name)) for name in named}
    columns = tuple(context.new_column(name, const.type) for name, const in consts.items())
    read = Evaluator((*node.columns, *columns), node, (*pass_through(node.columns), *consts.values()))
    return read, tuple(SourceColumn(c.name, e) for c, e in zip(columns, pass_through(columns), strict=True))


def _named_columns(context: BindContext, item: exp.Table, relation: Table | SystemTable) -> list[str]:
    """The system columns among the statement's names that the relation has."""
    own = {column.name for column in relation.columns}
    foreign = isinstance(relation, Table) and relation.storage is None
    there = {"tableoid"} if foreign else set(_TYPES) - own
    return sorted(names_in(context, item) & there)


def names_in(context: BindContext, part: exp.Expr) -> frozenset[str]:
    """Return the names of columns anywhere in a part's statement, and of relations whose whole row it names, as in `count(t.*)`."""
    known = context.column_names
    way = [part]
    while id(way[-1]) not in known and way[-1].parent is not None:
        way.append(way[-1].parent)
    top = way[-1]
    if id(top) not in known:
        known[id(top)] = top, frozenset(_name(column) for column in top.find_all(exp.Column))
    names = known[id(top)][1]
    # Items that are deep in a tree of joins do not all go the way up.
    known.update((id(each), (each, names)) for each in way)
    return names


def _name(column: exp.Column) -> str:
    whole = isinstance(column.this, exp.Star) and not isinstance(column.parent, exp.Select)
    return column.table if whole else column.name


def _value(relation: Table | SystemTable, name: str) -> int:
    if name == "tableoid":
        return relation.oid
    if name != "xmin":
        return 0
    return relation.storage.changed & 0xFFFF_FFFF if isinstance(relation, Table) and relation.storage else _BOOTSTRAP

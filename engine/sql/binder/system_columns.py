"""System columns, which every table has beside its own: tableoid, xmin, xmax, cmin, cmax (PostgreSQL 15, section 5.5).

Rows carry no transaction ids here, so four of these columns have substitute values. The `xmin` of a stored table's row
is the catalog version at which the table's files last changed. Two reads that see the same number saw the same rows,
which is what clients use it for; a change of any row of the table changes it. No visible row has been deleted, so the
others are 0. Rows of the system catalog have `xmin` 1, PostgreSQL's bootstrap transaction. A row's location (ctid) is
not available, and tables that others keep have only tableoid.

RETURNING has `tableoid`, and that of INSERT and UPDATE `xmax`. In PostgreSQL the `xmax` of a row that ON CONFLICT DO UPDATE has
changed is the transaction that has locked it, so that clients ask by `xmax = 0` whether a row was inserted. Here it is 1.

The columns exist where a statement names one of them, as constants that are emitted above the table, so that an outer
join makes them null like other columns.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common import sql_type as st
from engine.plan_ir.expr import Case, Column, ColumnRef, Const, Expr, Node
from engine.plan_ir.logical import Evaluator, MutateKind
from engine.sql.binder.blocks import pass_through
from engine.sql.binder.scope import BindContext, SourceColumn
from wire.types import pg_types as t

_TYPES: Final = {"tableoid": t.OID, "xmin": t.XID, "xmax": t.XID, "cmin": t.CID, "cmax": t.CID}
_BOOTSTRAP: Final = 1
_UPDATED: Final = 1


def add_system_columns(
    context: BindContext, item: exp.Table, relation: Table | SystemTable, node: Node
) -> tuple[Node, tuple[SourceColumn, ...]]:
    """Add to a relation's reader the system columns that the statement names anywhere. Returns the plan and these
    columns.
    """
    named = _named_columns(context, item, relation)
    if not named:
        return node, ()
    consts = {name: Const(st.of(_TYPES[name]), _value(relation, name)) for name in named}
    columns = tuple(context.new_column(name, const.type) for name, const in consts.items())
    read = Evaluator((*node.columns, *columns), node, (*pass_through(node.columns), *consts.values()))
    return read, tuple(SourceColumn(c.name, e) for c, e in zip(columns, pass_through(columns), strict=True))


def _named_columns(context: BindContext, item: exp.Table, relation: Table | SystemTable) -> list[str]:
    """Return the relation's system columns that the statement names."""
    own = {column.name for column in relation.columns}
    foreign = isinstance(relation, Table) and relation.storage is None
    there = {"tableoid"} if foreign else set(_TYPES) - own
    return sorted(names_in(context, item) & there)


def returned_system_columns(kind: MutateKind, table: Table, inserted: Column | None) -> tuple[SourceColumn, ...]:
    """Return the system columns of the rows that a statement has written, for RETURNING. inserted: of ON CONFLICT DO
    UPDATE, whether a row is new.
    """
    own = {column.name for column in table.columns}
    tableoid = SourceColumn("tableoid", Const(st.of(t.OID), table.oid))
    if kind not in ("insert", "update"):
        return (tableoid,) if "tableoid" not in own else ()
    xid = st.of(t.XID)
    xmax: Expr = Const(xid, 0)
    if inserted is not None:
        xmax = Case(xid, ((ColumnRef(inserted.type, inserted), xmax),), Const(xid, _UPDATED))
    return tuple(column for column in (tableoid, SourceColumn("xmax", xmax)) if column.name not in own)


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
    # Remember all nodes on the way, so that items deep in a tree of joins need not climb to its top each.
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

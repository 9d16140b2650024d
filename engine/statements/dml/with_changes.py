"""WITH items that change rows: `WITH moved AS (DELETE ... RETURNING *) INSERT ... SELECT ... FROM moved`.

Such a statement consists of several: one for each item that changes rows, and the last one. All of them are bound
before any runs, so that all see the same rows (parse_cte.c, and the manual's 7.8.4), and they share their parameters.
To the statements after it, the RETURNING rows of an item are a WITH item over a relation in memory; the rows are put
into the plans of these statements when the item has run (`engine.statements.dml.with_running`).

Other items are bound with each statement after them, and would be computed in each; an item with volatile functions may
be read by one of the statements only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Final

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import SystemTable, TableColumn
from engine.plan_ir.requirements import Requirement
from engine.plan_ir.volatility import plan_is_volatile
from engine.sql.binder.bind import BoundQuery, bind_query
from engine.sql.binder.common_tables import references
from engine.sql.binder.mutations import BoundMutation, bind_mutation
from engine.sql.binder.scope import BindContext
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes.statements import MutationStatement, Query, WithChanges
from engine.statements.shared.named_tables import NamedTables, table_reference
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.carriers import carrier

#: Relations of RETURNING's rows have the OIDs before this one, which no relation of the catalog has: one for each part.
_RETURNED_OIDS: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class BoundWith:
    """A bound statement whose WITH changes rows. changes: the items that change rows, in their order, each with the
    relation of its RETURNING rows. last: the statement after them. requirements: the privileges that each execution
    needs.
    """

    changes: tuple[tuple[BoundMutation, SystemTable], ...]
    last: BoundQuery | BoundMutation
    parameters: tuple[t.PgType, ...]
    requirements: tuple[Requirement, ...] = ()

    @property
    def mutations(self) -> list[BoundMutation]:
        last = [self.last] if isinstance(self.last, BoundMutation) else []
        return [*(bound for bound, _ in self.changes), *last]


def bind_with_changes(statement: WithChanges, context: BindContext) -> BoundWith:
    """Bind all parts. Raises as `bind_query` and `bind_mutation` do."""
    context.parameters.partial = True
    parts = _Parts(statement, context)
    for item in statement.items:
        change = item.this.meta.get("changes")
        if isinstance(change, MutationStatement):
            parts.change(item, change)
        else:
            parts.items.append(item)
    last = parts.last(statement.last)
    context.parameters.partial = False
    found = BoundWith(tuple(parts.changes), last, context.parameters.finish(), context.accesses.to_requirements())
    _require_added_up(found)
    return found


class _Parts:
    """The parts that are bound so far. items: the WITH items that later parts may read. silent: the names of items
    without RETURNING.
    """

    def __init__(self, statement: WithChanges, context: BindContext) -> None:
        self.items: list[exp.CTE] = []
        self.changes: list[tuple[BoundMutation, SystemTable]] = []
        self._recursive = statement.recursive
        self._context = context
        self._tables: dict[str, SystemTable] = {}
        self._silent: list[str] = []
        self._read: set[str] = set()

    def change(self, item: exp.CTE, change: MutationStatement) -> None:
        name = item.args["alias"].this.name
        if self._recursive:
            _require_not_recursive(name, item, change)
        self._note(change)
        bound = bind_mutation(replace(change, with_=self._with(change.with_)), self._make_context(), is_item=True)
        table = self._tables[name] = _returned_rows(name, bound, len(self.changes) + 1)
        self.changes.append((bound, table))
        if bound.columns is None:
            self._silent.append(name)
        else:
            self.items.append(_read_returned(item, name, [column.name for column in bound.columns]))

    def last(self, statement: Query | MutationStatement) -> BoundQuery | BoundMutation:
        if isinstance(statement, MutationStatement):
            self._note(statement)
            return bind_mutation(replace(statement, with_=self._with(None)), self._make_context())
        query = replace(statement, tree=statement.tree.copy())
        query.tree.set("with_", None)
        self._note(query)
        query.tree.set("with_", self._with(None))
        return bind_query(query, self._make_context())

    def _make_context(self) -> BindContext:
        """Return the context of one part: all parts share the state of the catalog and the parameters."""
        catalog = NamedTables(self._tables, self._context.catalog)
        return replace(self._context, catalog=catalog, owners={}, origins={}, row_locks=[])

    def _with(self, own: exp.With | None) -> exp.With | None:
        return _with(self.items, own, recursive=self._recursive)

    def _note(self, statement: Query | MutationStatement) -> None:
        """Record the items that a part reads. Raises FeatureNotSupported for one that returns nothing, and for one with
        volatile functions that would be computed twice.
        """
        _require_returning(self._silent, statement)
        read = self._reads(list(_trees(statement)))
        for item in self.items:
            name = item.args["alias"].this.name
            if name in read & self._read and name not in self._tables and self._may_differ(item):
                raise FeatureNotSupported(
                    f'not supported: WITH query "{name}" with volatile functions, read beside a part that changes rows'
                )
        self._read |= read

    def _reads(self, trees: list[exp.Expression]) -> set[str]:
        """Return the items that trees read, directly or through other items."""
        found: set[str] = set()
        for item in reversed(self.items):
            name = item.args["alias"].this.name
            if any(True for tree in trees for _ in references(tree, name)):
                found.add(name)
                trees.append(item.this)
        return found

    def _may_differ(self, item: exp.CTE) -> bool:
        tree = item.this.copy()
        before = self.items[: self.items.index(item)]
        tree.set("with_", _with(before, tree.args.get("with_"), recursive=self._recursive))
        if self._recursive:
            return True
        plan = bind_query(Query(tree=tree, text=""), self._make_context()).plan
        return plan_is_volatile(plan)


def _with(items: Sequence[exp.CTE], own: exp.With | None, *, recursive: bool) -> exp.With | None:
    """Return a WITH of the items so far and those of the statement's own WITH, which hide earlier ones of the same
    name.
    """
    inner = list(own.expressions) if own is not None else []
    hidden = {item.args["alias"].this.name for item in inner}
    outer = [item.copy() for item in items if item.args["alias"].this.name not in hidden]
    recursive = recursive or (own is not None and bool(own.args.get("recursive")))
    return exp.With(expressions=[*outer, *inner], recursive=recursive) if outer or inner else None


def _returned_rows(name: str, bound: BoundMutation, number: int) -> SystemTable:
    columns = tuple(TableColumn(f"c{n}", c.type, n) for n, c in enumerate(bound.plan.columns, 1))
    arrays = [pa.array([], carrier(c.type.pg, c.type.scale)) for c in columns]
    rows = pa.Table.from_arrays(arrays, names=[c.name for c in columns])
    return SystemTable(_RETURNED_OIDS - number, "", name, columns, rows)


def _read_returned(item: exp.CTE, name: str, names: Sequence[str]) -> exp.CTE:
    """Return the item as a query over its RETURNING rows."""
    alias = item.args["alias"]
    given = list(alias.args.get("columns") or ())
    called = [*given, *(exp.Identifier(this=other, quoted=True) for other in names[len(given) :])]
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(expressions=[table_reference(name)]))
    made = exp.CTE(this=query, alias=exp.TableAlias(this=alias.this.copy(), columns=called))
    made.meta.update(item.meta)
    return made


# -- what is refused --------------------------------------------------------------------------------------------------


def _require_returning(silent: Sequence[str], statement: Query | MutationStatement) -> None:
    """Raise FeatureNotSupported if the statement reads an item that returns nothing."""
    for name in silent:
        for tree in _trees(statement):
            for place in references(tree, name):
                raise FeatureNotSupported(
                    f'WITH query "{name}" does not have a RETURNING clause', position=cursor(position(place))
                )


def _trees(statement: Query | MutationStatement) -> Iterator[exp.Expression]:
    if isinstance(statement, Query):
        yield statement.tree
        return
    for field in fields(statement):
        value = getattr(statement, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, exp.Expression) and field.name != "target":
                yield part


def _require_added_up(found: BoundWith) -> None:
    """Raise FeatureNotSupported if two parts would change existing rows of the same table, or if a part would look for
    conflicts in a table that another part changes: it would not find those with the other's rows.
    """
    changes = [bound.plan for bound in found.mutations]
    parts = Counter(change.table.oid for change in changes)
    changed: set[int] = set()
    for change in changes:
        if change.kind == "insert" and change.whole and parts[change.table.oid] > 1:
            name = change.table.name
            raise FeatureNotSupported(f'not supported: ON CONFLICT of table "{name}" in a WITH that changes it twice')
        if change.targets and change.table.oid in changed:
            raise FeatureNotSupported(f'not supported: WITH that changes rows of table "{change.table.name}" twice')
        if change.targets:
            changed.add(change.table.oid)


def _require_not_recursive(name: str, item: exp.CTE, change: MutationStatement) -> None:
    if any(True for tree in _trees(change) for _ in references(tree, name)):
        message = f'recursive query "{name}" must not contain data-modifying statements'
        raise FeatureNotSupported(message, sqlstate="42P19", position=cursor(position(item)))

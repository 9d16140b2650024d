"""Dependencies between objects: which objects are dropped with another one, which prevent its drop, and in which order
they are reported.

An object that depends on another *automatically* is dropped with it without a message: a serial column's sequence with
its table. Any other dependent prevents the drop, or is dropped too if CASCADE is given.

The order is PostgreSQL's, because clients see it: dependents are found newest first, each after its own dependents, and
reported in the reverse order. Source: PostgreSQL 15, dependency.c (findDependentObjects, reportDependentObjects,
deleteOneObject).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from engine.catalog.model.objects import Constraint, StoredRelation, Table, TableColumn, View, formulas_of
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.user_types import Attribute, CompositeType, DomainType, UserType
from engine.catalog.snapshot import Snapshot
from engine.catalog.store.transaction import SessionCatalog
from engine.common.identifiers import quote_ident
from engine.sql.deparse.stored_names import names_type
from engine.sql.deparse.stored_text import columns_of, sequences_of
from wire.dataclass import dataclass
from wire.errors import DependentObjectsStillExist, InvalidTableDefinition

#: Sends a notice and its detail.
Notify = Callable[..., None]


@dataclass(frozen=True, slots=True, order=True)
class Thing:
    """An object that may be dropped: a relation, a column of one, a column's default, a constraint, a schema, a type. oid: of
    the relation, the constraint, the schema or the type. column: its number, or an attribute's, else 0."""

    oid: int
    column: int = 0
    kind: Literal["relation", "column", "default", "constraint", "schema", "type", "attribute"] = "relation"


def _found_first(dependent: tuple[Thing, bool]) -> tuple[int, int, str]:
    """Return a sort key: the newest object first, and a composite type's attributes in their order (dependency.c:
    object_address_comparator).
    """
    thing, _ = dependent
    part = thing.column if thing.kind == "attribute" else -thing.column
    return -thing.oid, part, thing.kind


@dataclass(slots=True)
class _Found:
    """An object to be dropped. on: the object to be dropped that it depends on. silent: it is dropped automatically, or
    was named.
    """

    thing: Thing
    on: Thing | None
    silent: bool


class Dependencies:
    """The dependencies within one snapshot. Names are printed as seen along a search path."""

    def __init__(self, snapshot: Snapshot, search_path: Sequence[str]) -> None:
        self._snapshot = snapshot
        self._path = search_path
        self._relations = {relation.oid: relation for relation in snapshot.relations.values()}
        self._types = {oid: typ for typ in snapshot.types.values() for oid in (typ.oid, typ.array)}
        self._constraints = {c.oid: (table, c) for table in snapshot.tables() for c in table.constraints}

    # -- who depends on a thing ----------------------------------------------------------------------------------

    def dependents(self, thing: Thing) -> Iterator[tuple[Thing, bool]]:
        """Yield the objects that depend on a thing directly, and whether they do so automatically."""
        match thing.kind:
            case "schema":
                name = next(s.name for s in self._snapshot.schemas.values() if s.oid == thing.oid)
                for relation in self._relations.values():
                    if relation.schema == name:
                        yield Thing(relation.oid), False
                for oid, typ in self._types.items():
                    if typ.schema == name and oid == typ.oid:
                        yield Thing(typ.oid, kind="type"), False
            case "type":
                yield from self._of_type(thing.oid)
            case "relation":
                yield from self._of_relation(self._relations[thing.oid])
            case "column":
                yield Thing(thing.oid, thing.column, "default"), True
                yield from self._generated_columns(thing)
                yield from self._owned_sequences(thing.oid, thing.column)
                for view in self._snapshot.dependents(thing.oid):
                    if view.reads_column(thing.oid, thing.column):
                        yield Thing(view.oid), False
                for _, constraint in self._foreign_keys_to(thing.oid):
                    assert constraint.references is not None
                    if thing.column in constraint.references.columns:
                        yield Thing(constraint.oid, kind="constraint"), False
                yield from self._keys_including(thing)
            case "constraint":
                table, key = self._constraints[thing.oid]
                numbers = {column.number for column in table.columns if column.name in key.columns}
                for _, constraint in self._foreign_keys_to(table.oid) if key.is_key and not key.parts else ():
                    assert constraint.references is not None
                    if set(constraint.references.columns) == numbers:
                        yield Thing(constraint.oid, kind="constraint"), False
                for view in self._snapshot.dependents(table.oid):
                    if key.oid in view.keys:
                        yield Thing(view.oid), False
            case "default" | "attribute":
                return

    def _keys_including(self, column: Thing) -> Iterator[tuple[Thing, bool]]:
        """Yield the keys that INCLUDE a column. A foreign key that references such a key does not depend on the column."""
        table = self._relations[column.oid]
        if isinstance(table, Table):
            name = next((c.name for c in table.columns if c.number == column.column), "")
            for key in table.constraints:
                if name in key.included:
                    yield Thing(key.oid, kind="constraint"), True

    def _generated_columns(self, column: Thing) -> Iterator[tuple[Thing, bool]]:
        """Yield the columns that are generated from a column."""
        table = self._relations[column.oid]
        name = (
            next((c.name for c in table.columns if c.number == column.column), "") if isinstance(table, Table) else ""
        )
        for other in table.columns if isinstance(table, Table) else ():
            if other.generated and other.default is not None and name in columns_of(other.default):
                yield Thing(column.oid, other.number, "column"), False

    def _foreign_keys_to(self, table: int) -> Iterator[tuple[Table, Constraint]]:
        """Yield the foreign keys that reference a table."""
        for owner, constraint in self._constraints.values():
            if constraint.references is not None and constraint.references.table == table:
                yield owner, constraint

    def _of_relation(self, relation: StoredRelation) -> Iterator[tuple[Thing, bool]]:
        for view in self._snapshot.dependents(relation.oid):
            yield Thing(view.oid), False
        if isinstance(relation, NumberSequence):
            for owner in self._defaults(relation.oid):
                yield Thing(*owner, "default"), False
        if isinstance(relation, Table):
            yield from self._owned_sequences(relation.oid, None)
            for column in relation.columns:
                if column.default is not None:
                    yield Thing(relation.oid, column.number, "default"), True
            for _, constraint in self._foreign_keys_to(relation.oid):
                yield Thing(constraint.oid, kind="constraint"), False
            for constraint in relation.constraints:
                if constraint.references is not None:
                    yield Thing(constraint.oid, kind="constraint"), True

    def _of_type(self, oid: int) -> Iterator[tuple[Thing, bool]]:
        """Yield the columns of a type, and the defaults, checks and views whose text names it. An array type depends on
        its element's.
        """
        typ = self._types[oid]
        if oid == typ.oid:
            yield Thing(typ.array, kind="type"), True
        for other in self._snapshot.types.values():
            if isinstance(other, DomainType) and other.under == oid:
                yield Thing(other.oid, kind="type"), False
            for item in other.attributes if isinstance(other, CompositeType) else ():
                if item.type == oid:
                    yield Thing(other.oid, item.number, "attribute"), False
        says = partial(names_type, name=typ.name, array=oid != typ.oid)
        for relation in self._relations.values():
            view = relation.query if isinstance(relation, Table) else relation
            if isinstance(view, View):
                if says(view.definition):
                    yield Thing(view.oid), False
            elif isinstance(relation, Table):
                yield from self._in_table(relation, oid, says)

    @staticmethod
    def _in_table(table: Table, oid: int, says: Callable[[str], bool]) -> Iterator[tuple[Thing, bool]]:
        for column in table.columns:
            if column.declared_type.oid == oid:
                yield Thing(table.oid, column.number, "column"), False
            elif column.default is not None and says(column.default):
                yield Thing(table.oid, column.number, "default"), False
        for constraint in table.constraints:
            if any(map(says, formulas_of(constraint))):
                yield Thing(constraint.oid, kind="constraint"), False

    def _owned_sequences(self, table: int, column: int | None) -> Iterator[tuple[Thing, bool]]:
        for relation in self._relations.values():
            owner = relation.owner if isinstance(relation, NumberSequence) else None
            if owner is not None and owner[0] == table and column in (None, owner[1]):
                yield Thing(relation.oid), True

    def _defaults(self, sequence: int) -> Iterator[tuple[int, int]]:
        for table in self._snapshot.tables():
            for column in table.columns:
                if sequence in sequences_of(column.default) and not column.identity:
                    yield table.oid, column.number

    # -- what goes -----------------------------------------------------------------------------------------------

    def closure(self, named: Iterable[Thing]) -> list[_Found]:
        """Return the named things and all that depends on them, dependents before the objects that they depend on."""
        found: dict[Thing, _Found] = {}
        order: list[_Found] = []

        def find(thing: Thing, on: Thing | None, silent: bool) -> None:
            if thing in found:
                found[thing].silent = found[thing].silent or silent
                return
            found[thing] = entry = _Found(thing, on, silent)
            for dependent, automatic in sorted(self.dependents(thing), key=_found_first):
                find(dependent, thing, automatic)
            order.append(entry)

        for thing in named:
            find(thing, None, True)
        return order

    # -- words ---------------------------------------------------------------------------------------------------

    def describe(self, thing: Thing) -> str:
        """Describe a thing as PostgreSQL's getObjectDescription does."""
        if thing.kind == "schema":
            return "schema " + next(s.name for s in self._snapshot.schemas.values() if s.oid == thing.oid)
        if thing.kind == "type":
            typ = self._types[thing.oid]
            seen = self._snapshot.type_named(None, typ.name, self._path) is typ
            name = quote_ident(typ.name) if seen else f"{quote_ident(typ.schema)}.{quote_ident(typ.name)}"
            return f"type {name}" + ("" if thing.oid == typ.oid else "[]")
        if thing.kind == "attribute":
            typ, item = self.attribute(thing)
            return f"column {item.name} of composite {self.describe(Thing(typ.oid, kind='type'))}"
        if thing.kind == "constraint":
            table, constraint = self._constraints[thing.oid]
            if constraint.is_index:
                return f"index {quote_ident(constraint.name)}"
            return f"constraint {quote_ident(constraint.name)} on table {self.name(table)}"
        relation = self._relations[thing.oid]
        whole = f"{kind_of(relation)} {self.name(relation)}"
        if thing.kind == "relation":
            return whole
        assert isinstance(relation, Table)
        column = next(c.name for c in relation.columns if c.number == thing.column)
        return (
            f"default value for column {column} of {whole}"
            if thing.kind == "default"
            else f"column {column} of {whole}"
        )

    def name(self, relation: StoredRelation) -> str:
        """Return the relation's name, with its schema if the search path does not find it."""
        seen = self._snapshot.resolve(None, relation.name, self._path)
        visible = seen is not None and seen.oid == relation.oid
        return quote_ident(relation.name) if visible else f"{quote_ident(relation.schema)}.{quote_ident(relation.name)}"

    def relation(self, oid: int) -> StoredRelation:
        return self._relations[oid]

    def type(self, oid: int) -> UserType:
        """Return the type with this OID, or whose array type has it."""
        return self._types[oid]

    def attribute(self, thing: Thing) -> tuple[CompositeType, Attribute]:
        """Return an attribute and its type."""
        typ = self._types[thing.oid]
        assert isinstance(typ, CompositeType)
        return typ, next(item for item in typ.attributes if item.number == thing.column)

    def constraint(self, oid: int) -> tuple[Table, Constraint]:
        """Return a constraint and its table."""
        return self._constraints[oid]


def kind_of(relation: StoredRelation) -> Literal["table", "foreign table", "view", "materialized view", "sequence"]:
    match relation:
        case View():
            return "view"
        case NumberSequence():
            return "sequence"
        case Table(storage=None):
            return "foreign table"
        case Table(query=None):
            return "table"
        case Table():
            return "materialized view"


def remove(
    named: Sequence[Thing],
    what: str,
    cascade: bool,
    catalog: SessionCatalog,
    search_path: Sequence[str],
    notify: Notify,
) -> None:
    """Drop things and what depends on them. what: the named ones, for messages: `table t`, or `desired object(s)`.

    A column that is named is left to the caller; a default is removed from its column. Raises
    DependentObjectsStillExist.
    """
    dependencies = Dependencies(catalog.current(), search_path)
    order = dependencies.closure(named)
    told = [found for found in reversed(order) if not found.silent]
    if told and not cascade:
        raise DependentObjectsStillExist(
            f"cannot drop {what} because other objects depend on it",
            detail="\n".join(_because(found, dependencies) for found in told),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    lines = [f"drop cascades to {dependencies.describe(found.thing)}" for found in told]
    if len(lines) == 1:
        notify(lines[0])
    elif lines:
        notify(f"drop cascades to {len(lines)} other objects", "\n".join(lines))
    gone = {found.thing for found in order}
    for found in order:
        if found.thing not in named or found.thing.kind != "column":
            _remove(found.thing, gone, dependencies, catalog)


def without_column(table: Table, number: int) -> Table:
    """Return a stored table without one of its columns and the column's properties. Raises InvalidTableDefinition for
    one by which files are partitioned or sorted.
    """
    column = next(c for c in table.columns if c.number == number)
    check_layout(table, column, "drop")
    return replace(
        table,
        columns=tuple(c for c in table.columns if c is not column),
        constraints=tuple(
            c for c in table.constraints if column.name not in c.all_columns and not names_column(c, table.oid, number)
        ),
        last_number=table.next_number - 1,
    )


def names_column(constraint: Constraint, table: int, number: int) -> bool:
    """Return whether a constraint is a foreign key that references this column."""
    there = constraint.references
    return there is not None and there.table == table and number in there.columns


def check_layout(table: Table, column: TableColumn, what: str) -> None:
    """Refuse a change of a column by which the files are partitioned or sorted."""
    storage = table.storage
    assert storage is not None
    for key, columns in (("partition key", storage.partition_by), ("sort order", storage.sort_by)):
        if column.file_column in columns:
            raise InvalidTableDefinition(
                f'cannot {what} column "{column.name}" because it is part of the {key} of relation "{table.name}"'
            )


def _because(found: _Found, dependencies: Dependencies) -> str:
    assert found.on is not None
    on = dependencies.describe(found.on)
    if found.on.kind == "constraint" and found.thing.kind == "constraint":
        # A foreign key depends on the index of the key that it references.
        on = f"index {quote_ident(dependencies.constraint(found.on.oid)[1].name)}"
    return f"{dependencies.describe(found.thing)} depends on {on}"


def _remove(thing: Thing, gone: set[Thing], dependencies: Dependencies, catalog: SessionCatalog) -> None:
    if thing.kind == "relation":
        relation = dependencies.relation(thing.oid)
        catalog.objects.remove(catalog.current().relations[relation.schema, relation.name])
    elif thing.kind == "default" and Thing(thing.oid) not in gone:
        table = next(table for table in catalog.current().tables() if table.oid == thing.oid)
        columns = tuple(replace(c, default=None) if c.number == thing.column else c for c in table.columns)
        catalog.objects.put(replace(table, columns=columns), replacing=True)
    elif thing.kind == "constraint":
        owner, _ = dependencies.constraint(thing.oid)
        if Thing(owner.oid) not in gone:
            owner = next(table for table in catalog.current().tables() if table.oid == owner.oid)
            kept = tuple(constraint for constraint in owner.constraints if constraint.oid != thing.oid)
            catalog.objects.put(replace(owner, constraints=kept), replacing=True)
    elif thing.kind == "column" and Thing(thing.oid) not in gone:
        table = next(table for table in catalog.current().tables() if table.oid == thing.oid)
        catalog.objects.put(without_column(table, thing.column), replacing=True)
    elif thing.kind == "attribute" and Thing(thing.oid, kind="type") not in gone:
        now = next(typ for typ in catalog.current().types.values() if typ.oid == thing.oid)
        assert isinstance(now, CompositeType)
        kept_attributes = tuple(item for item in now.attributes if item.number != thing.column)
        catalog.objects.put_type(replace(now, attributes=kept_attributes), now)
    elif thing.kind == "type":
        typ = dependencies.type(thing.oid)
        if thing.oid == typ.oid:
            catalog.objects.remove_type(next(now for now in catalog.current().types.values() if now.oid == typ.oid))
    elif thing.kind == "schema":
        schemas = catalog.current().schemas
        catalog.objects.remove_schema(next(name for name, schema in schemas.items() if schema.oid == thing.oid))

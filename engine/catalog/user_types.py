"""Types that users have made: enums. As the catalog keeps them, and as the columns of relations refer to them.

A relation's columns are stored with the OIDs of their types; in memory they have the PgType itself, labels and all. So a snapshot
whose type was changed has relations that were changed with it (`retyped`): nothing of that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from engine.catalog.objects import StoredRelation, Table, TableColumn, View
from engine.sql.stored_text import quoted
from wire import types as t
from wire import user_types

#: The type of an OID. Raises KeyError.
TypeOf = Callable[[int], t.PgType]


@dataclass(frozen=True, slots=True)
class Label:
    """A label of an enum. number: what carries it (`wire.enums`)."""

    oid: int
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class EnumType:
    """array: the OID of the type of arrays of it. labels: in their order."""

    oid: int
    array: int
    schema: str
    name: str
    labels: tuple[Label, ...]
    comment: str | None = None

    @property
    def pg(self) -> t.PgType:
        shown = quoted(self.name) if self.schema == "public" else f"{quoted(self.schema)}.{quoted(self.name)}"
        labels = tuple((label.number, label.name) for label in self.labels)
        return user_types.enum_type(user_types.EnumDefinition(self.oid, self.array, self.name, shown, labels))


UserType = EnumType
Key = tuple[str, str]


def by_oid(types: Mapping[Key, UserType]) -> dict[int, t.PgType]:
    """The types and those of arrays of them."""
    made = [typ.pg for typ in types.values()]
    return {pg.oid: pg for typ in made for pg in (typ, t.array_of(typ))}


def type_of(types: Mapping[Key, UserType]) -> TypeOf:
    """Finds built-in types too."""
    known = by_oid(types)
    return lambda oid: known[oid] if oid in known else t.BY_OID[oid]


def users(pg: t.PgType) -> bool:
    """Whether users have made the type, or what it is an array of."""
    return pg.array_type is not None or pg.element_type is not None


R = TypeVar("R", bound=StoredRelation)


def retyped(relation: R, types: Mapping[Key, UserType]) -> R:
    """A relation whose columns have the types as they are defined now. Raises KeyError where one is gone."""
    if not isinstance(relation, Table | View) or not any(users(column.type.pg) for column in relation.columns):
        return relation
    known = by_oid(types)
    if isinstance(relation, Table) and relation.query is not None:
        query = replace(relation.query, columns=_columns(relation.query.columns, known))
        return replace(relation, columns=_columns(relation.columns, known), query=query)
    return replace(relation, columns=_columns(relation.columns, known))


def _columns(columns: tuple[TableColumn, ...], known: Mapping[int, t.PgType]) -> tuple[TableColumn, ...]:
    return tuple(replace(c, type=replace(c.type, pg=known[c.type.pg.oid])) if users(c.type.pg) else c for c in columns)

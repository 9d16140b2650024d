"""User-defined types (enums, domains and composite types), as the catalog stores them, and references to them in the
columns of relations.

A relation's columns are stored with the OIDs of their types; in memory they have the PgType itself, with its labels.
When a type changes in a snapshot, the relations with columns of the type change with it (`with_current_types`); this
writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar

import msgspec

from engine.catalog.model.objects import StoredRelation, Table, TableColumn, View
from engine.common.identifiers import quote_ident
from wire.dataclass import dataclass
from wire.types import pg_types as t
from wire.types import user_types

#: Returns the type of an OID. Raises KeyError.
TypeOf = Callable[[int], t.PgType]


@dataclass(frozen=True, slots=True)
class Label:
    """A label of an enum. number: the number that carries it (`wire.types.enums`)."""

    oid: int
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class EnumType:
    """An enum. array: the OID of its array type. labels: in their order."""

    oid: int
    array: int
    schema: str
    name: str
    labels: tuple[Label, ...]
    comment: str | None = None

    @property
    def pg(self) -> t.PgType:
        labels = tuple((label.number, label.name) for label in self.labels)
        return user_types.enum_type(self.oid, self.array, self.name, _qualified_name(self.schema, self.name), labels)


@dataclass(frozen=True, slots=True)
class DomainCheck:
    """A check of a domain. expression: a condition, as text; VALUE is the value. valid: False for NOT VALID: the
    columns that existed when it was added were not checked.
    """

    oid: int
    name: str
    expression: str
    comment: str | None = None
    valid: bool = True


@dataclass(frozen=True, slots=True)
class DomainType:
    """A domain. array: the OID of its array type. under: the OID of its base type; typmod: the base type's modifier."""

    oid: int
    array: int
    schema: str
    name: str
    under: int
    typmod: int = -1
    not_null: bool = False
    default: str | None = None
    checks: tuple[DomainCheck, ...] = ()
    comment: str | None = None
    kind: Literal["domain"] = "domain"

    def pg(self, under: t.PgType) -> t.PgType:
        checks = tuple((check.name, check.expression) for check in self.checks)
        domain = t.Domain(self.schema, under, self.typmod, self.not_null, self.default, checks)
        return _domain(self.oid, self.array, self.name, _qualified_name(self.schema, self.name), domain)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a composite type. type: its OID. number: its attnum; dropped attributes leave gaps."""

    name: str
    type: int
    typmod: int
    number: int
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CompositeType:
    """A composite type. array: the OID of its array type; relation: the OID of its entry in pg_class. last: the highest
    number that an attribute ever had.
    """

    oid: int
    array: int
    relation: int
    schema: str
    name: str
    attributes: tuple[Attribute, ...]
    last: int
    comment: str | None = None
    kind: Literal["composite"] = "composite"

    def pg(self, of: TypeOf) -> t.PgType:
        attributes = tuple(t.Attribute(item.name, of(item.type), item.typmod, item.number) for item in self.attributes)
        return user_types.composite_type(
            self.oid, self.array, self.name, _qualified_name(self.schema, self.name), attributes
        )


def _qualified_name(schema: str, name: str) -> str:
    return quote_ident(name) if schema == "public" else f"{quote_ident(schema)}.{quote_ident(name)}"


@lru_cache(1 << 16)
def _domain(oid: int, array: int, name: str, shown: str, domain: t.Domain) -> t.PgType:
    """Return the one PgType of a definition."""
    base = domain.under
    made = t.PgType(oid, name, base.length, base.category, False, 0, array, shown, base.carried, domain=domain)
    arrays = t.PgType(array, f"_{name}"[:63], -1, "A", False, oid, 0, f"{shown}[]", element_type=made)
    object.__setattr__(made, "array_type", arrays)
    return made


UserType = EnumType | DomainType | CompositeType
Key = tuple[str, str]


class _Kind(msgspec.Struct):
    kind: str = "enum"


_KIND: Final = msgspec.json.Decoder(_Kind)
_BY_KIND: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "enum": msgspec.json.Decoder(EnumType),
    "domain": msgspec.json.Decoder(DomainType),
    "composite": msgspec.json.Decoder(CompositeType),
}


def decode_user_type(body: str) -> UserType:
    """Decode a type as the catalog stores it."""
    found: UserType = _BY_KIND[_KIND.decode(body).kind].decode(body)
    return found


def by_oid(types: Mapping[Key, UserType]) -> dict[int, t.PgType]:
    """Return the types and their array types, by OID."""
    of = _finder(types)
    made = [of(typ.oid) for typ in types.values()]
    return {pg.oid: pg for typ in made for pg in (typ, t.array_of(typ))}


def pg_of(typ: UserType, types: Mapping[Key, UserType]) -> t.PgType:
    """Return a type as a PgType, which is what all code outside the catalog uses. types: the types that it may refer
    to.
    """
    return _pg(typ, t.BY_OID.__getitem__ if isinstance(typ, EnumType) else _finder(types))


def _finder(types: Mapping[Key, UserType]) -> TypeOf:
    """Return a function that finds user-defined types and their array types by OID, and makes each on demand."""
    by = {oid: typ for typ in types.values() for oid in (typ.oid, typ.array)}

    def find(oid: int) -> t.PgType:
        if oid in t.BY_OID:
            return t.BY_OID[oid]
        made = _pg(by[oid], find)
        return made if oid == made.oid else t.array_of(made)

    return find


def _pg(typ: UserType, of: TypeOf) -> t.PgType:
    match typ:
        case EnumType():
            return typ.pg
        case DomainType():
            return typ.pg(of(typ.under))
        case CompositeType():
            return typ.pg(of)


def type_of(types: Mapping[Key, UserType]) -> TypeOf:
    """Return a function that finds user-defined and built-in types by OID."""
    known = by_oid(types)
    return lambda oid: known[oid] if oid in known else t.BY_OID[oid]


def users(pg: t.PgType) -> bool:
    """Return whether the type, or the element type of an array, is user-defined."""
    return pg.array_type is not None or pg.element_type is not None


R = TypeVar("R", bound=StoredRelation)


def with_current_types(relation: R, types: Mapping[Key, UserType]) -> R:
    """Return a relation whose columns have the current definitions of their types. Raises KeyError if a type was
    dropped.
    """
    if not isinstance(relation, Table | View) or not any(users(column.declared_type) for column in relation.columns):
        return relation
    known = by_oid(types)
    if isinstance(relation, Table) and relation.query is not None:
        query = replace(relation.query, columns=_columns(relation.query.columns, known))
        return replace(relation, columns=_columns(relation.columns, known), query=query)
    return replace(relation, columns=_columns(relation.columns, known))


def _columns(columns: tuple[TableColumn, ...], known: Mapping[int, t.PgType]) -> tuple[TableColumn, ...]:
    return tuple(_column(column, known) if users(column.declared_type) else column for column in columns)


def _column(column: TableColumn, known: Mapping[int, t.PgType]) -> TableColumn:
    declared = known[column.declared_type.oid]
    if declared.domain is not None:
        return replace(column, type=replace(column.type, pg=t.base_of(declared)), domain=declared)
    return replace(column, type=replace(column.type, pg=declared))

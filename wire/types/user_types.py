"""User-defined types as PgTypes: made from a definition that can be sent to other processes, and back.

A definition is a value of plain fields, so its carrier may use any encoding (`engine.plan_ir.spec`, Spark's closures).
Equal definitions give the same PgType, since all code compares types by identity.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from wire.dataclass import dataclass
from wire.types import pg_types as t

#: The number of cached definitions. It is large because a definition that was evicted and is asked for again becomes
#: another object.
_REMEMBERED: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Definition:
    """An enum or a composite type. oid, array: its own OID and its array type's. sql_name: its name in messages.
    labels: an enum's, see `PgType`. attributes: a composite type's, each a name, a type, its modifier and its number; a
    domain is replaced by its base type, since carriers do not distinguish them.
    """

    oid: int
    array: int
    name: str
    sql_name: str
    labels: tuple[tuple[int, str], ...] = ()
    attributes: tuple[tuple[str, TypeTold, int, int], ...] = ()
    kind: Literal["enum", "composite"] = "enum"


@dataclass(frozen=True, slots=True)
class Told:
    """A user-defined type, for a process that has no catalog. is_array: whether the array type over it is meant."""

    definition: Definition
    is_array: bool = False


#: Any type: built-in types by their OID.
TypeTold = int | Told


@lru_cache(_REMEMBERED)
def enum_type(oid: int, array: int, name: str, sql_name: str, labels: tuple[tuple[int, str], ...]) -> t.PgType:
    """Return the one PgType of an enum."""
    return _with_array(t.PgType(oid, name, 4, "E", False, 0, array, sql_name, carried=t.INT8, labels=labels))


@lru_cache(_REMEMBERED)
def composite_type(oid: int, array: int, name: str, sql_name: str, attributes: tuple[t.Attribute, ...]) -> t.PgType:
    """Return the one PgType of a composite type, or of a table's rows."""
    return _with_array(t.PgType(oid, name, -1, "C", False, 0, array, sql_name, attributes=attributes))


def _with_array(made: t.PgType) -> t.PgType:
    array = t.PgType(
        made.array, f"_{made.name}"[:63], -1, "A", False, made.oid, 0, f"{made.sql_name}[]", element_type=made
    )  # fmt: skip
    object.__setattr__(made, "array_type", array)
    return made


def definition_of(typ: t.PgType) -> Definition:
    if typ.category == "E":
        return Definition(typ.oid, typ.array, typ.name, typ.sql_name, labels=typ.labels)
    told = [(item, *t.attribute_type(item)) for item in typ.attributes]
    attributes = tuple((item.name, type_told(below), typmod, item.number) for item, below, typmod in told)
    return Definition(typ.oid, typ.array, typ.name, typ.sql_name, attributes=attributes, kind="composite")


def type_told(typ: t.PgType) -> TypeTold:
    """Return a type in the form that other processes understand."""
    if typ.element_type is not None:
        return Told(definition_of(typ.element_type), is_array=True)
    return Told(definition_of(typ)) if typ.category in ("E", "C") else typ.oid


def type_heard(said: TypeTold) -> t.PgType:
    """Return the type that another process has sent. Raises KeyError."""
    if isinstance(said, int):
        return t.BY_OID[said]
    typ = _make_type(said.definition)
    return t.array_of(typ) if said.is_array else typ


def _make_type(d: Definition) -> t.PgType:
    if d.kind == "enum":
        return enum_type(d.oid, d.array, d.name, d.sql_name, d.labels)
    attributes = tuple(t.Attribute(name, type_heard(said), *rest) for name, said, *rest in d.attributes)
    return composite_type(d.oid, d.array, d.name, d.sql_name, attributes)

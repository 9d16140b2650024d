"""Types that users have made, as PgTypes: from a definition that can be told to other processes, and back.

A definition is a value of plain fields, so it travels in whatever encoding its carrier has (`engine.plan.spec`, Spark's
closures). Of two equal ones comes the same PgType: types are compared by identity everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from wire import types as t

#: How many definitions are remembered. One that is forgotten and asked for again is another object, so: many.
_REMEMBERED: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class EnumDefinition:
    """An enum. oid, array: its own and its array type's. sql_name: how messages name it. labels: see `PgType`."""

    oid: int
    array: int
    name: str
    sql_name: str
    labels: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A type that users have made, for a process that has no catalog. is_array: the array type over it is meant."""

    definition: EnumDefinition
    is_array: bool = False


#: Any type: built-in ones by their OID.
TypeTold = int | Told


@lru_cache(_REMEMBERED)
def enum_type(definition: EnumDefinition) -> t.PgType:
    """The one PgType of this definition."""
    d = definition
    made = t.PgType(d.oid, d.name, 4, "E", False, 0, d.array, d.sql_name, carried=t.INT8, labels=d.labels)
    array = t.PgType(
        d.array, f"_{d.name}"[:63], -1, "A", False, d.oid, 0, f"{d.sql_name}[]", element_type=made
    )  # fmt: skip
    object.__setattr__(made, "array_type", array)
    return made


def definition_of(typ: t.PgType) -> EnumDefinition:
    return EnumDefinition(typ.oid, typ.array, typ.name, typ.sql_name, typ.labels)


def type_told(typ: t.PgType) -> TypeTold:
    """A type for another process."""
    if typ.element_type is not None:
        return Told(definition_of(typ.element_type), is_array=True)
    return Told(definition_of(typ)) if typ.category == "E" else typ.oid


def type_heard(said: TypeTold) -> t.PgType:
    """The type that another process has told. Raises KeyError."""
    if isinstance(said, int):
        return t.BY_OID[said]
    typ = enum_type(said.definition)
    return t.array_of(typ) if said.is_array else typ

"""PostgreSQL's access methods and operator classes, as index definitions name them. No index exists behind a definition
(`engine.statements.ddl.index`); the capabilities of methods and the types that they accept are checked because
PostgreSQL checks them.

Source: PostgreSQL 15, indexcmds.c (DefineIndex, ResolveOpClass, GetDefaultOpClass), and pg_opclass itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from engine.catalog.model.objects import BTREE, KeyPart, Table
from engine.pg_catalog.builtin import rows
from wire.dataclass import dataclass
from wire.types import pg_types as t
from wire.types.multiranges import RANGES
from wire.types.ranges import SUBTYPES


@dataclass(frozen=True, slots=True)
class AccessMethod:
    """A row of pg_am, and the capabilities of its amroutine. parameters: the storage parameters of its indexes."""

    oid: int
    parameters: tuple[str, ...]
    orders: bool = False
    unique: bool = False
    several: bool = False
    includes: bool = False


METHODS: Final[Mapping[str, AccessMethod]] = {
    BTREE: AccessMethod(
        403, ("fillfactor", "deduplicate_items", "vacuum_cleanup_index_scale_factor"), orders=True, unique=True,
        several=True, includes=True,
    ),
    "hash": AccessMethod(405, ("fillfactor",)),
    "gist": AccessMethod(783, ("fillfactor", "buffering"), several=True, includes=True),
    "gin": AccessMethod(2742, ("fastupdate", "gin_pending_list_limit"), several=True),
    "brin": AccessMethod(3580, ("pages_per_range", "autosummarize"), several=True),
    "spgist": AccessMethod(4000, ("fillfactor",), includes=True),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OperatorClass:
    """A row of pg_opclass. takes: the OID of its input type."""

    oid: int
    name: str
    takes: int
    default: bool


def part_type(table: Table, part: KeyPart) -> t.PgType:
    """Return the type of a part of an index of the table."""
    if part.formula:
        return t.BY_OID[part.type]
    column = table.column(part.name)
    assert column is not None, "a key is made of its table's columns"
    return column.type.pg


def default_class(method: str, typ: t.PgType) -> OperatorClass | None:
    """Return the default operator class for an index on a column of this type."""
    defaults = _defaults(method)
    return next((defaults[oid] for oid in _taken_as(typ) if oid in defaults), None)


def named_class(method: str, name: str) -> OperatorClass | None:
    return _classes()[METHODS[method].oid].get(name)


def class_name(oid: int) -> str:
    """Return the name of an operator class that an index has."""
    return next(found.name for of_method in _classes().values() for found in of_method.values() if found.oid == oid)


def accepts(found: OperatorClass, typ: t.PgType) -> bool:
    """Return whether the class accepts values of this type without conversion (IsBinaryCoercible)."""
    return found.takes in _taken_as(typ)


def _taken_as(typ: t.PgType) -> Iterator[int]:
    """Yield the OIDs of the types that values of a type are binary coercible to, itself first."""
    yield typ.oid
    if typ is t.VARCHAR:
        yield t.TEXT.oid
    if typ is t.CIDR:
        yield t.INET.oid
    if typ.is_array:
        yield t.ANYARRAY.oid
    elif typ.category == "E":
        yield t.ANYENUM.oid
    elif typ in SUBTYPES:
        yield t.ANYRANGE.oid
    elif typ in RANGES:
        yield t.ANYMULTIRANGE.oid
    elif typ.is_row:
        yield t.RECORD.oid


@cache
def _defaults(method: str) -> Mapping[int, OperatorClass]:
    """Return a method's default classes by the OID of the type."""
    return {found.takes: found for found in _classes()[METHODS[method].oid].values() if found.default}


@cache
def _classes() -> Mapping[int, Mapping[str, OperatorClass]]:
    """Return all classes by the OID of the method and the name."""
    found: dict[int, dict[str, OperatorClass]] = {method.oid: {} for method in METHODS.values()}
    columns = ["oid", "opcmethod", "opcname", "opcintype", "opcdefault"]
    for row in rows("pg_opclass").select(columns).to_pylist():
        if row["opcmethod"] in found:
            made = OperatorClass(row["oid"], row["opcname"], row["opcintype"], row["opcdefault"])
            found[row["opcmethod"]][made.name] = made
    return found

"""pg_type, pg_range and pg_enum: built-in types, user-defined types and row types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from engine.catalog.model.objects import Table, View
from engine.catalog.model.user_types import CompositeType, DomainType, EnumType, UserType, pg_of
from engine.pg_catalog.acl_text import AclText
from engine.pg_catalog.builtin import functions_named
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.pg_catalog.declared import Row, SystemContext, postgres
from engine.pg_catalog.namespaces import namespace
from engine.pg_catalog.row_types import row_type
from engine.pg_catalog.stored_expression_names import MarkedNames
from wire.types import pg_types as t
from wire.types.enums import STEP
from wire.types.multiranges import MULTIRANGES
from wire.types.ranges import SUBTYPES

_COLLATED: Final = (t.TEXT, t.VARCHAR, t.BPCHAR)


@cache
def _layouts() -> dict[int, tuple[bool, str, str]]:
    """Return typbyval, typalign and typstorage of built-in types."""
    return _builtin_columns("typbyval", "typalign", "typstorage")


@cache
def _functions() -> dict[int, tuple[int, int, int]]:
    """Return typoutput, typsend and typanalyze of built-in types."""
    return _builtin_columns("typoutput", "typsend", "typanalyze")


def _builtin_columns(*columns: str) -> dict[int, Any]:
    rows = builtin_rows("pg_type").select(["oid", *columns]).to_pydict()
    return {oid: tuple(rest) for oid, *rest in zip(*rows.values(), strict=True)}


def layout(typ: t.PgType) -> tuple[bool, str, str]:
    """Return typbyval, typalign and typstorage of a type: whether PostgreSQL passes its values by value, how it aligns
    them, and how it stores long ones.
    """
    if (known := _layouts().get(t.base_of(typ).oid)) is not None:
        return known
    if typ.category == "C" or (typ.is_array and t.element_of(typ).category == "C"):
        return (False, "d", "x")
    return (False, "i", "x") if typ.is_array else (True, "i", "p")


def collation(typ: t.PgType) -> int:
    of = t.base_of(t.element_of(typ) if typ.is_array else typ)
    return 950 if of is t.NAME else 100 if of in _COLLATED else 0


def _function(name: str) -> int:
    """Return the OID of a built-in function; 0 if it is not listed."""
    return next(iter(functions_named(name)), 0)


def _pg_type(context: SystemContext) -> Iterator[Row]:
    """Yield user-defined types and row types, which come after PostgreSQL's own types."""
    types, rights = context.snapshot.types, context.snapshot.rights
    shown, names = AclText(context.snapshot.roles, context.user), MarkedNames(context.snapshot)
    for typ in sorted(types.values(), key=lambda typ: typ.oid):
        space = namespace(context, typ.schema)
        pg, own = pg_of(typ, types), rights.of(typ.oid)
        yield _with_owner(_row(typ, pg, space, names), own.owner, shown(own.acl))
        yield _with_owner(_array_row(pg, space), own.owner)
    for relation in context.snapshot.relations.values():
        if isinstance(relation, Table | View):
            space = namespace(context, relation.schema)
            owner = rights.of(relation.oid).owner
            yield _with_owner(_composite_row(row_type(relation), relation.oid, space), owner)
            yield _with_owner(_array_row(row_type(relation), space), owner)


def _with_owner(row: Row, owner: int, said: list[str] | None = None) -> Row:
    """Replace typowner, the fourth column, and typacl, the last."""
    return (*row[:3], owner, *row[4:-1], said)


def _row(typ: UserType, pg: t.PgType, space: int, names: MarkedNames) -> Row:
    match typ:
        case EnumType():
            return _enum_row(typ, space)
        case DomainType():
            return _domain_row(typ, pg, space, None if typ.default is None else names.expression(typ.default))
        case CompositeType():
            return _composite_row(pg, typ.relation, space)


def _array_row(pg: t.PgType, space: int) -> Row:
    arrays = t.array_of(pg)
    array = [_function(f"array_{name}") for name in ("in", "out", "recv", "send")]
    return (
        arrays.oid, arrays.name, space, 10, -1, False, "b", "A", False, True, ",", 0,
        _function("array_subscript_handler"), pg.oid, 0, *array, 0, 0, _function("array_typanalyze"), layout(arrays)[1],
        "x", False, 0, -1, 0, collation(arrays), None, None, None,
    )  # fmt: skip


def _composite_row(pg: t.PgType, relation: int, space: int) -> Row:
    record = [_function(f"record_{name}") for name in ("in", "out", "recv", "send")]
    return (
        pg.oid, pg.name, space, 10, -1, False, "c", "C", False, True, ",", relation, 0, 0, pg.array, *record, 0, 0, 0,
        "d", "x", False, 0, -1, 0, 0, None, None, None,
    )  # fmt: skip


def _enum_row(typ: EnumType, space: int) -> Row:
    enum = [_function(f"enum_{name}") for name in ("in", "out", "recv", "send")]
    return (
        typ.oid, typ.name, space, 10, 4, True, "e", "E", False, True, ",", 0, 0, 0, typ.array, *enum, 0, 0, 0, "i", "p",
        False, 0, -1, 0, 0, None, None, None,
    )  # fmt: skip


def _domain_row(typ: DomainType, pg: t.PgType, space: int, default: str | None) -> Row:
    """Return the row of a domain. default: the text of its default, with names marked."""
    below = t.base_of(pg)
    by_value, align, storage = layout(below)
    output, send, analyze = _functions()[below.oid]
    return (
        typ.oid, typ.name, space, 10, below.length, by_value, "d", below.category, False, True, ",", 0, 0, 0, typ.array,
        _function("domain_in"), output, _function("domain_recv"), send, 0, 0, analyze, align, storage,
        typ.not_null, typ.under, typ.typmod, 0, collation(below), default, typ.default, None,
    )  # fmt: skip


def _pg_range(_context: SystemContext) -> Iterator[Row]:
    """Yield the range types, without operator classes."""
    for typ, subtype in SUBTYPES.items():
        canonical, difference = _function(f"{typ.name}_canonical"), _function(f"{typ.name}_subdiff")
        yield typ.oid, subtype.oid, MULTIRANGES[typ].oid, 0, 0, canonical, difference


def _pg_enum(context: SystemContext) -> Iterator[Row]:
    for typ in context.snapshot.types.values():
        for label in typ.labels if isinstance(typ, EnumType) else ():
            yield label.oid, typ.oid, label.number / STEP, label.name


SYSTEM: Final = (
    postgres("pg_type", _pg_type, stored=True),
    postgres("pg_range", _pg_range),
    postgres("pg_enum", _pg_enum),
)

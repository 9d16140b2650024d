"""pg_type and what hangs on types: pg_range, pg_enum, pg_collation, pg_cast's neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.system.declared import Row, SystemContext, SystemRelation
from wire import types as t

_ALIGN: Final = {1: "c", 2: "s", 4: "i", 8: "d", 12: "d", 16: "d", 64: "c", -1: "i", -2: "c"}
_BY_VALUE: Final = (1, 2, 4, 8)
_VECTORS: Final = ("int2vector", "oidvector")
_COLLATED: Final = (t.TEXT, t.VARCHAR, t.BPCHAR)


def by_value(typ: t.PgType) -> bool:
    return typ.length in _BY_VALUE


def alignment(typ: t.PgType) -> str:
    return _ALIGN[typ.length]


def storage(typ: t.PgType) -> str:
    """How PostgreSQL keeps long values of the type (typstorage)."""
    if typ is t.NUMERIC:
        return "m"
    return "x" if typ.length == -1 and typ.name not in _VECTORS else "p"


def collation(typ: t.PgType) -> int:
    of = t.element_of(typ) if typ.is_array else typ
    return 950 if of is t.NAME else 100 if of in _COLLATED else 0


def _pg_type(_context: SystemContext) -> Iterator[Row]:
    for typ in sorted(t.BY_OID.values(), key=lambda x: x.oid):
        pseudo = typ.category == "P"
        io = typ.name.lstrip("_")
        yield (
            typ.oid, typ.name, 11, 10, typ.length, by_value(typ),
            "p" if pseudo else "b", typ.category, typ.preferred, True, ",", 0, 0, typ.element, typ.array,
            _io(io, typ, "in"), _io(io, typ, "out"), _io(io, typ, "recv"), _io(io, typ, "send"), 0, 0, 0,
            alignment(typ), storage(typ), False, 0, -1, 0, collation(typ), None, None, None,
        )  # fmt: skip


def _io(name: str, typ: t.PgType, which: str) -> str:
    if typ.is_array:
        return f"array_{which}"
    separator = "_" if name in ("date", "time", "timetz", "timestamp", "timestamptz", "interval", "numeric", "json",
                                "jsonb", "uuid", "void", "record") else ""  # fmt: skip
    return f"{name}{separator}{which}"


SYSTEM: Final = (
    SystemRelation(
        1247,
        "pg_type",
        "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, "
        "typcategory char, typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript oid, "
        "typelem oid, typarray oid, typinput text, typoutput text, typreceive text, typsend text, typmodin oid, "
        "typmodout oid, typanalyze oid, typalign char, typstorage char, typnotnull bool, typbasetype oid, "
        "typtypmod int4, typndims int4, typcollation oid, typdefaultbin text, typdefault text, typacl text[]",
        _pg_type,
    ),
    SystemRelation(
        3541,
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical oid, "
        "rngsubdiff oid",
    ),
    SystemRelation(3501, "pg_enum", "oid oid, enumtypid oid, enumsortorder float4, enumlabel name"),
)

"""pg_type and what hangs on types: pg_range, pg_enum, pg_collation, pg_cast's neighbours."""

from __future__ import annotations

from typing import Final

from engine.catalog.system.declared import SystemRelation
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


SYSTEM: Final = (
    SystemRelation(
        1247,
        "pg_type",
        "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, "
        "typcategory char, typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript regproc, "
        "typelem oid, typarray oid, typinput regproc, typoutput regproc, typreceive regproc, typsend regproc, "
        "typmodin regproc, typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool, "
        "typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin text, typdefault text, typacl text[]",
        stored=True,
    ),
    SystemRelation(
        3541,
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical oid, "
        "rngsubdiff oid",
    ),
    SystemRelation(3501, "pg_enum", "oid oid, enumtypid oid, enumsortorder float4, enumlabel name"),
)

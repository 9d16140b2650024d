"""The casts between types, their contexts and their methods: PostgreSQL's pg_cast and its I/O casts.

Coercion (`engine.sql.binder.coercion`) and function resolution (`engine.sql.binder.resolution`) both look casts up
here. The table is PostgreSQL's, not the function table's: a cast that no engine can compute must still take part in
function resolution and be refused afterwards. Otherwise another function would be chosen silently.

Source: PostgreSQL 15, pg_cast; parse_coerce.c, find_coercion_pathway and can_coerce_type.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cache
from typing import Final

from engine.plan_ir.expr import CastContext, Function
from wire.types import pg_types as t

_RANK: Final[dict[CastContext, int]] = {"implicit": 0, "assignment": 1, "explicit": 2}
_CONTEXT: Final[dict[str, CastContext]] = {"i": "implicit", "a": "assignment", "e": "explicit"}

# source: target and castcontext; `=` marks binary-coercible casts (castmethod b).
_PG_CAST: Final = """
bool: int4e texta bpchara varchara
char: int4e texti bpchara varchara
name: texti bpchara varchara
int2: int8i int4i float4i float8i numerici
int4: boole chare int8i int2a float4i float8i numerici
int8: int2a int4a float4i float8i numerici
regproc: regprocedurei=
regprocedure: regproci=
regoper: regoperatori=
regoperator: regoperi=
text: chara namei bpchari= varchari= regclassi
json: jsonba
float4: int8a int2a int4a float8i numerica
float8: int8a int2a int4a float4a numerica
bpchar: chara namei texti varchari
varchar: chara namei texti= bpchari= regclassi
date: timestampi timestamptzi
time: intervali timetzi
timestamp: datea timea timestamptzi
timestamptz: datea timea timestampa timetza
interval: timea
timetz: timea
numeric: int8a int2a int4a float4i float8i
jsonb: boole int8e int2e int4e jsona float4e float8e numerice
pg_node_tree: texti=
inet: cidra texta varchara bpchara
cidr: ineti= texta varchara bpchara
macaddr: macaddr8i
macaddr8: macaddri
bit: int8e int4e varbiti=
varbit: biti=
int4: moneya bite
int8: moneya bite
numeric: moneya
money: numerica
xid8: xide
point: boxa
lseg: pointe
path: polygona
box: pointe lsege polygona circlee
polygon: pointe patha boxe circlee
circle: pointe boxe polygone
int4range: int4multirangee
int8range: int8multirangee
numrange: nummultirangee
daterange: datemultirangee
tsrange: tsmultirangee
tstzrange: tstzmultirangee
xml: texta= varchara= bpchara=
text: xmle
varchar: xmle
bpchar: xmle
"""

POLYMORPHIC: Final = frozenset(
    {
        t.ANYARRAY,
        t.ANYELEMENT,
        t.ANYNONARRAY,
        t.ANYENUM,
        t.ANYRANGE,
        t.ANYMULTIRANGE,
        t.ANYCOMPATIBLE,
        t.ANYCOMPATIBLEARRAY,
        t.ANYCOMPATIBLENONARRAY,
    }
)
#: Types that the engines store as the same text, so that a binary-coercible cast only changes the type.
TEXTUAL: Final = frozenset({t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.UNKNOWN, t.PG_NODE_TREE})


#: Arrays by category only: there is no cast to them.
_VECTORS: Final = frozenset({t.BY_NAME["int2vector"], t.BY_NAME["oidvector"]})


class Means(enum.Enum):
    """The method of a cast (parse_coerce.c: CoercionPathType)."""

    RELABEL = "relabel"
    FUNCTION = "function"
    IO = "io"
    ARRAY = "array"
    ROW = "row"


def _read_table() -> dict[tuple[t.PgType, t.PgType], tuple[CastContext, Means]]:
    table: dict[tuple[t.PgType, t.PgType], tuple[CastContext, Means]] = {}
    for line in _PG_CAST.strip().splitlines():
        source, _, targets = line.partition(": ")
        for target in targets.split():
            means = Means.RELABEL if target.endswith("=") else Means.FUNCTION
            bare = target.removesuffix("=")
            table[t.BY_NAME[source], t.BY_NAME[bare[:-1]]] = (_CONTEXT[bare[-1]], means)
    table.update(_of_oids())
    return table


def _of_oids() -> Iterator[tuple[tuple[t.PgType, t.PgType], tuple[CastContext, Means]]]:
    """Yield the casts of OID types, which are the same for all of them."""
    for typ in t.OID_TYPES:
        yield (t.INT2, typ), ("implicit", Means.FUNCTION)
        yield (t.INT4, typ), ("implicit", Means.RELABEL)
        yield (t.INT8, typ), ("implicit", Means.FUNCTION)
        yield (typ, t.INT4), ("assignment", Means.RELABEL)
        yield (typ, t.INT8), ("assignment", Means.FUNCTION)
        if typ is not t.OID:
            yield (typ, t.OID), ("implicit", Means.RELABEL)
            yield (t.OID, typ), ("implicit", Means.RELABEL)


_TABLE: Final = _read_table()


def cast_functions(target: t.PgType) -> tuple[Function, ...]:
    """Return the functions of pg_proc that are named like a type and cast to it, as signatures for resolution."""
    return tuple(
        Function(target.name, "function", (source,), target)
        for (source, to), (_context, means) in _TABLE.items()
        if to is target and means is Means.FUNCTION and source is not target
    )


def is_string(typ: t.PgType) -> bool:
    return typ.category == "S"


@cache
def find_pathway(source: t.PgType, target: t.PgType, context: CastContext) -> Means | None:
    """Return the method of the cast from `source` to `target` if casts up to `context` are allowed; None if there is
    none.

    Neither type may be polymorphic or unknown: callers handle those.
    """
    if source is target or (source.category == "C" and target is t.RECORD):
        return Means.RELABEL
    if source is t.RECORD and target.category == "C":
        return Means.ROW
    listed = _TABLE.get((source, target))
    if listed is not None:
        return listed[1] if _RANK[context] >= _RANK[listed[0]] else None
    if source.is_array and target.is_array and target not in _VECTORS:
        inner = find_pathway(t.element_of(source), t.element_of(target), context)
        return None if inner is None else Means.ARRAY
    if context != "implicit" and is_string(target):
        return Means.IO
    if context == "explicit" and is_string(source):
        return Means.IO
    return None


def can_coerce(source: t.PgType, target: t.PgType, context: CastContext) -> bool:
    """Return whether a value of `source` is accepted where `target` is required. Polymorphic targets are not resolved."""
    if source is target or target is t.ANY or target in POLYMORPHIC:
        return True
    if source is t.UNKNOWN:
        return True
    return find_pathway(source, target, context) is not None

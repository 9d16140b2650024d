"""Keys by which values are compared and sorted where the storage type's own order is not PostgreSQL's.

Most types store values whose equality and order are right in both engines: text compares by bytes, NaN is greatest,
DuckDB's intervals compare by their normalised length. The exceptions:

- bpchar compares without trailing blanks;
- an interval in Spark is a struct: it compares by its length, a month being 30 days and a day 24 hours;
- timetz orders by its instant, then by its zone; its equality is that of its parts;
- jsonb and ranges compare by binary keys that the local engine makes (`engine.executors.local.sort_keys`); equal documents
  and equal ranges of numerics may differ in digits;
- arrays and rows cannot be sorted in Spark, which puts nulls inside them first;
- in DuckDB rows sort as structs do, nulls inside them last, provided that the stored order of each field is PostgreSQL's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType, element_type
from engine.contracts.query_id import EngineName
from engine.sql.functions.dimensions import flat, lengths
from engine.sql.trees.build import call, cast, integer, operand
from engine.sql.trees.unsupported import Unsupported
from wire.types import pg_types as t
from wire.types.multiranges import RANGES
from wire.types.ranges import SUBTYPES

_MICROS_PER_DAY: Final = 86_400_000_000
#: Types whose equal values may have different carriers, such as 1.5 and 1.50, or a word with other weights.
EQUAL_BY_BYTES: Final = (t.JSONB, t.NUMRANGE, t.NUMMULTIRANGE, t.TSQUERY)
#: Types whose order is not that of their carrier.
SORTED_BY_BYTES: Final = frozenset((t.JSONB, *SUBTYPES, *RANGES, t.TSVECTOR, t.TSQUERY))


def needs_key(typ: SqlType, engine: EngineName) -> bool:
    """Return whether equal values of `typ` may be stored differently, so that grouping needs `equality_key`."""
    base = t.element_of(typ.pg) if typ.pg.is_array else typ.pg
    if base in EQUAL_BY_BYTES:
        return True
    if base.is_row:
        return any(needs_key(field, engine) for _, field in (element_type(typ) if typ.pg.is_array else typ).fields)
    return (base is t.BPCHAR and typ.typmod == -1) or (base is t.INTERVAL and engine == "spark")


def equality_key(tree: exp.Expression, typ: SqlType, engine: EngineName) -> exp.Expression:
    """Return an expression that is equal for two values exactly if PostgreSQL considers them equal."""
    if (typ.pg.is_array or typ.pg.is_row) and needs_key(typ, engine):
        raise Unsupported(engine, f"comparison of {typ}")
    if typ.pg in EQUAL_BY_BYTES:
        return _bytes(tree, typ, engine)
    if typ.pg is t.BPCHAR:
        return call("RTRIM", tree)
    if typ.pg is t.INTERVAL and engine == "spark":
        return _interval_length(tree)
    return tree


def order_keys(tree: exp.Expression, typ: SqlType, engine: EngineName) -> list[exp.Expression]:
    """Return expressions by which, one after the other, values are sorted as PostgreSQL sorts `typ`."""
    pg = typ.pg
    if pg in SORTED_BY_BYTES:
        return [_bytes(tree, typ, engine)]
    if (pg.is_array or pg.is_row) and not sorts_as_stored(replace(typ, dimensions=1), engine):
        raise Unsupported(engine, f"sorting by {typ}")
    if typ.dimensions > 1:
        return [flat(engine, tree, typ.dimensions), lengths(engine, tree.copy(), typ.dimensions)]
    if pg is t.TIMETZ:
        micros, zone = (_field(tree, name) for name in ("micros", "zone"))
        shift = exp.Mul(this=zone.copy(), expression=cast(integer(1_000_000), exp.DataType.build("BIGINT")))
        return [exp.Add(this=micros, expression=shift), zone]
    return [equality_key(tree, typ, engine)]


def _bytes(tree: exp.Expression, typ: SqlType, engine: EngineName) -> exp.Expression:
    if engine == "spark":
        raise Unsupported(engine, f"comparison of {typ}")
    return call(f"SLUICE_{typ.pg.name.upper()}_KEY", tree)


def sorts_as_stored(typ: SqlType, engine: EngineName) -> bool:
    """Return whether an engine's own order of stored values is PostgreSQL's, and equal values are stored alike."""
    if typ.pg.is_array:
        return engine == "local" and typ.dimensions == 1 and sorts_as_stored(element_type(typ), engine)
    if typ.pg.is_row:
        return engine == "local" and all(sorts_as_stored(field, engine) for _, field in typ.fields)
    return typ.pg not in SORTED_BY_BYTES and typ.pg is not t.TIMETZ and not needs_key(typ, engine)


def _field(tree: exp.Expression, name: str) -> exp.Expression:
    return exp.Dot(this=operand(tree.copy()), expression=exp.to_identifier(name))


def _interval_length(tree: exp.Expression) -> exp.Expression:
    """Return an interval's microseconds as decimal(38, 0): the longest interval has more of them than a bigint holds."""
    days = exp.Add(this=_times(_field(tree, "months"), 30), expression=_decimal(_field(tree, "days")))
    return exp.Add(this=_times(exp.Paren(this=days), _MICROS_PER_DAY), expression=_decimal(_field(tree, "micros")))


def _decimal(tree: exp.Expression) -> exp.Expression:
    return cast(tree, exp.DataType.build("DECIMAL(19, 0)"))


def _times(tree: exp.Expression, factor: int) -> exp.Expression:
    left = tree if isinstance(tree, exp.Paren) else _decimal(tree)
    return exp.Mul(this=left, expression=cast(integer(factor), exp.DataType.build(f"DECIMAL({len(str(factor))}, 0)")))

"""Strings for columns of limited length: an assignment cuts off trailing blanks and nothing else (varchar.c:
varchar(), bpchar() with an implicit cast). This is no row of the function table, because statements cannot call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.building import cast, snippet
from engine.sql.functions.dimensions import each
from engine.sql.functions.result_sizes import padded_length
from engine.sql.functions.trees import both, raises, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_KEPT: Final = {t.VARCHAR: "substr($1, 1, {n})", t.BPCHAR: "rpad(substr($1, 1, {n}), {padded}, ' ')"}
_TRIMMED: Final[dict[EngineName, str]] = {"local": "rtrim($1, ' ')", "spark": "rtrim(' ', $1)"}


def _fit_template(engine: EngineName, pg: t.PgType, typ: SqlType) -> str:
    """Return a template for a string, $1, in a column of that type."""
    length = typ.typmod - 4
    kept = _KEPT[pg].format(n=length, padded=padded_length(engine, length))
    return (
        f"CASE WHEN length({_TRIMMED[engine]}) > {length} "
        f"THEN RAISE('22001', 'value too long for type {typ}') ELSE {kept} END"
    )


def _within(engine: EngineName, pg: t.PgType) -> Builder:
    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return snippet(engine, _fit_template(engine, pg, call.type))(args, call)

    return build


def _each_within(engine: EngineName, pg: t.PgType) -> Builder:
    """Return the same for the elements of an array."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        one = sql(engine, _fit_template(engine, pg, replace(call.type, pg=pg)), exp.column("e__"))
        return each(engine, args[0], one, call.args[0].type.dimensions)

    return build


def _bits(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    size, text = call.type.typmod, "VARCHAR" if engine == "local" else "STRING"
    if call.type.pg is t.VARBIT:
        longer = raises(engine, "22001", f"bit string too long for type bit varying({size})")
        return sql(engine, f"CASE WHEN length($1) > {size} THEN $2 ELSE $1 END", args[0], longer)
    said = sql(
        engine, f"concat('bit string length ', CAST(length($1) AS {text}), ' does not match type bit({size})')", args[0]
    )
    return sql(engine, f"CASE WHEN length($1) <> {size} THEN $2 ELSE $1 END", args[0], raises(engine, "22026", said))


#: By bit string type: a function that returns a value that fits the call's modifier, or raises 22026 or 22001.
WITHIN_BITS: Final[dict[t.PgType, Function]] = {pg: cast(pg, pg, **both(_bits)) for pg in (t.BIT, t.VARBIT)}
#: By string type or array of strings: a function that returns a value that fits the call's modifier, or raises 22001.
WITHIN_LENGTH: Final[dict[t.PgType, Function]] = {
    typ: cast(typ, typ, local=made("local", pg), spark=made("spark", pg))
    for pg in _KEPT
    for typ, made in ((pg, _within), (t.BY_OID[pg.array], _each_within))
}

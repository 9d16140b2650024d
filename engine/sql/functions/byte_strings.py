"""Functions of bytea that work like those of text, with every byte as a character.

A byte string is converted to a text in Latin 1, whose characters are the bytes 0 to 255, and the result is converted
back. Spark has that conversion; `engine.executors.local.byte_texts` provides it for the local engine.

Source: PostgreSQL 15, table 9.11; oracle_compat.c (byteatrim and its kin).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.trees import EngineBuilder, both, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_AS_TEXT: Final[dict[EngineName, str]] = {"local": "sluice_byte_text($1)", "spark": "decode($1, 'ISO-8859-1')"}
_AS_BYTES: Final[dict[EngineName, str]] = {"local": "sluice_text_bytes($1)", "spark": "encode($1, 'ISO-8859-1')"}
#: Each hexadecimal digit as a letter per bit.
_BITS: Final = ("0", ""), ("[1248]", "x"), ("[3569AC]", "xx"), ("[7BDE]", "xxx"), ("F", "xxxx")


def byte_text(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return a bytea as a text with one character per byte."""
    return sql(engine, _AS_TEXT[engine], value)


def text_bytes(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return the bytea of a text of `byte_text`."""
    return sql(engine, _AS_BYTES[engine], value)


def _trim(local: str, spark: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        texts = [byte_text(engine, arg) for arg in args]
        return text_bytes(engine, sql(engine, local if engine == "local" else spark, *texts))

    return build


def _changed_bits() -> Iterator[Function]:
    """Yield get_bit, set_bit and set_byte, computed on hexadecimal digits. Bits are counted from each byte's lowest."""
    place = {"local": "CAST($2 // 8 AS INT)", "spark": "CAST($2 div 8 AS INT)"}
    number = {"local": "CAST('0x' || {} AS INTEGER)", "spark": "CAST(conv({}, 16, 10) AS INT)"}
    flag = "WHEN $1 IS NOT NULL AND $3 NOT IN (0, 1) THEN RAISE('22023', 'new bit must be 0 or 1')"
    power = "CAST(power(2, $2 % 8) AS INT)"
    for name, kind, more in (("get_bit", t.INT8, ()), ("set_bit", t.INT8, (t.INT4,)), ("set_byte", t.INT4, (t.INT4,))):
        bits = kind is t.INT8
        texts = {}
        for engine, string, error in (("local", "VARCHAR", "error"), ("spark", "STRING", "raise_error")):
            at = place[engine] if bits else "$2"
            byte = number[engine].format(f"substr(hex($1), {at} * 2 + 1, 2)")
            new = (
                f"CASE WHEN $3 = 1 THEN ({byte}) | {power} ELSE ({byte}) - (({byte}) & {power}) END"
                if bits
                else "$3 & 255"
            )
            laid = (
                f"unhex(concat(substr(hex($1), 1, {at} * 2), lpad(hex(CAST({new} AS BIGINT)), 2, '0'),"
                f" substr(hex($1), {at} * 2 + 3)))"
            )
            answer = laid if more else f"CASE WHEN ({byte}) & {power} > 0 THEN 1 ELSE 0 END"
            size = "CAST(octet_length($1) AS BIGINT)" + (" * 8" if bits else "")
            said = f"'SQLSTATE:2202E:index ', CAST($2 AS {string}), ' out of valid range, 0..', CAST({size} - 1 AS {string})"
            texts[engine] = (
                f"CASE WHEN $2 < 0 OR $2 >= {size} THEN {error}(concat({said})) {flag if more and bits else ''}"
                f" WHEN $1 IS NOT NULL AND $2 IS NOT NULL {'AND $3 IS NOT NULL' if more else ''} THEN {answer} END"
            )
        yield fn(name, (t.BYTEA, kind, *more), t.BYTEA if more else t.INT4, local=texts["local"], spark=texts["spark"])


def _bit_count() -> Iterator[Function]:
    local = spark = "hex($1)"
    for digits, bits in _BITS:
        local, spark = (
            f"regexp_replace({local}, '{digits}', '{bits}', 'g')",
            f"regexp_replace({spark}, '{digits}', '{bits}')",
        )
    yield fn(
        "bit_count",
        (t.BYTEA,),
        t.INT8,
        local=f"CAST(length({local}) AS BIGINT)",
        spark=f"CAST(length({spark}) AS BIGINT)",
    )


ROWS: tuple[Function, ...] = (
    *(
        fn(name, (t.BYTEA, t.BYTEA), t.BYTEA, **both(_trim(local, spark)))
        for name, local, spark in (
            ("btrim", "trim($1, $2)", "btrim($1, $2)"),
            ("ltrim", "ltrim($1, $2)", "ltrim($2, $1)"),
            ("rtrim", "rtrim($1, $2)", "rtrim($2, $1)"),
        )
    ),
    *_bit_count(),
    *_changed_bits(),
)

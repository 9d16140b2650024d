"""Functions of bytea that are those of text, where every byte is a character.

A byte string is taken for a text in Latin 1, whose characters are the bytes 0 to 255, and the answer turned back. Spark has
that conversion; `engine.local.byte_texts` has it for the local engine.

Source: PostgreSQL 15, table 9.11; oracle_compat.c (byteatrim and its kin).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.executor import EngineName
from engine.sql.functions import Function
from engine.sql.functions.building import fn
from engine.sql.functions.trees import EngineBuilder, both, sql
from wire import types as t

if TYPE_CHECKING:
    from engine.sql.expr import AggregateCall, Call

_AS_TEXT: Final[dict[EngineName, str]] = {"local": "sluice_byte_text($1)", "spark": "decode($1, 'ISO-8859-1')"}
_AS_BYTES: Final[dict[EngineName, str]] = {"local": "sluice_text_bytes($1)", "spark": "encode($1, 'ISO-8859-1')"}
#: Each digit of hex as as many letters as it has bits.
_BITS: Final = ("0", ""), ("[1248]", "x"), ("[3569AC]", "xx"), ("[7BDE]", "xxx"), ("F", "xxxx")


def byte_text(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """A bytea as a text of a character a byte."""
    return sql(engine, _AS_TEXT[engine], value)


def _trimmed(local: str, spark: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        texts = [byte_text(engine, arg) for arg in args]
        return sql(engine, _AS_BYTES[engine], sql(engine, local if engine == "local" else spark, *texts))

    return build


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
        fn(name, (t.BYTEA, t.BYTEA), t.BYTEA, **both(_trimmed(local, spark)))
        for name, local, spark in (
            ("btrim", "trim($1, $2)", "btrim($1, $2)"),
            ("ltrim", "ltrim($1, $2)", "ltrim($2, $1)"),
            ("rtrim", "rtrim($1, $2)", "rtrim($2, $1)"),
        )
    ),
    *_bit_count(),
)

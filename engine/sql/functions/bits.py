"""Bit strings: operators, parts, counts, and conversion from and to integers.

A bit string is a text of 0 and 1 in either engine, so its parts are parts of the text. Bitwise operators work on the
text character by character.

Source: PostgreSQL 15, pg_operator, pg_proc, pg_cast; varbit.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import NOTHING, agg, cast, fn, op
from engine.sql.functions.result_sizes import padded_length
from engine.sql.functions.trees import both, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_BIT: Final = t.BIT
_SIZE: Final = "CAST(length($1) AS INT)"
#: Computes each bit of two strings of equal length: it is 1 if `{test}` holds.
_LOCAL_EACH: Final = (
    "array_to_string(list_transform(generate_series(1, length($1)),"
    " lambda i__: CASE WHEN {test} THEN '1' ELSE '0' END), '')"
)
_SPARK_EACH: Final = (
    "CASE WHEN length($1) = 0 THEN $1 ELSE"
    " array_join(transform(sequence(1, length($1)), i__ -> CASE WHEN {test} THEN '1' ELSE '0' END), '') END"
)
_ONE, _OTHER = "substr($1, CAST(i__ AS INT), 1) = '1'", "substr($2, CAST(i__ AS INT), 1) = '1'"
_TESTS: Final = (
    ("&", "AND", f"{_ONE} AND {_OTHER}"),
    ("|", "OR", f"{_ONE} OR {_OTHER}"),
    ("#", "XOR", "substr($1, CAST(i__ AS INT), 1) <> substr($2, CAST(i__ AS INT), 1)"),
)
#: The 64 bits of an integer, and the integer of 64 bits, in each engine.
_BINARY: Final[dict[EngineName, str]] = {
    "local": "CAST(CAST(CAST($1 AS BIGINT) AS BIT) AS VARCHAR)",
    "spark": "lpad(bin(CAST($1 AS BIGINT)), 64, '0')",
}
_NUMBER: Final[dict[EngineName, str]] = {
    "local": "CAST(CAST({} AS BIT) AS BIGINT)",
    "spark": "CAST(conv({}, 2, -10) AS BIGINT)",
}


def _fit_length(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a bit string cut off, or padded with zeros, to the modifier of an explicit cast."""
    size, pg = call.type.typmod, call.type.pg
    if size < 0:
        return args[0]
    cut = f"substr($1, 1, {size})"
    return sql(engine, f"rpad({cut}, {padded_length(engine, size)}, '0')" if pg is t.BIT else cut, *args)


def _of_integer(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build the lowest bits of an integer, sign-extended if more are requested."""
    size = max(call.type.typmod, 1)
    bits = sql(engine, _BINARY[engine], *args)
    if size <= 64:
        return sql(engine, f"right($1, {size})", bits)
    return sql(engine, f"lpad($1, {padded_length(engine, size)}, substr($1, 1, 1))", bits)


def _integers() -> Iterator[Function]:
    for typ, name, size in ((t.INT4, "INT", 32), (t.INT8, "BIGINT", 64)):
        yield cast(typ, _BIT, **both(_of_integer))
        long = f"RAISE('22003', '{'integer' if typ is t.INT4 else 'bigint'} out of range')"
        filled = f"lpad($1, 64, CASE WHEN length($1) = {size} THEN substr($1, 1, 1) ELSE '0' END)"
        local, spark = (
            f"CASE WHEN length($1) > {size} THEN {long} ELSE CAST({_NUMBER[engine].format(filled)} AS {name}) END"
            for engine in ("local", "spark")
        )
        yield cast(_BIT, typ, local=local, spark=spark)


def _bitwise() -> Iterator[Function]:
    for symbol, word, test in _TESTS:
        wrong = f"RAISE('22026', 'cannot {word} bit strings of different sizes')"
        checked = f"CASE WHEN length($1) = length($2) THEN {{}} WHEN length($1) <> length($2) THEN {wrong} END"
        local, spark = (checked.format(each.format(test=test)) for each in (_LOCAL_EACH, _SPARK_EACH))
        yield op(symbol, (_BIT, _BIT), _BIT, local=local, spark=spark)
    yield op("~", (_BIT,), _BIT, "translate($1, '01', '10')")
    left = f"rpad(substr($1, least({{n}}, length($1)) + 1), {_SIZE}, '0')"
    right = f"lpad(substr($1, 1, CAST(greatest(length($1) - {{n}}, 0) AS INT)), {_SIZE}, '0')"
    for symbol, forward, back in (("<<", left, right), (">>", right, left)):
        far = "CAST(least(-CAST($2 AS BIGINT), 2147483647) AS INT)"
        text = f"CASE WHEN $2 >= 0 THEN {forward.format(n='$2')} WHEN $2 < 0 THEN {back.format(n=far)} END"
        yield op(symbol, (_BIT, t.INT4), _BIT, text)


def _parts() -> Iterator[Function]:
    yield op("||", (t.VARBIT, t.VARBIT), t.VARBIT, "$1 || $2")
    for name in ("length", "bit_length"):
        yield fn(name, (_BIT,), t.INT4, _SIZE)
    octets = {"local": "CAST((length($1) + 7) // 8 AS INT)", "spark": "CAST((length($1) + 7) div 8 AS INT)"}
    yield fn("octet_length", (_BIT,), t.INT4, local=octets["local"], spark=octets["spark"])
    yield fn("bit_count", (_BIT,), t.INT8, "CAST(length(replace($1, '0', '')) AS BIGINT)")
    found = {"local": "strpos($1, $2)", "spark": "instr($1, $2)"}
    local, spark = (f"CASE WHEN length($1) = 0 THEN 0 ELSE CAST({at} AS INT) END" for at in found.values())
    yield fn("position", (_BIT, _BIT), t.INT4, local=local, spark=spark)
    begin, end = "greatest($2, 1)", "CAST($2 AS BIGINT) + $3"
    count = f"CAST(least(greatest({end} - {begin}, 0), 2147483647) AS INT)"
    negative = "RAISE('22011', 'negative substring length not allowed')"
    yield fn("substring", (_BIT, t.INT4), _BIT, f"CASE WHEN $2 IS NOT NULL THEN substr($1, {begin}) END")
    part = (
        f"CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL AND $3 < 0 THEN {negative}"
        f" WHEN $2 IS NOT NULL AND $3 IS NOT NULL THEN substr($1, {begin}, {count}) END"
    )
    yield fn("substring", (_BIT, t.INT4, t.INT4), _BIT, part)
    for more, length in (((), "length($2)"), ((t.INT4,), "$4")):
        rest = f"substr($1, CAST(greatest($3 + {length}, 1) AS INT))"
        outside = "$1 IS NOT NULL AND $2 IS NOT NULL AND $3 <= 0"
        laid = f"CASE WHEN {outside} THEN {negative} ELSE substr($1, 1, $3 - 1) || $2 || {rest} END"
        yield fn("overlay", (_BIT, _BIT, t.INT4, *more), _BIT, laid)


def _single() -> Iterator[Function]:
    for name, more, answer in (
        ("get_bit", (), "CAST(substr($1, $2 + 1, 1) AS INT)"),
        ("set_bit", (t.INT4,), "substr($1, 1, $2) || CAST($3 AS {text}) || substr($1, $2 + 2)"),
    ):
        last = "CAST(length($1) - 1 AS {text})"
        said = f"'SQLSTATE:2202E:bit index ', CAST($2 AS {{text}}), ' out of valid range (0..', {last}, ')'"
        returns = _BIT if more else t.INT4
        flag = "WHEN $1 IS NOT NULL AND $3 NOT IN (0, 1) THEN RAISE('22023', 'new bit must be 0 or 1')" if more else ""
        wrong = f"{{error}}(concat({said}))"
        text = f"CASE WHEN $2 < 0 OR $2 >= length($1) THEN {wrong} {flag} ELSE {answer} END"
        local, spark = (
            text.format(text=typ, error=error) for typ, error in (("VARCHAR", "error"), ("STRING", "raise_error"))
        )
        yield fn(name, (_BIT, t.INT4, *more), returns, local=local, spark=spark)


def _folds() -> Iterator[Function]:
    for name in ("bit_and", "bit_or", "bit_xor"):
        yield agg(name, (_BIT,), _BIT, local=f"CAST({name}(CAST($1 AS BIT)) AS VARCHAR)", spark=NOTHING)


def _casts() -> Iterator[Function]:
    for kind in (t.BIT, t.VARBIT):
        yield cast(kind, kind, **both(_fit_length))


ROWS: tuple[Function, ...] = (*_bitwise(), *_parts(), *_single(), *_folds(), *_integers(), *_casts())

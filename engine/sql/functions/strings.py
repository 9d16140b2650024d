"""Strings and byte strings: PostgreSQL 15, sections 9.4 and 9.5. Pattern matching is in `regexp`, format() in
`quoting`.

A character is a Unicode code point, in both engines and in PostgreSQL; DuckDB's functions that work on grapheme
clusters (`reverse`) are avoided. Case follows the simple mapping of one code point to one (`ß` stays `ß`), as the C
library's does; Java's full mapping is undone where it would change a string's length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import NOTHING, fn, op
from engine.sql.functions.result_sizes import LONG_BYTES, fits_snippet, reserve
from engine.sql.functions.textual import as_text
from engine.sql.functions.trees import (
    EngineBuilder,
    both,
    concat,
    constant_int,
    constant_text,
    integer,
    on,
    raises,
    required_text,
    sql,
    text,
)
from wire.errors import FeatureNotSupported, InvalidParameterValue
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

NEGATIVE_LENGTH = "negative substring length not allowed"
#: The maximum number of bytes of a text (MaxAllocSize, without its header), and of characters, each of which may take
#: four bytes.
_BYTES_MAX: Final = 0x3FFFFFFF - 4
_CHARACTERS_MAX: Final = _BYTES_MAX // 4
_TOO_LONG: Final = "RAISE('54000', 'requested length too large')"


# --- concatenation ----------------------------------------------------------------------------------------------------


def _mixed_concatenation(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    left, right = (as_text(engine, tree, arg, "cast") for tree, arg in zip(args, call.args, strict=True))
    return sql(engine, "$1 || $2", left, right)


def _concat(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    pieces = [as_text(engine, tree, arg) for tree, arg in zip(args, call.args, strict=True)]
    if engine == "local":
        return exp.Anonymous(this="concat", expressions=pieces)
    return exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string(""), *pieces])


def _concat_ws(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    pieces = [as_text(engine, tree, arg) for tree, arg in zip(args[1:], call.args[1:], strict=True)]
    return exp.Anonymous(this="concat_ws", expressions=[args[0], *pieces])


_CONCATENATION = (
    op("||", (t.TEXT, t.TEXT), t.TEXT, local="$1 || $2", spark="$1 || $2"),
    *(
        op("||", args, t.TEXT, local=on("local", _mixed_concatenation), spark=on("spark", _mixed_concatenation))
        for args in ((t.TEXT, t.ANYNONARRAY), (t.ANYNONARRAY, t.TEXT))
    ),
    op("||", (t.BYTEA, t.BYTEA), t.BYTEA, local="$1 || $2", spark="concat($1, $2)"),
    fn("concat", (t.ANY,), t.TEXT, local=on("local", _concat), spark=on("spark", _concat),
       variadic=True, strict=False, volatility="stable"),
    fn("concat_ws", (t.TEXT, t.ANY), t.TEXT, local=on("local", _concat_ws), spark=on("spark", _concat_ws),
       variadic=True, strict=False, volatility="stable"),
)  # fmt: skip


# --- case -------------------------------------------------------------------------------------------------------------

#: U+E000 stands for a sharp s, for which DuckDB has a capital letter that the C library does not use.
_LOCAL_UPPER = "replace(upper(replace($1, 'ß', '\ue000')), '\ue000', 'ß')"
_SPARK_ONE = "CASE WHEN char_length({case}(ch)) = 1 THEN {case}(ch) ELSE {other} END"
_SPARK_CASE = (
    "CASE WHEN octet_length($1) = char_length($1) THEN {case}($1) "
    "ELSE array_join(transform(split($1, ''), ch -> {one}), '') END"
)
# The dotted capital I is the only letter whose lower case has two code points in Java.
_SPARK_UPPER = _SPARK_CASE.format(case="upper", one=_SPARK_ONE.format(case="upper", other="ch"))
_SPARK_LOWER = _SPARK_CASE.format(case="lower", one=_SPARK_ONE.format(case="lower", other="'i'"))


def lower_text(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return a text in lower case, each character mapped separately."""
    return sql(engine, "lower($1)" if engine == "local" else _SPARK_LOWER, value)


def _initcap(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    upper = _LOCAL_UPPER if engine == "local" else _SPARK_UPPER
    first = sql(engine, upper, sql(engine, "left(word__, 1)"))
    rest = lower_text(engine, sql(engine, "substring(word__, 2)"))
    words = text(r"[\p{L}\p{N}]+|[^\p{L}\p{N}]+")
    if engine == "local":
        each = "list_transform(regexp_extract_all($1, $2), lambda word__: $3 || $4)"
        return sql("local", f"array_to_string({each}, '')", args[0], words, first, rest)
    each = "transform(regexp_extract_all($1, $2, 0), word__ -> concat($3, $4))"
    return sql("spark", f"array_join({each}, '')", args[0], words, first, rest)


_CASE = (
    fn("lower", (t.TEXT,), t.TEXT, local="lower($1)", spark=_SPARK_LOWER),
    fn("upper", (t.TEXT,), t.TEXT, local=_LOCAL_UPPER, spark=_SPARK_UPPER),
    fn("initcap", (t.TEXT,), t.TEXT, local=on("local", _initcap), spark=on("spark", _initcap)),
)


# --- lengths ----------------------------------------------------------------------------------------------------------

_LOCAL_LENGTH = "CAST(length($1) AS INTEGER)"
_LOCAL_BYTES = "CAST(strlen($1) AS INTEGER)"
_LOCAL_BLOB_BYTES = "CAST(octet_length($1) AS INTEGER)"

_LENGTHS = (
    *(
        fn(name, (t.TEXT,), t.INT4, local=_LOCAL_LENGTH, spark="char_length($1)")
        for name in ("length", "char_length", "character_length")
    ),
    *(
        fn(name, (t.BPCHAR,), t.INT4, local="CAST(length(rtrim($1, ' ')) AS INTEGER)", spark="char_length(rtrim($1))")
        for name in ("length", "char_length", "character_length")
    ),
    fn("length", (t.BYTEA,), t.INT4, local=_LOCAL_BLOB_BYTES, spark="octet_length($1)"),
    *(
        fn("octet_length", (arg,), t.INT4, local=_LOCAL_BYTES, spark="octet_length($1)")
        for arg in (t.TEXT, t.BPCHAR)
    ),
    fn("octet_length", (t.BYTEA,), t.INT4, local=_LOCAL_BLOB_BYTES, spark="octet_length($1)"),
    fn("bit_length", (t.TEXT,), t.INT4, local="CAST(strlen($1) * 8 AS INTEGER)", spark="octet_length($1) * 8"),
    fn("bit_length", (t.BYTEA,), t.INT4, local="CAST(octet_length($1) * 8 AS INTEGER)", spark="octet_length($1) * 8"),
)  # fmt: skip


# --- pieces -----------------------------------------------------------------------------------------------------------


def _slice(engine: EngineName, binary: bool, *args: exp.Expression) -> exp.Expression:
    """Return characters or bytes of args[0] from args[1] (at least 1) on: args[2] (at least 0) of them, or all the
    rest.
    """
    if engine == "spark" or not binary:
        return sql(engine, "substring($1, $2)" if len(args) == 2 else "substring($1, $2, $3)", *args)
    if len(args) == 2:
        return sql("local", "array_slice($1, $2, octet_length($1))", *args)
    return sql(
        "local",
        "CASE WHEN $3 = 0 AND $1 IS NOT NULL THEN CAST('' AS BLOB) ELSE array_slice($1, $2, CAST($2 AS BIGINT) + $3 - 1) END",
        *args,
    )


def _substring(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    value, start = args[0], args[1]
    binary = call.args[0].type.pg is t.BYTEA
    known = constant_int(start)
    first = sql(engine, "CASE WHEN $1 < 1 THEN 1 ELSE $1 END", start) if known is None else integer(max(known, 1))
    if len(args) == 2:
        return _slice(engine, binary, value, first)
    length = constant_int(args[2])
    if known is not None and length is not None and length >= 0:
        return _slice(engine, binary, value, first, integer(max(known + length - max(known, 1), 0)))
    count = sql(engine, "CAST($1 AS BIGINT) + $2 - $3", start, args[2], first)
    # Spark counts in int; larger counts are beyond any string's end.
    bounded = sql(engine, "CASE WHEN $1 < 0 THEN 0 WHEN $1 > 2147483647 THEN 2147483647 ELSE $1 END", count)
    piece = _slice(engine, binary, value, first, sql(engine, "CAST($1 AS INT)", bounded))
    if length is not None and length >= 0:
        return piece
    guarded = "CASE WHEN $1 < 0 AND $2 IS NOT NULL AND $3 IS NOT NULL THEN $4 ELSE $5 END"
    return sql(engine, guarded, args[2], value, start, raises(engine, "22011", NEGATIVE_LENGTH), piece)


def _overlay(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    value, new, start = args[0], args[1], args[2]
    binary = call.args[0].type.pg is t.BYTEA
    if len(args) == 4:
        length = args[3]
    else:
        size = "octet_length($1)" if binary else "length($1)" if engine == "local" else "char_length($1)"
        length = sql(engine, f"CAST({size} AS INT)", new)
    head = _slice(engine, binary, value, integer(1), sql(engine, "CASE WHEN $1 < 1 THEN 0 ELSE $1 - 1 END", start))
    rest = sql(engine, "CASE WHEN $1 + $2 < 1 THEN 1 ELSE $1 + $2 END", start, length)
    joined = concat(engine, [head, new, _slice(engine, binary, value, rest)])
    known = constant_int(start)
    if known is not None and known > 0:
        return joined
    guarded = "CASE WHEN $1 < 1 AND $2 IS NOT NULL AND $3 IS NOT NULL AND $4 IS NOT NULL THEN $5 ELSE $6 END"
    return sql(engine, guarded, start, value, new, length, raises(engine, "22011", NEGATIVE_LENGTH), joined)


def _spark_left(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    count = constant_int(args[1])
    if count is not None and count >= 0:
        return sql("spark", "substring($1, 1, $2)", *args)
    minus = "substring($1, 1, greatest(char_length($1) + $2, 0))"
    return sql("spark", f"CASE WHEN $2 < 0 THEN {minus} ELSE substring($1, 1, $2) END", *args)


def _spark_right(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    count = constant_int(args[1])
    if count is not None and count >= 0:
        return sql("spark", "right($1, $2)", *args)
    least = f"WHEN $2 = {_INT4_MIN} THEN $1"
    return sql("spark", f"CASE {least} WHEN $2 < 0 THEN substring($1, 1 - $2) ELSE right($1, $2) END", *args)


#: PostgreSQL negates a negative count, which overflows for this one: right() returns the whole text.
_INT4_MIN = -(2**31)


def _local_right(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    count = constant_int(args[1])
    if count is not None and count != _INT4_MIN:
        return sql("local", "right($1, $2)", *args)
    return sql("local", f"CASE WHEN $2 = {_INT4_MIN} THEN $1 ELSE right($1, $2) END", *args)


def _split_part(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    index, delimiter = constant_int(args[2]), constant_text(args[1])
    plain = sql(engine, "split_part($1, $2, $3)", *args)
    if index and delimiter:
        return plain
    zero = raises(engine, "22023", "field position must not be zero")
    # Spark negates the position, which overflows for this one; no text has so many parts.
    beyond = f"WHEN $3 = {_INT4_MIN} AND $1 IS NOT NULL AND $2 IS NOT NULL THEN '' "
    return sql(
        engine,
        f"CASE WHEN $3 = 0 AND $1 IS NOT NULL AND $2 IS NOT NULL THEN $4 {beyond}"
        "WHEN $2 = '' THEN CASE WHEN $3 IN (1, -1) THEN $1 WHEN $1 IS NOT NULL AND $3 IS NOT NULL THEN '' END "
        "ELSE $5 END",
        *args,
        zero,
        plain,
    )


_POSITION = {"local": "CAST(strpos($1, $2) AS INTEGER)", "spark": "instr($1, $2)"}
_LOCAL_BYTE_POSITION = (
    "CASE WHEN instr(hex($1), hex($2)) = 0 THEN 0 ELSE list_position(list_transform(range(0, octet_length($1) "
    "- octet_length($2) + 1), lambda i: substring(hex($1), 2 * i + 1, 2 * octet_length($2)) = hex($2)), TRUE) END"
)

_PIECES = (
    *(
        fn(name, args, value, local=on("local", _substring), spark=on("spark", _substring))
        for name in ("substr", "substring")
        for value in (t.TEXT, t.BYTEA)
        for args in ((value, t.INT4), (value, t.INT4, t.INT4))
    ),
    *(
        fn("overlay", args, value, local=on("local", _overlay), spark=on("spark", _overlay))
        for value in (t.TEXT, t.BYTEA)
        for args in ((value, value, t.INT4), (value, value, t.INT4, t.INT4))
    ),
    fn("left", (t.TEXT, t.INT4), t.TEXT, local="left($1, $2)", spark=_spark_left),
    fn("right", (t.TEXT, t.INT4), t.TEXT, local=_local_right, spark=_spark_right),
    fn("split_part", (t.TEXT, t.TEXT, t.INT4), t.TEXT, local=on("local", _split_part), spark=on("spark", _split_part)),
    fn("strpos", (t.TEXT, t.TEXT), t.INT4, local=_POSITION["local"], spark=_POSITION["spark"]),
    fn("position", (t.TEXT, t.TEXT), t.INT4, local=_POSITION["local"], spark=_POSITION["spark"]),
    fn("position", (t.BYTEA, t.BYTEA), t.INT4, local=f"CAST({_LOCAL_BYTE_POSITION} AS INTEGER)"),
    *(
        make(name, (t.TEXT, t.TEXT), t.BOOL, local="starts_with($1, $2)", spark="startswith($1, $2)")
        for make, name in ((fn, "starts_with"), (op, "^@"))
    ),
)


# --- padding, trimming, replacing -------------------------------------------------------------------------------------


def _pad(engine: EngineName, side: str, given: Sequence[exp.Expression]) -> exp.Expression:
    large = raises(engine, "54000", "requested length too large")
    length = sql(engine, f"CASE WHEN $1 > {_CHARACTERS_MAX} THEN $2 ELSE $1 END", given[1], large)
    args = [given[0], given[1] if isinstance(given[1], exp.Literal) and _is_short(given[1]) else length, *given[2:]]
    if engine == "spark":
        return sql("spark", f"{side}($1, $2, $3)" if len(args) == 3 else f"{side}($1, $2, ' ')", *args)
    count = constant_int(args[1])
    if count is None or count > LONG_BYTES:
        args[1] = reserve(args[1], sql("local", "greatest(CAST(strlen($1) AS BIGINT), $2)", args[0], args[1]))
    if len(args) == 2 or constant_text(args[2]):
        return sql("local", f"{side}($1, $2, $3)", args[0], args[1], *(args[2:] or [text(" ")]))
    unfilled = "left($1, CASE WHEN $2 < 0 THEN 0 ELSE $2 END)"
    return sql("local", f"CASE WHEN $3 = '' THEN {unfilled} ELSE {side}($1, $2, $3) END", *args)


def _is_short(length: exp.Literal) -> bool:
    return int(length.this) <= _CHARACTERS_MAX


def _pad_functions(name: str) -> Iterator[Function]:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return _pad(engine, name, args)

    for args in ((t.TEXT, t.INT4), (t.TEXT, t.INT4, t.TEXT)):
        yield fn(name, args, t.TEXT, local=on("local", build), spark=on("spark", build))


def _trim_functions(name: str, local: str, spark: str) -> Iterator[Function]:
    yield fn(name, (t.TEXT,), t.TEXT, local=f"{local}($1, ' ')", spark=f"{local}($1)")
    yield fn(name, (t.TEXT, t.TEXT), t.TEXT, local=f"{local}($1, $2)", spark=spark)


def _local_replace(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    sought, new = constant_text(args[1]), constant_text(args[2])
    if sought is not None and new is not None and len(new.encode()) <= len(sought.encode()):
        return sql("local", "replace($1, $2, $3)", *args)
    # The number of replacements is the number of bytes that are missing without them, by the length of each.
    count = "((strlen($1) - strlen(replace($1, $2, ''))) // strlen($2))"
    size = (
        f"CASE WHEN CAST(strlen($1) AS BIGINT) * strlen($3) > {LONG_BYTES} AND $2 <> '' "
        f"THEN CAST(strlen($1) AS BIGINT) + {count} * strlen($3) ELSE 0 END"
    )
    return sql("local", "replace($1, $2, $3)", args[0], args[1], reserve(args[2], sql("local", size, *args)))


#: The number of bytes of repeat's result in the local engine.
_REPEATED: Final = "CAST(strlen($1) AS BIGINT) * $2"

_EDITING = (
    *_pad_functions("lpad"),
    *_pad_functions("rpad"),
    *_trim_functions("btrim", "trim", "btrim($1, $2)"),
    *_trim_functions("ltrim", "ltrim", "ltrim($2, $1)"),
    *_trim_functions("rtrim", "rtrim", "rtrim($2, $1)"),
    fn("replace", (t.TEXT, t.TEXT, t.TEXT), t.TEXT, local=on("local", _local_replace), spark="replace($1, $2, $3)"),
    fn("translate", (t.TEXT, t.TEXT, t.TEXT), t.TEXT, local="translate($1, $2, $3)", spark="translate($1, $2, $3)"),
    fn(
        "repeat", (t.TEXT, t.INT4), t.TEXT,
        local=f"repeat($1, CASE WHEN {_REPEATED} > {_BYTES_MAX} THEN {_TOO_LONG} "
        f"WHEN {fits_snippet(_REPEATED)} THEN $2 END)",
        spark=f"repeat($1, CASE WHEN CAST(octet_length($1) AS BIGINT) * $2 > {_BYTES_MAX} THEN {_TOO_LONG} ELSE $2 END)",
    ),
    fn("reverse", (t.TEXT,), t.TEXT, local="array_to_string(list_reverse(string_split($1, '')), '')", spark="reverse($1)"),
)  # fmt: skip


# --- code points, digests, encodings ----------------------------------------------------------------------------------


def _chr(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    made = "chr($1)" if engine == "local" else "decode(unhex(lpad(hex($1), 8, '0')), 'UTF-32')"
    number = sql(engine, "CAST($1 AS VARCHAR)" if engine == "local" else "CAST($1 AS STRING)", args[0])
    return sql(
        engine,
        f"CASE WHEN $1 < 0 THEN $2 WHEN $1 = 0 THEN $3 WHEN $1 > 1114111 THEN $4 "
        f"WHEN $1 BETWEEN 55296 AND 57343 THEN $5 ELSE {made} END",
        args[0],
        raises(engine, "22023", "character number must be positive"),
        raises(engine, "54000", "null character not permitted"),
        raises(engine, "54000", concat(engine, [text("requested character too large for encoding: "), number])),
        raises(engine, "54000", concat(engine, [text("requested character not valid for encoding: "), number])),
    )


def _digest(name: str, bits: int, local: str) -> Function:
    return fn(name, (t.BYTEA,), t.BYTEA, local=local, spark=f"unhex(sha2($1, {bits}))")


_BASE64_LINE = 76


def _encode(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    name = required_text(args[1], "an encoding").lower()
    if name == "hex":
        return sql(engine, "lower(hex($1))", args[0])
    if name == "base64":
        # PostgreSQL breaks the line after every 76 digits, also after the last ones.
        full = text(f"(.{{{_BASE64_LINE}}})")
        if engine == "local":
            return sql("local", "regexp_replace(to_base64($1), $2, $3, 'g')", args[0], full, text("\\1\n"))
        unbroken = sql("spark", "replace(base64($1), $2, '')", args[0], text("\r\n"))
        return sql("spark", "regexp_replace($1, $2, $3)", unbroken, full, text("$1\n"))
    if name == "escape":
        return _encode_escape(engine, args[0])
    raise InvalidParameterValue(f'unrecognized encoding: "{name}"')


def _encode_escape(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Build the escape encoding: zero and high bytes as three octal digits, a backslash doubled, all others unchanged."""
    byte = "CAST(conv(d, 16, 10) AS INT)" if engine == "spark" else "CAST('0x' || d AS INTEGER)"
    if engine == "spark":
        octal = "concat($2, lpad(conv(d, 16, 8), 3, '0'))"
        one = f"CASE WHEN {byte} = 0 OR {byte} > 127 THEN {octal} WHEN {byte} = 92 THEN concat($2, $2) ELSE char({byte}) END"
        return sql(
            "spark", f"array_join(transform(regexp_extract_all(hex($1), '..', 0), d -> {one}), '')", value, text("\\")
        )
    octal = f"$2 || lpad(to_base({byte}, 8), 3, '0')"
    one = f"CASE WHEN {byte} = 0 OR {byte} > 127 THEN {octal} WHEN {byte} = 92 THEN $2 || $2 ELSE chr({byte}) END"
    return sql(
        "local",
        f"array_to_string(list_transform(regexp_extract_all(hex($1), '..'), lambda d: {one}), '')",
        value,
        text("\\"),
    )


def _decode(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    name = required_text(args[1], "an encoding").lower()
    blank = text("[ \t\r\n]")
    everywhere = "regexp_replace($1, $2, '', 'g')" if engine == "local" else "regexp_replace($1, $2, '')"
    matches = "regexp_full_match" if engine == "local" else "regexp_like"
    bare = sql(engine, everywhere, args[0], blank)
    if name == "hex":
        digit = sql(engine, "regexp_extract($1, $2, 0)", bare, text("[^0-9a-fA-F]"))
        odd = raises(engine, "22023", "invalid hexadecimal data: odd number of digits")
        wrong = raises(engine, "22023", concat(engine, [text('invalid hexadecimal digit: "'), digit, text('"')]))
        return sql(
            engine,
            f"CASE WHEN {matches}($1, $2) THEN unhex($1) WHEN {matches}($1, $3) THEN $4 WHEN $1 IS NOT NULL THEN $5 END",
            bare, text("^([0-9a-fA-F]{2})*$"), text("^[0-9a-fA-F]*$"), odd, wrong,
        )  # fmt: skip
    if name == "base64":
        symbol = sql(engine, "regexp_extract($1, $2, 0)", bare, text("[^0-9a-zA-Z+/=]"))
        wrong = raises(
            engine, "22023",
            concat(engine, [text('invalid symbol "'), symbol, text('" found while decoding base64 sequence')]),
        )  # fmt: skip
        short = raises(engine, "22023", "invalid base64 end sequence")
        decoded = "from_base64($1)" if engine == "local" else "unbase64($1)"
        quads = "^([0-9a-zA-Z+/]{4})*([0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?$"
        return sql(
            engine,
            f"CASE WHEN {matches}($1, $2) THEN {decoded} WHEN {matches}($1, $3) THEN $4 WHEN $1 IS NOT NULL THEN $5 END",
            bare, text(quads), text("^[0-9a-zA-Z+/=]*$"), short, wrong,
        )  # fmt: skip
    if name == "escape":
        raise FeatureNotSupported("not supported: decode(..., 'escape')")
    raise InvalidParameterValue(f'unrecognized encoding: "{name}"')


def _convert_to(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    _only_utf8(args[1])
    return sql(engine, "encode($1)" if engine == "local" else "CAST($1 AS BINARY)", args[0])


def _convert_from(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    _only_utf8(args[1])
    wrong = raises(engine, "22021", 'invalid byte sequence for encoding "UTF8"')
    if engine == "local":
        return sql(
            "local", "CASE WHEN TRY(decode($1)) IS NULL AND $1 IS NOT NULL THEN $2 ELSE decode($1) END", args[0], wrong
        )
    said = sql("spark", "CAST($1 AS STRING)", args[0])
    return sql("spark", "CASE WHEN is_valid_utf8($1) THEN $1 WHEN $1 IS NOT NULL THEN $2 END", said, wrong)


def _only_utf8(tree: exp.Expression) -> None:
    name = required_text(tree, "an encoding")
    if name.lower().replace("-", "") not in ("utf8", "unicode"):
        raise FeatureNotSupported(f'not supported: the encoding "{name}"')


#: A name is an array of 64 bytes that begins at 0, with zeros after its end. An incomplete character becomes U+FFFD.
_NAME_BYTE: Final = """CASE
    WHEN $2 < 0 OR $2 > 63 THEN NULL
    WHEN $2 >= strlen($1) THEN ''
    WHEN array_slice(encode($1), $2 + 1, $2 + 1) > '\\x7F'::BLOB THEN chr(65533)
    ELSE decode(array_slice(encode($1), $2 + 1, $2 + 1))
END"""


def _get_byte(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    if engine == "local":
        byte = "CAST('0x' || hex(array_slice($1, $2 + 1, $2 + 1)) AS INTEGER)"
        size = sql("local", "CAST(octet_length($1) - 1 AS VARCHAR)", args[0])
        place = sql("local", "CAST($1 AS VARCHAR)", args[1])
    else:
        byte = "CAST(conv(hex(substring($1, $2 + 1, 1)), 16, 10) AS INT)"
        size = sql("spark", "CAST(octet_length($1) - 1 AS STRING)", args[0])
        place = sql("spark", "CAST($1 AS STRING)", args[1])
    message = concat(engine, [text("index "), place, text(" out of valid range, 0.."), size])
    guarded = f"CASE WHEN $2 < 0 OR $2 >= octet_length($1) THEN $3 ELSE {byte} END"
    return sql(engine, guarded, *args, raises(engine, "2202E", message))


def _with_form(name: str) -> EngineBuilder:
    """Return the builder of a function of a text and a normal form, by default NFC."""

    def build(_engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return sql("local", f"{name}($1, $2)", args[0], args[1] if len(args) > 1 else text("NFC"))

    return build


_ENCODING = (
    fn("convert", (t.BYTEA, t.NAME, t.NAME), t.BYTEA, local="sluice_convert($1, $2, $3)"),
    fn("hashtext", (t.TEXT,), t.INT4, local="sluice_hashtext($1)"),
    fn("unistr", (t.TEXT,), t.TEXT, local="sluice_unistr($1)"),
    fn("normalize", (t.TEXT, t.TEXT), t.TEXT, local=on("local", _with_form("sluice_normalize")), optional=1),
    fn("is_normalized", (t.TEXT, t.TEXT), t.BOOL, local=on("local", _with_form("sluice_is_normalized")), optional=1),
    fn("chr", (t.INT4,), t.TEXT, local=on("local", _chr), spark=on("spark", _chr)),
    fn("ascii", (t.TEXT,), t.INT4, local="CAST(ascii($1) AS INTEGER)", spark="ascii($1)"),
    fn("md5", (t.TEXT,), t.TEXT, local="md5($1)", spark="md5($1)"),
    fn("md5", (t.BYTEA,), t.TEXT, local="md5($1)", spark="md5($1)"),
    _digest("sha224", 224, NOTHING),
    _digest("sha256", 256, "unhex(sha256($1))"),
    _digest("sha384", 384, NOTHING),
    _digest("sha512", 512, NOTHING),
    fn("encode", (t.BYTEA, t.TEXT), t.TEXT, local=on("local", _encode), spark=on("spark", _encode)),
    fn("decode", (t.TEXT, t.TEXT), t.BYTEA, local=on("local", _decode), spark=on("spark", _decode)),
    fn("convert_to", (t.TEXT, t.NAME), t.BYTEA, **both(_convert_to)),
    fn("convert_from", (t.BYTEA, t.NAME), t.TEXT, **both(_convert_from)),
    fn("subscript", (t.NAME, t.INT4), t.CHAR, local=_NAME_BYTE),
    fn("get_byte", (t.BYTEA, t.INT4), t.INT4, local=on("local", _get_byte), spark=on("spark", _get_byte)),
    fn(
        "to_hex", (t.INT4,), t.TEXT,
        local="CASE WHEN $1 < 0 THEN right(lower(to_hex($1)), 8) ELSE lower(to_hex($1)) END",
        spark="CASE WHEN $1 < 0 THEN right(lower(hex($1)), 8) ELSE lower(hex($1)) END",
    ),
    fn("to_hex", (t.INT8,), t.TEXT, local="lower(to_hex($1))", spark="lower(hex($1))"),
)  # fmt: skip

ROWS: tuple[Function, ...] = (*_CONCATENATION, *_CASE, *_LENGTHS, *_PIECES, *_EDITING, *_ENCODING)

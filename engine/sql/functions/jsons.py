"""json and jsonb: PostgreSQL 15, section 9.16.

Both are stored as text: json as it was written, jsonb in its normal form. The local engine extracts from documents and
changes them with vectorised functions (`engine.executors.local.json_functions`), since neither engine's own JSON keeps
numbers and white space as they are; Spark has none of these. A json is made from values by SQL in both engines; a jsonb
is only where that text is in normal form already, else in the local engine.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, element_type
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Expr, Function, TypeRule
from engine.sql.functions import casts_input
from engine.sql.functions.arrays import refuse_nested
from engine.sql.functions.building import cast, fn, op
from engine.sql.functions.textual import TEXTUAL, as_text, typed_as_text
from engine.sql.functions.trees import both, concat, raises, sql, text
from wire.errors import FeatureNotSupported, InvalidParameterValue
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_TEXTS: Final = t.array_of(t.TEXT)
_KINDS: Final = ((t.JSON, "json", "FALSE"), (t.JSONB, "jsonb", "TRUE"))

# --- taking apart -----------------------------------------------------------------------------------------------------


def _parts() -> Iterator[Function]:
    for typ, name, binary in _KINDS:
        for symbol, argument, part in (
            ("->", t.TEXT, "sluice_json_member($1, $2)"),
            ("->", t.INT4, f"sluice_{name}_element($1, $2)"),
            ("#>", _TEXTS, "sluice_json_path($1, $2)"),
        ):
            yield op(symbol, (typ, argument), typ, local=part)
            yield op(f"{symbol}>", (typ, argument), t.TEXT, local=f"sluice_json_text({part})")
        yield fn(f"{name}_extract_path", (typ, t.TEXT), typ, local=_path(False), variadic=True)
        yield fn(f"{name}_extract_path_text", (typ, t.TEXT), t.TEXT, local=_path(True), variadic=True)
        yield fn(f"{name}_array_length", (typ,), t.INT4, local=f"sluice_json_length($1, {binary})")
        yield fn(f"{name}_typeof", (typ,), t.TEXT, local="sluice_json_typeof($1)")
        for suffix, result, textual in (("", typ, "FALSE"), ("_text", t.TEXT, "TRUE")):
            function = f"{name}_array_elements{suffix}"
            elements = f"sluice_json_elements($1, '{function}', {binary}, {textual})"
            yield fn(function, (typ,), result, local=elements, returns_set=True, column="value")
            function = f"{name}_each{suffix}"
            pairs = f"sluice_json_pairs($1, '{function}', {binary}, {textual})"
            yield fn(function, (typ,), t.RECORD, local=pairs, returns_set=True, rule=_pair(result))
        keys = f"sluice_json_keys($1, '{name}_object_keys', {binary})"
        yield fn(f"{name}_object_keys", (typ,), t.TEXT, local=keys, returns_set=True)
        stripped = f"sluice_{name}_stripped($1)"
        yield fn(f"{name}_strip_nulls", (typ,), typ, local=stripped)


def _path(textual: bool) -> Builder:
    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        steps = ", ".join(f"${n}" for n in range(2, len(args) + 1))
        part = sql("local", f"sluice_json_path($1, [{steps}])", *args)
        return sql("local", "sluice_json_text($1)", part) if textual else part

    return build


def _pair(value: t.PgType) -> TypeRule:
    typ = SqlType(t.RECORD, fields=(("key", SqlType(t.TEXT)), ("value", SqlType(value))))
    return lambda _args: typ


_CHANGING: Final = (
    op("@>", (t.JSONB, t.JSONB), t.BOOL, local="sluice_jsonb_contains($1, $2)"),
    op("<@", (t.JSONB, t.JSONB), t.BOOL, local="sluice_jsonb_contains($2, $1)"),
    op("?", (t.JSONB, t.TEXT), t.BOOL, local="sluice_jsonb_exists($1, $2)"),
    op("?|", (t.JSONB, _TEXTS), t.BOOL, local="sluice_jsonb_exists_any($1, $2)"),
    op("?&", (t.JSONB, _TEXTS), t.BOOL, local="sluice_jsonb_exists_all($1, $2)"),
    op("||", (t.JSONB, t.JSONB), t.JSONB, local="sluice_jsonb_concat($1, $2)"),
    op("-", (t.JSONB, t.TEXT), t.JSONB, local="sluice_jsonb_without_key($1, $2)"),
    op("-", (t.JSONB, _TEXTS), t.JSONB, local="sluice_jsonb_without_keys($1, $2)"),
    op("-", (t.JSONB, t.INT4), t.JSONB, local="sluice_jsonb_without_index($1, $2)"),
    op("#-", (t.JSONB, _TEXTS), t.JSONB, local="sluice_jsonb_without_path($1, $2)"),
    fn("jsonb_pretty", (t.JSONB,), t.TEXT, local="sluice_jsonb_pretty($1)"),
)


def _optional_flag(name: str, default: str) -> Builder:
    """Return a template of jsonb_set or jsonb_insert, whose last argument is optional."""

    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        given = "$4" if len(args) == 4 else default
        return sql("local", f"{name}($1, $2, $3, {given})", *args)

    return build


_PLACING: Final = tuple(
    fn(name, (t.JSONB, _TEXTS, t.JSONB, t.BOOL), t.JSONB, local=_optional_flag(f"sluice_{name}", default), optional=1)
    for name, default in (("jsonb_set", "TRUE"), ("jsonb_insert", "FALSE"))
)


def _set_lax(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build jsonb_set_lax: not strict, with the defaults true and use_json_null."""
    given = (*(f"${n}" for n in range(1, len(args) + 1)), *("TRUE", "'use_json_null'")[len(args) - 3 :])
    return sql("local", f"sluice_jsonb_set_lax({', '.join(given)})", *args)


def _object_of(function: str, binary: bool) -> Builder:
    """Return a template of json_object of texts: one array of alternating keys and values, or an array of each."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        for arg in call.args:
            refuse_nested(call.function.name, arg)
        made = sql("local", f"sluice_{function}({', '.join(f'${n}' for n in range(1, len(args) + 1))})", *args)
        return sql("local", "sluice_jsonb($1)", made) if binary else made

    return build


_OBJECTS: Final = (
    *(
        fn(f"{name}_object", (_TEXTS,) * count, typ, local=_object_of(function, typ is t.JSONB))
        for typ, name, _ in _KINDS
        for count, function in ((1, "json_object"), (2, "json_object_of"))
    ),
    fn(
        "=set_member",
        (t.JSONB, _TEXTS, t.JSONB, t.BOOL),
        t.JSONB,
        local="sluice_jsonb_assigned($1, $2, $3, $4)",
        strict=False,
    ),
    fn("jsonb_set_lax", (t.JSONB, _TEXTS, t.JSONB, t.BOOL, t.TEXT), t.JSONB, local=_set_lax, optional=2, strict=False),
)

# --- making -----------------------------------------------------------------------------------------------------------

_CONTROL: Final[Mapping[str, str]] = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_RARE: Final[Mapping[str, str]] = {chr(code): f"\\u{code:04x}" for code in range(1, 0x20) if chr(code) not in _CONTROL}
_WRITTEN: Final = {**_CONTROL, **_RARE}


def quote_json(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return a text as a JSON string."""
    if isinstance(value, exp.Literal) and value.is_string:
        return text('"' + "".join(_WRITTEN.get(char, char) for char in str(value.this)) + '"')
    escaped = _replace_characters(engine, value, _CONTROL)
    rare = _replace_characters(engine, escaped, _RARE)
    matches = "regexp_matches($1, $2)" if engine == "local" else "regexp_like($1, $2)"
    chosen = sql(engine, f"CASE WHEN {matches} THEN $3 ELSE $4 END", value, text(r"[\x{1}-\x{1f}]"), rare, escaped)
    return concat(engine, [text('"'), chosen, text('"')])


def _replace_characters(engine: EngineName, value: exp.Expression, written: Mapping[str, str]) -> exp.Expression:
    """Return a text with some characters replaced. It is one snippet, because nesting a call per character would copy
    trees again and again.
    """
    nested = functools.reduce(
        lambda inner, n: f"replace({inner}, ${2 * n}, ${2 * n + 1})", range(1, len(written) + 1), "$1"
    )
    return sql(engine, nested, value, *(text(word) for pair in written.items() for word in pair))


_PLAIN: Final = (t.INT2, t.INT4, t.INT8, t.NUMERIC)
_FLOATS: Final = (t.FLOAT4, t.FLOAT8)


def as_json(engine: EngineName, tree: exp.Expression, typ: SqlType, value: Expr) -> exp.Expression:
    """Return a value as the text that to_json returns; null is `null`."""
    return sql(engine, "coalesce($1, 'null')", as_json_or_null(engine, tree, typ, value))


def as_json_or_null(engine: EngineName, tree: exp.Expression, typ: SqlType, value: Expr) -> exp.Expression:
    """Return a value as `as_json` does, but null for null."""
    if typ.pg in (t.JSON, t.JSONB):
        return tree
    if typ.pg is t.BOOL:
        return sql(engine, "CASE WHEN $1 THEN 'true' WHEN NOT $1 THEN 'false' END", tree)
    if typ.pg.is_row:
        return _record(engine, tree, typ, value)
    if typ.pg.is_array:
        return _array(engine, tree, typ, value)
    shown = tree if typ.pg in TEXTUAL else typed_as_text(engine, tree, typ, value)
    if typ.pg in _PLAIN:
        return shown
    if typ.pg in _FLOATS:
        infinite = "isfinite($1)" if engine == "local" else "NOT (isnan($1) OR abs($1) = CAST('Infinity' AS DOUBLE))"
        return sql(
            engine,
            f"CASE WHEN {infinite} THEN $2 WHEN $1 IS NOT NULL THEN $3 END",
            tree,
            shown,
            quote_json(engine, shown),
        )
    if typ.pg in (t.TIMESTAMP, t.TIMESTAMPTZ):
        return concat(engine, [text('"'), _iso(engine, shown, typ.pg is t.TIMESTAMPTZ), text('"')])
    return quote_json(engine, shown)


def _iso(engine: EngineName, shown: exp.Expression, zoned: bool) -> exp.Expression:
    """Return a timestamp's text with T between date and time, and with minutes in its offset."""
    joined = sql(
        engine, "regexp_replace($1, $2, $3)", shown, text("^([^ ]+) "), text("\\1T" if engine == "local" else "$1T")
    )
    if not zoned:
        return joined
    minutes = text("\\1:00\\2" if engine == "local" else "$1:00$2")
    return sql(engine, "regexp_replace($1, $2, $3)", joined, text("([+-][0-9]{2})( BC)?$"), minutes)


def key_text(engine: EngineName, shown: exp.Expression, typ: SqlType) -> exp.Expression:
    """Return a value's text as that of a JSON key."""
    return _iso(engine, shown, typ.pg is t.TIMESTAMPTZ) if typ.pg in (t.TIMESTAMP, t.TIMESTAMPTZ) else shown


def _array(engine: EngineName, tree: exp.Expression, typ: SqlType, value: Expr) -> exp.Expression:
    refuse_nested("to_json", value)
    element = element_type(typ)
    one = as_json(engine, exp.column("item__"), element, value)
    if engine == "local":
        joined = sql("local", "array_to_string(list_transform($1, lambda item__: $2), ',')", tree, one)
    else:
        joined = sql("spark", "array_join(transform($1, item__ -> $2), ',')", tree, one)
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", tree, concat(engine, [text("["), joined, text("]")]))


def _record(
    engine: EngineName, tree: exp.Expression, typ: SqlType, value: Expr, *, pretty: bool = False
) -> exp.Expression:
    if not typ.fields:
        raise FeatureNotSupported("not supported: a record of unknown fields as json")
    pieces: list[exp.Expression] = []
    between = ",\n " if pretty else ","
    for place, (name, field) in enumerate(typ.fields):
        item = as_json(engine, sql(engine, f"($1).{typ.pg.field(place)}", tree), field, value)
        pieces += [text(f"{between if place else '{'}{_quoted_name(name)}:"), item]
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", tree, concat(engine, [*pieces, text("}")]))


def _row_in_lines(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build row_to_json with its argument whether each field has a line of its own."""
    value = call.args[0]
    each = (_record(engine, args[0], value.type, value, pretty=pretty) for pretty in (True, False))
    return sql(engine, "CASE WHEN $1 THEN $2 WHEN NOT $1 THEN $3 END", args[1], *each)


def _quoted_name(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _to_json(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    return as_json_or_null(engine, args[0], call.args[0].type, call.args[0])


def _binary(engine: EngineName, tree: exp.Expression, *types: SqlType, built: bool = False) -> exp.Expression:
    """Convert a json text that was made here to jsonb."""
    if engine == "local":
        return sql("local", "sluice_jsonb($1)", tree)
    plain = (*_PLAIN, *TEXTUAL, t.BOOL, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL)
    if built or any(typ.pg not in plain or typ.pg is t.JSON for typ in types):
        raise FeatureNotSupported("not supported: making this jsonb")
    return tree


def normal(engine: EngineName, tree: exp.Expression) -> exp.Expression:
    """Convert a json text that was composed here to jsonb's normal form."""
    return _binary(engine, tree, built=True)


def _to_jsonb(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    return _binary(engine, _to_json(engine, args, call), call.args[0].type)


def check_key(typ: SqlType) -> None:
    """Raises InvalidParameterValue for a type whose values cannot be keys."""
    if typ.pg.is_array or typ.pg.is_row or typ.pg in (t.JSON, t.JSONB):
        raise InvalidParameterValue("key value must be scalar, not array, composite, or json")


def _build_object(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    name = call.function.name
    if len(args) % 2:
        raise InvalidParameterValue(
            "argument list must have even number of elements",
            hint=f"The arguments of {name}() must consist of alternating keys and values.",
        )
    pieces: list[exp.Expression] = []
    for place in range(0, len(args), 2):
        key, value = call.args[place], call.args[place + 1]
        check_key(key.type)
        shown = key_text(engine, as_text(engine, args[place], key, "key"), key.type)
        words = f"argument {place + 1} cannot be null"
        wrong = raises(
            engine, "22023", words if name.startswith("json_") else f"argument {place + 1}: key must not be null"
        )
        named = sql(engine, "CASE WHEN $1 IS NULL THEN $2 ELSE $3 END", shown, wrong, quote_json(engine, shown))
        item = as_json(engine, args[place + 1], value.type, value)
        pieces += [text(", " if place else "{"), named, text(" : "), item]
    built = concat(engine, [*pieces, text("}")]) if args else text("{}")
    return _binary(engine, built, built=True) if name.startswith("jsonb") else built


def _build_array(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    pieces: list[exp.Expression] = []
    for place, (tree, value) in enumerate(zip(args, call.args, strict=True)):
        pieces += [text(", " if place else "["), as_json(engine, tree, value.type, value)]
    built = concat(engine, [*pieces, text("]")]) if args else text("[]")
    return _binary(engine, built, built=True) if call.function.name.startswith("jsonb") else built


def _constructors() -> Iterator[Function]:
    yield fn("to_json", (t.ANYELEMENT,), t.JSON, **both(_to_json), volatility="stable")
    yield fn("to_jsonb", (t.ANYELEMENT,), t.JSONB, **both(_to_jsonb), volatility="stable")
    yield fn("row_to_json", (t.RECORD,), t.JSON, **both(_to_json), volatility="stable")
    yield fn("row_to_json", (t.RECORD, t.BOOL), t.JSON, **both(_row_in_lines), volatility="stable")
    yield fn("array_to_json", (t.ANYARRAY,), t.JSON, **both(_to_json), volatility="stable")
    for typ, name, _ in _KINDS:
        for function, build in ((f"{name}_build_object", _build_object), (f"{name}_build_array", _build_array)):
            yield fn(function, (), typ, **both(build), strict=False, volatility="stable")
            yield fn(function, (t.ANY,), typ, **both(build), variadic=True, strict=False, volatility="stable")


_COMPARISONS: Final = tuple(
    op(symbol, (t.JSONB, t.JSONB), t.BOOL, local=f"sluice_jsonb_key($1) {symbol} sluice_jsonb_key($2)")
    for symbol in ("=", "<>", "<", "<=", ">", ">=")
)

# --- casts of what is in a document ---------------------------------------------------------------------------------

_NUMBERS: Final = {
    t.INT2: "CAST(round(CAST({} AS DECIMAL(38, 12)), 0) AS SMALLINT)",
    t.INT4: "CAST(round(CAST({} AS DECIMAL(38, 12)), 0) AS INTEGER)",
    t.INT8: "CAST(round(CAST({} AS DECIMAL(38, 12)), 0) AS BIGINT)",
}


def _scalar(kind: str, typ: t.PgType) -> str:
    return f"sluice_jsonb_scalar($1, '{kind}', '{typ.sql_name}')"


def _read_as(typ: t.PgType) -> Function:
    """Return the cast of a jsonb number, which is read like its text."""
    from_text = next(row for row in casts_input.ROWS if row.args == (t.TEXT,) and row.returns is typ)

    def tree(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        assert callable(from_text.local)
        return from_text.local([sql("local", _scalar("number", typ), *args)], call)

    return cast(t.JSONB, typ, local=tree, rule=from_text.rule)


_SCALARS: Final = (
    cast(t.JSONB, t.BOOL, local=f"{_scalar('boolean', t.BOOL)} = 'true'"),
    *(cast(t.JSONB, typ, local=text.format(_scalar("number", typ))) for typ, text in _NUMBERS.items()),
    *(_read_as(typ) for typ in (t.FLOAT4, t.FLOAT8, t.NUMERIC)),
)

_READING: Final = (
    cast(t.TEXT, t.JSON, local="sluice_json($1)"),
    cast(t.TEXT, t.JSONB, local="sluice_jsonb($1)"),
    cast(t.JSON, t.JSONB, local="sluice_jsonb($1)", context="assignment"),
)

ROWS: tuple[Function, ...] = (
    *_parts(), *_CHANGING, *_PLACING, *_OBJECTS, *_constructors(), *_COMPARISONS, *_SCALARS, *_READING,
)  # fmt: skip

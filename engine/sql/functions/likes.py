"""LIKE and ILIKE: PostgreSQL 15, section 9.7.1, as the operators `~~`, `~~*`, `!~~` and `!~~*`.

A backslash escapes in PostgreSQL's patterns. The binder rewrites patterns with another ESCAPE character, or calls
`like_escape` where the pattern is computed. A constant pattern is rewritten for the engine: without needless escapes,
which Spark refuses, and in DuckDB without an ESCAPE clause where the pattern has no escape, so that DuckDB recognises
prefixes and substrings.

ILIKE folds each character by its simple lower case; Java's lower case of a sigma would depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn, op
from engine.sql.functions.byte_strings import byte_text
from engine.sql.functions.strings import lower_text
from engine.sql.functions.trees import EngineBuilder, both, constant_text, on, raises, sql, text
from wire.errors import SqlError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

ESCAPE_AT_END = "LIKE pattern must not end with escape character"
_INVALID_ESCAPE = "22025"


def normalize_pattern(pattern: str) -> str:
    """Return a pattern with necessary escapes only. Raises 22025 for one that ends in an escape."""
    out: list[str] = []
    chars = iter(pattern)
    for char in chars:
        if char != "\\":
            out.append(char)
            continue
        escaped = next(chars, None)
        if escaped is None:
            raise SqlError(ESCAPE_AT_END, sqlstate=_INVALID_ESCAPE)
        out.append("\\" + escaped if escaped in "%_\\" else escaped)
    return "".join(out)


def _match(engine: EngineName, value: exp.Expression, pattern: exp.Expression) -> exp.Expression:
    known = constant_text(pattern)
    if known is not None:
        plain = normalize_pattern(known)
        like = "$1 LIKE $2" if engine == "spark" or "\\" not in plain else r"$1 LIKE $2 ESCAPE '\'"
        return sql(engine, like, value, text(plain))
    if engine == "local":
        return sql("local", "like_escape($1, $2, $3)", value, _check_escape("local", pattern), text("\\"))
    needless = sql("spark", "regexp_replace($1, $2, $3)", pattern, text(r"(\\[\\%_])|\\([^\\%_])"), text("$1$2"))
    return sql("spark", "$1 LIKE $2", value, _check_escape("spark", needless))


def _check_escape(engine: EngineName, pattern: exp.Expression) -> exp.Expression:
    """Return a computed pattern, or an error if it ends in an escape: an odd number of backslashes."""
    matches = "regexp_matches($1, $2)" if engine == "local" else "regexp_like($1, $2)"
    odd = text(r"(^|[^\\])(\\\\)*\\$")
    wrong = raises(engine, _INVALID_ESCAPE, ESCAPE_AT_END)
    return sql(engine, f"CASE WHEN {matches} THEN $3 ELSE $1 END", pattern, odd, wrong)


def _bytes_match(negated: bool) -> EngineBuilder:
    """Return the builder of LIKE for bytea, whose characters are bytes."""

    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        found = _match(engine, *(byte_text(engine, arg) for arg in args))
        return sql(engine, "NOT ($1)", found) if negated else found

    return build


def _lower(engine: EngineName, tree: exp.Expression) -> exp.Expression:
    known = constant_text(tree)
    if known is not None:
        return text("".join(char.lower() if len(char.lower()) == 1 else char for char in known))
    return lower_text(engine, tree)


def _builder(fold: bool, negated: bool) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        value, pattern = (_lower(engine, arg) for arg in args) if fold else args
        found = _match(engine, value, pattern)
        return sql(engine, "NOT ($1)", found) if negated else found

    return build


def _like_escape(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build a computed pattern with another escape character, rewritten to backslashes."""
    escape = constant_text(args[1])
    wrong = raises(engine, _INVALID_ESCAPE, "invalid escape string")
    if escape == "\\":
        return args[0]
    doubled = sql(engine, "replace($1, $2, $3)", args[0], text("\\"), text("\\\\"))
    if escape == "":
        return doubled
    if escape is not None and len(escape) > 1:
        return wrong
    # The escape character becomes a backslash; one that escapes itself stands for itself.
    return _rewrite(engine, args[0], args[1], wrong)


def _rewrite(
    engine: EngineName, pattern: exp.Expression, escape: exp.Expression, wrong: exp.Expression
) -> exp.Expression:
    backslash, twice = text("\\"), text("\\\\")
    if engine == "local":
        chars = sql("local", "regexp_extract_all($1, regexp_escape($2) || $3)", pattern, escape, text("(?s:.)|(?s:.)"))
        one = "CASE WHEN starts_with(piece__, $2) THEN $3 || substring(piece__, 2) WHEN piece__ = $3 THEN $4 ELSE piece__ END"
        joined = sql(
            "local", f"array_to_string(list_transform($1, lambda piece__: {one}), '')", chars, escape, backslash, twice
        )
        length = "length($1)"
    else:
        chars = sql(
            "spark", "regexp_extract_all($1, concat('\\\\Q', $2, $3), 0)", pattern, escape, text("\\E(?s:.)|(?s:.)")
        )
        one = (
            "CASE WHEN startswith(piece__, $2) THEN concat($3, substring(piece__, 2)) "
            "WHEN piece__ = $3 THEN $4 ELSE piece__ END"
        )
        joined = sql("spark", f"array_join(transform($1, piece__ -> {one}), '')", chars, escape, backslash, twice)
        length = "char_length($1)"
    plain = sql(engine, "replace($1, $2, $3)", pattern, backslash, twice)
    return sql(
        engine,
        f"CASE WHEN {length} > 1 THEN $4 WHEN $1 = '' THEN $5 WHEN $1 = $2 THEN $6 ELSE $3 END",
        escape, backslash, joined, wrong, plain, pattern,
    )  # fmt: skip


ROWS: tuple[Function, ...] = (
    *(
        op(
            symbol,
            (value, t.TEXT),
            t.BOOL,
            local=on("local", _builder(fold, negated)),
            spark=on("spark", _builder(fold, negated)),
        )
        for symbol, fold, negated in (
            ("~~", False, False),
            ("!~~", False, True),
            ("~~*", True, False),
            ("!~~*", True, True),
        )
        # character(n) keeps its trailing blanks here; a cast to text would drop them.
        for value in (t.TEXT, t.BPCHAR, t.NAME)
    ),
    *(
        fn(name, (t.TEXT, t.TEXT), t.BOOL, local=on("local", _builder(False, negated)), spark=on("spark", _builder(False, negated)))
        for name, negated in (("like", False), ("notlike", True))
    ),
    *(
        make(name, (t.BYTEA, t.BYTEA), t.BOOL, **both(_bytes_match(negated)))
        for make, name, negated in ((op, "~~", False), (op, "!~~", True), (fn, "like", False), (fn, "notlike", True))
    ),
    fn("like_escape", (t.TEXT, t.TEXT), t.TEXT, local=on("local", _like_escape), spark=on("spark", _like_escape)),
)  # fmt: skip

"""Regular expressions: PostgreSQL 15, section 9.7.3, as operators (`~` and its kin) and the regexp_ functions.

A constant pattern is read by PostgreSQL's grammar and rewritten for RE2 (DuckDB) or Java (Spark) by `engine.sql.regex`.
Testing whether a text matches is then exact. Where the match itself is needed (replace, extract, split), the pattern
must be one for which the engine's preference finds PostgreSQL's match. For all other patterns, and for patterns that
are not constant, the local engine has its own matching (`engine.sql.functions.exact_regexp`); Spark has none.

Neither engine always distinguishes a group that took no part from one that matched an empty string, so a group for
which both are possible cannot be extracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.interrupts import check_for_interrupts
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn, op
from engine.sql.functions.exact_regexp import exact_call
from engine.sql.functions.replacement import Replacement, replacement_parts
from engine.sql.functions.result_sizes import LONG_BYTES, reserve
from engine.sql.functions.trees import (
    EngineBuilder,
    both,
    bound,
    concat,
    constant_int,
    constant_text,
    integer,
    is_null,
    raises,
    required_text,
    sql,
    text,
)
from engine.sql.regex.agreement import lengths, longest_first, mandatory, same_groups, same_span
from engine.sql.regex.render import Flavour, render, render_test
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidParameterValue
from wire.regex.grammar import Assertion, Group, Look, Node, Options, Pattern, read, read_options
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.contracts.query_id import EngineName
    from engine.plan_ir.expr import AggregateCall, Call

_FLAVOUR: Final[dict[str, Flavour]] = {"local": "re2", "spark": "java"}


@lru_cache(maxsize=512)
def _read(pattern: str, options: Options) -> Pattern:
    return read(pattern, options, check_for_interrupts)


@lru_cache(maxsize=512)
def _agreeing_form(pattern: Pattern, groups: bool) -> Pattern | None:
    """Return the pattern in a form whose first match is PostgreSQL's match, with its groups; None if none is known."""
    for tree in (pattern.tree, longest_first(pattern.tree)):
        if same_span(tree) and (not groups or same_groups(tree)):
            return replace(pattern, tree=tree)
    return None


@dataclass(frozen=True, slots=True)
class ConstantPattern:
    """A call's constant pattern, for one engine."""

    engine: EngineName
    function: str
    pattern: Pattern

    @property
    def options(self) -> Options:
        return self.pattern.options

    @property
    def nullable(self) -> bool:
        """Whether it can match the empty string."""
        return lengths(self.pattern.tree)[0] == 0

    def test(self) -> exp.Expression:
        """Return the engine's pattern for testing whether there is a match."""
        return text(render_test(self.pattern, _FLAVOUR[self.engine]))

    def match(self, *, groups: bool = False) -> exp.Expression:
        """Return the engine's pattern for finding matches (and their groups). Raises FeatureNotSupported if the engine
        would find another match.
        """
        agreeing = _agreeing_form(self.pattern, groups and self.pattern.groups > 0)
        if agreeing is None:
            raise FeatureNotSupported(
                f"not supported: {self.function} with a regular expression whose longest match is not the first one found"
            )
        return text(render(agreeing, _FLAVOUR[self.engine]))

    def anywhere(self) -> None:
        """Raises FeatureNotSupported if a match depends on the text before it, because the search starts at a later
        position.
        """
        for node in self.pattern.tree.walk():
            if isinstance(node, Look) or (isinstance(node, Assertion) and node.kind not in ("end", "line_end")):
                raise FeatureNotSupported(
                    f"not supported: {self.function} from a place on, with a context before the match"
                )


def _constant_pattern(
    engine: EngineName, call: Call | AggregateCall, pattern: exp.Expression, letters: exp.Expression | None
) -> ConstantPattern:
    name = call.function.name
    options = read_options(required_text(letters, "regular expression options") if letters is not None else "")
    return ConstantPattern(engine, name, _read(required_text(pattern, "a regular expression"), options))


def _without_every(asked: ConstantPattern, hint: str | None = None) -> ConstantPattern:
    if asked.options.every:
        raise InvalidParameterValue(f'{asked.function}() does not support the "global" option', hint=hint)
    return asked


def _test_match(engine: EngineName, value: exp.Expression, pattern: exp.Expression) -> exp.Expression:
    return sql(engine, "regexp_matches($1, $2)" if engine == "local" else "regexp_like($1, $2)", value, pattern)


def _null_in(args: Sequence[exp.Expression]) -> bool:
    """Return whether an argument is the constant null: a strict function's result is then null, whatever the pattern."""
    return any(is_null(arg) for arg in args)


def _strict(build: EngineBuilder, null_type: dict[str, str]) -> EngineBuilder:
    """Wrap `build`: return a typed null for an argument that is the constant null, and the exact call if the local
    engine's own functions are not sufficient.
    """

    def check_nulls(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        if _null_in(args):
            return sql(engine, f"CAST(NULL AS {null_type[engine]})")
        try:
            return build(engine, args, call)
        except FeatureNotSupported:
            if engine != "local":
                raise
            return exact_call(call.function.name, args)

    return check_nulls


_BOOLEAN: Final = {"local": "BOOLEAN", "spark": "BOOLEAN"}
_INTEGER: Final = {"local": "INTEGER", "spark": "INT"}
_STRING: Final = {"local": "VARCHAR", "spark": "STRING"}
_STRINGS: Final = {"local": "VARCHAR[]", "spark": "ARRAY<STRING>"}
_ROWS: Final = {"local": "VARCHAR[][]", "spark": "ARRAY<ARRAY<STRING>>"}

# --- matching ---------------------------------------------------------------------------------------------------------


def _matches(ignore_case: bool, negated: bool) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        options = Options(ignore_case=ignore_case)
        asked = ConstantPattern(
            engine, call.function.name, _read(required_text(args[1], "a regular expression"), options)
        )
        found = _test_match(engine, args[0], asked.test())
        return sql(engine, "NOT ($1)", found) if negated else found

    return build


def _regexp_like(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    asked = _without_every(_constant_pattern(engine, call, args[1], args[2] if len(args) == 3 else None))
    return _test_match(engine, args[0], asked.test())


# --- extracting -------------------------------------------------------------------------------------------------------


def _group_node(tree: Node, number: int) -> Group:
    return next(node for node in tree.walk() if isinstance(node, Group) and node.number == number)


def _distinguishable(asked: ConstantPattern, number: int, value: exp.Expression) -> exp.Expression:
    """Return a group's text, null if it took no part. The engines return an empty text for both."""
    if number == 0 or number in mandatory(asked.pattern.tree):
        return value
    if lengths(_group_node(asked.pattern.tree, number))[0] == 0:
        raise FeatureNotSupported(
            f"not supported: {asked.function} with a group that may match nothing or take no part"
        )
    return sql(asked.engine, "nullif($1, '')", value)


def _extract_group(
    asked: ConstantPattern, value: exp.Expression, pattern: exp.Expression, number: int
) -> exp.Expression:
    return _distinguishable(asked, number, sql(asked.engine, f"regexp_extract($1, $2, {number})", value, pattern))


def _numbers(asked: ConstantPattern) -> list[int]:
    """Return the numbers of the groups that a match returns: all, or 0, the whole match, if there are none."""
    return list(range(1, asked.pattern.groups + 1)) or [0]


def _array(engine: EngineName, items: Sequence[exp.Expression]) -> exp.Expression:
    listed = ", ".join(f"${n}" for n in range(1, len(items) + 1))
    return sql(engine, f"[{listed}]" if engine == "local" else f"array({listed})", *items)


def _first_match(asked: ConstantPattern, value: exp.Expression) -> exp.Expression:
    """Build the first match as an array of its groups; null without a match."""
    pattern = asked.match(groups=True)
    items = [_extract_group(asked, value, pattern, number) for number in _numbers(asked)]
    return sql(
        asked.engine, "CASE WHEN $1 THEN $2 END", _test_match(asked.engine, value, pattern), _array(asked.engine, items)
    )


def _all_matches(asked: ConstantPattern, value: exp.Expression) -> exp.Expression:
    """Build an array of all matches, each an array of its groups."""
    engine, pattern = asked.engine, asked.match(groups=True)
    take = "regexp_extract_all($1, $2, {})"
    numbers = _numbers(asked)
    if len(numbers) == 1:
        one = _distinguishable(asked, numbers[0], exp.column("m__"))
        lists = sql(engine, take.format(numbers[0]), value, pattern)
        each = "list_transform($1, lambda m__: [$2])" if engine == "local" else "transform($1, m__ -> array($2))"
        return sql(engine, each, lists, one)
    every = [sql(engine, take.format(number), value, pattern) for number in numbers]
    places = [f"list_extract(${n}, i__)" if engine == "local" else f"get(${n}, i__)" for n in range(1, len(every) + 1)]
    items = [
        _distinguishable(asked, number, sql(engine, place, *every))
        for number, place in zip(numbers, places, strict=True)
    ]
    over = "list_transform($1, lambda m__, i__: $2)" if engine == "local" else "transform($1, (m__, i__) -> $2)"
    return sql(engine, over, every[0], _array(engine, items))


def _regexp_match(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    asked = _constant_pattern(engine, call, args[1], args[2] if len(args) == 3 else None)
    return _first_match(_without_every(asked, "Use the regexp_matches function instead."), args[0])


def _regexp_matches(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    asked = _constant_pattern(engine, call, args[1], args[2] if len(args) == 3 else None)
    if asked.options.every:
        return _all_matches(asked, args[0])
    first = _first_match(asked, args[0])
    one = "[$1]" if engine == "local" else "array($1)"
    made = sql(engine, one, first)
    return sql(engine, "CASE WHEN $1 THEN $2 END", _test_match(engine, args[0], asked.match()), made)


def _substring(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build substring(text from pattern): the first group, or the whole match if there is none."""
    asked = _constant_pattern(engine, call, args[1], None)
    number = 1 if asked.pattern.groups else 0
    pattern = asked.match(groups=True)
    return sql(
        engine,
        "CASE WHEN $1 THEN $2 END",
        _test_match(engine, args[0], pattern),
        _extract_group(asked, args[0], pattern, number),
    )


#: The builder of substring(text from pattern), for any pattern.
substring_of_match: Final = _strict(_substring, _STRING)


# --- counting and finding ---------------------------------------------------------------------------------------------


def _start(asked: ConstantPattern, value: exp.Expression, start: exp.Expression | None) -> exp.Expression:
    """Return the text from `start` on. Raises 22023 for a start below 1."""
    if start is None or constant_int(start) == 1:
        return value
    known = constant_int(start)
    if known is None:
        raise FeatureNotSupported(f"not supported: {asked.function} with a start that is not a constant")
    if known < 1:
        raise InvalidParameterValue(f'invalid value for parameter "start": {known}')
    asked.anywhere()
    return sql(asked.engine, "substring($1, $2)", value, start)


def _positive(name: str, tree: exp.Expression | None, least: int = 1, default: int = 1) -> int:
    """Return a constant count. Raises 22023 for one below `least`."""
    if tree is None:
        return default
    value = constant_int(tree)
    if value is None:
        raise FeatureNotSupported(f'not supported: the regular expression parameter "{name}" that is not a constant')
    if value < least:
        raise InvalidParameterValue(f'invalid value for parameter "{name}": {value}')
    return value


def _size(engine: EngineName, array: exp.Expression) -> exp.Expression:
    counted = "CAST(len($1) AS INTEGER)" if engine == "local" else "CASE WHEN $1 IS NOT NULL THEN size($1) END"
    return sql(engine, counted, array)


def _past_end(
    asked: ConstantPattern, value: exp.Expression, start: exp.Expression | None, result: exp.Expression, otherwise: str
) -> exp.Expression:
    """Return `result`, or `otherwise` if the search would start after the position behind the last character, where
    nothing matches.
    """
    if start is None or constant_int(start) == 1:
        return result
    length = "length" if asked.engine == "local" else "char_length"
    return sql(asked.engine, f"CASE WHEN $2 > {length}($1) + 1 THEN {otherwise} ELSE $3 END", value, start, result)


def _regexp_count(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    asked = _without_every(_constant_pattern(engine, call, args[1], args[3] if len(args) == 4 else None))
    start = args[2] if len(args) > 2 else None
    every = sql(engine, "regexp_extract_all($1, $2, 0)", _start(asked, args[0], start), asked.match())
    return _past_end(asked, args[0], start, _size(engine, every), "0")


def _regexp_substr(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    asked = _without_every(_constant_pattern(engine, call, args[1], args[4] if len(args) > 4 else None))
    start = args[2] if len(args) > 2 else None
    nth = _positive("n", args[3] if len(args) > 3 else None)
    number = _positive("subexpr", args[5] if len(args) > 5 else None, 0, 0)
    searched = _start(asked, args[0], start)
    if number > asked.pattern.groups:
        return sql(engine, f"CAST(NULL AS {_STRING[engine]})")
    every = sql(engine, f"regexp_extract_all($1, $2, {number})", searched, asked.match(groups=number > 0))
    place = f"list_extract($1, {nth})" if engine == "local" else f"get($1, {nth - 1})"
    taken = _distinguishable(asked, number, sql(engine, place, every))
    return _past_end(asked, args[0], start, taken, "NULL")


def _regexp_instr(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build the position of the n-th match (or after it), from the lengths of the text before it and of the matches
    before it.
    """
    asked = _without_every(_constant_pattern(engine, call, args[1], args[5] if len(args) > 5 else None))
    start = args[2] if len(args) > 2 else None
    nth = _positive("n", args[3] if len(args) > 3 else None)
    after = _positive("endoption", args[4] if len(args) > 4 else None, 0, 0)
    if after > 1:
        raise InvalidParameterValue(f'invalid value for parameter "endoption": {after}')
    if _positive("subexpr", args[6] if len(args) > 6 else None, 0, 0):
        raise FeatureNotSupported("not supported: regexp_instr of a subexpression")
    if asked.nullable:
        raise FeatureNotSupported("not supported: regexp_instr with a regular expression that may match nothing")
    searched, pattern = _start(asked, args[0], start), asked.match()
    length = "length" if engine == "local" else "char_length"
    before = _pieces(asked, searched, pattern)
    found = sql(engine, "regexp_extract_all($1, $2, 0)", searched, pattern)
    offset = sql(engine, "$1 - 1", start) if start is not None else integer(0)
    if engine == "local":
        total = f"list_sum(list_transform(list_slice($1, 1, {{}}), lambda p__: {length}(p__)))"
        joined = f"coalesce({total.format(nth)}, 0) + coalesce({total.replace('$1', '$2').format(nth - 1 + after)}, 0)"
        count = "len($2)"
    else:
        total = f"aggregate(slice($1, 1, {{}}), 0, (a__, p__) -> a__ + {length}(p__))"
        joined = f"{total.format(nth)} + {total.replace('$1', '$2').format(nth - 1 + after)}"
        count = "size($2)"
    place = f"CASE WHEN {count} IS NULL OR $3 IS NULL THEN NULL WHEN {count} < {nth} THEN 0 ELSE CAST({joined} + 1 + $3 AS INT) END"
    return sql(engine, place, before, found, sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", args[0], offset))


# --- splitting --------------------------------------------------------------------------------------------------------


def _pieces(asked: ConstantPattern, value: exp.Expression, pattern: exp.Expression) -> exp.Expression:
    """Build the texts between matches, for a pattern that does not match the empty string."""
    return sql(
        asked.engine, "string_split_regex($1, $2)" if asked.engine == "local" else "split($1, $2)", value, pattern
    )


def _regexp_split(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    asked = _constant_pattern(engine, call, args[1], args[2] if len(args) == 3 else None)
    if asked.options.every:
        name = call.function.name
        raise InvalidParameterValue(f'{name}() does not support the "global" option')
    if constant_text(args[1]) == "":
        # Split between all characters; an empty text is one empty piece.
        chars = "string_split($1, '')" if engine == "local" else "split($1, '')"
        empty = "['']" if engine == "local" else "array('')"
        return sql(engine, f"CASE WHEN $1 = '' THEN {empty} ELSE {chars} END", args[0])
    if asked.nullable:
        raise FeatureNotSupported(f"not supported: {asked.function} with a regular expression that may match nothing")
    return _pieces(asked, args[0], asked.match())


# --- replacing --------------------------------------------------------------------------------------------------------


def _re2_replacement(parts: Replacement, groups: int) -> str:
    """Return a replacement in RE2's notation; a group that the pattern does not have is empty."""
    said = (
        part.replace("\\", "\\\\") if isinstance(part, str) else f"\\{part}" if part <= groups else "" for part in parts
    )
    return "".join(said)


def _replacement(asked: ConstantPattern, tree: exp.Expression) -> exp.Expression:
    engine = asked.engine
    known = constant_text(tree)
    if known is not None:
        parts = replacement_parts(known)
        write = _java_replacement if engine == "spark" else _re2_replacement
        return text(write(parts, asked.pattern.groups))
    refusal = raises(
        engine, "0A000", f"not supported: {asked.function} with a computed replacement that has a backslash"
    )
    plain = tree if engine == "local" else sql(engine, "replace($1, $2, $3)", tree, text("$"), text("\\$"))
    return sql(engine, "CASE WHEN contains($1, $2) THEN $3 ELSE $4 END", tree, text("\\"), refusal, plain)


def _java_replacement(parts: Replacement, groups: int) -> str:
    """Return a replacement in Java's notation. Java reads as many digits after `$` as make a group's number, so a
    digit that follows is escaped.
    """
    said = ""
    for part in parts:
        if isinstance(part, int):
            said += f"${part}" if part <= groups else ""
            continue
        escaped = part.replace("\\", "\\\\").replace("$", "\\$")
        after_group = said[-1:].isdigit() and said[-2:-1] == "$" and said[-3:-2] != "\\"
        said += f"\\{escaped}" if after_group and escaped[0].isdigit() else escaped
    return said


def _replace_matches(
    asked: ConstantPattern, value: exp.Expression, replacement: exp.Expression, every: bool
) -> exp.Expression:
    engine = asked.engine
    known = constant_text(replacement)
    uses_groups = known is None or any(isinstance(part, int) and part for part in replacement_parts(known))
    pattern = asked.match(groups=uses_groups)
    if engine == "local":
        if every and asked.nullable:
            raise FeatureNotSupported(f"not supported: {asked.function} of every match that may be empty")
        options = ", 'g'" if every else ""
        put = _replacement(asked, replacement)
        if known is None or len(known) > 1:
            put = reserve(put, _replaced_bytes(value, pattern, put))
        return sql("local", f"regexp_replace($1, $2, $3{options})", value, pattern, put)
    if every:
        return sql("spark", "regexp_replace($1, $2, $3)", value, pattern, _replacement(asked, replacement))
    return _first_replaced(asked, value, pattern, replacement)


def _replaced_bytes(value: exp.Expression, pattern: exp.Expression, put: exp.Expression) -> exp.Expression:
    """Return a bound of the bytes of a local engine's replaced value: no match is empty, so there are at most as many as
    bytes that are missing without them; each of the replacement's bytes stands for a match at most.
    """
    missing = "strlen($1) - strlen(regexp_replace($1, $2, '', 'g'))"
    size = (
        f"CASE WHEN CAST(strlen($1) AS BIGINT) * strlen($3) > {LONG_BYTES} "
        f"THEN strlen($1) + CAST({missing} AS BIGINT) * strlen($3) ELSE 0 END"
    )
    return sql("local", size, value, pattern, put)


def _first_replaced(
    asked: ConstantPattern, value: exp.Expression, pattern: exp.Expression, replacement: exp.Expression
) -> exp.Expression:
    """Build the replacement of the first match in Spark, which replaces all matches or none: the text before the
    match, the replacement, the text after it.
    """
    if asked.nullable:
        raise FeatureNotSupported(f"not supported: {asked.function} of the first match that may be empty")
    known = constant_text(replacement)
    if known is None:
        raise FeatureNotSupported(f"not supported: {asked.function} of the first match with a computed replacement")
    whole = [
        text(part) if isinstance(part, str) else sql("spark", f"regexp_extract($1, $2, {part})", value, pattern)
        for part in replacement_parts(known)
        if isinstance(part, str) or part <= asked.pattern.groups
    ]

    def join_halves(halves: exp.Expression) -> exp.Expression:
        put = concat("spark", [sql("spark", "get($1, 0)", halves), *whole, sql("spark", "get($1, 1)", halves)])
        return sql("spark", "CASE WHEN size($1) < 2 THEN get($1, 0) ELSE $2 END", halves, put)

    return bound("spark", "halves__", sql("spark", "split($1, $2, 2)", value, pattern), join_halves)


def _nth_replaced(
    asked: ConstantPattern, value: exp.Expression, searched: exp.Expression, replacement: exp.Expression, nth: int
) -> exp.Expression:
    """Build the text with the n-th match of its searched end replaced. Its position follows from the remainder of the
    end after the matches and the texts between them.
    """
    engine, known = asked.engine, constant_text(replacement)
    if known is None:
        raise FeatureNotSupported(f"not supported: {asked.function} of the n-th match with a computed replacement")
    if asked.nullable:
        raise FeatureNotSupported(f"not supported: {asked.function} of the n-th match that may be empty")
    taken = f"list_extract($1, {nth})" if engine == "local" else f"get($1, {nth - 1})"

    def group(number: int) -> exp.Expression:
        every = sql(engine, f"regexp_extract_all($1, $2, {number})", searched, asked.match(groups=number > 0))
        return sql(engine, taken, every)

    parts = [
        text(part) if isinstance(part, str) else sql(engine, "coalesce($1, '')", group(part))
        for part in replacement_parts(known)
        if isinstance(part, str) or part <= asked.pattern.groups
    ]
    found = sql(engine, "regexp_extract_all($1, $2, 0)", searched, asked.match())
    size = "length" if engine == "local" else "char_length"
    total = (
        f"CAST(list_sum(list_transform(list_slice($2, 1, {{}}), lambda p__: {size}(p__))) AS INTEGER)"
        if engine == "local"
        else f"aggregate(slice($2, 1, {{}}), 0, (a__, p__) -> a__ + {size}(p__))"
    )
    between = total.replace("$2", "$3").format(nth)
    head = f"{size}($1) - {size}($4) + {between}"
    before, after = f"{head} + {total.format(nth - 1)}", f"{head} + {total.format(nth)}"
    given = (value, found, _pieces(asked, searched, asked.match()), searched)
    begin = sql(engine, f"substring($1, 1, {before})", *given)
    end = sql(engine, f"substring($1, {after} + 1)", *given)
    count = "len($2)" if engine == "local" else "size($2)"
    return sql(
        engine, f"CASE WHEN {count} < {nth} THEN $1 ELSE $3 END", value, found, concat(engine, [begin, *parts, end])
    )


def _regexp_replace(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    letters = args[3] if len(args) == 4 else None
    if letters is not None and (constant_text(letters) or "")[:1].isdigit():
        raise InvalidParameterValue(
            f'invalid regular expression option: "{(constant_text(letters) or "")[0]}"',
            hint="If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer "
            "explicitly.",
        )
    asked = _constant_pattern(engine, call, args[1], letters)
    return _replace_matches(asked, args[0], args[2], asked.options.every)


def _regexp_replace_from(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    """Build regexp_replace(text, pattern, replacement, start [, n [, flags]]): the n-th match from there on, 0 for
    all.
    """
    asked = _constant_pattern(engine, call, args[1], args[5] if len(args) == 6 else None)
    start = args[3]
    # Flag g is used only if n is not given.
    nth = _positive("n", args[4], 0) if len(args) > 4 else 1
    searched = _start(asked, args[0], start)
    if nth > 1:
        return _nth_replaced(asked, args[0], searched, args[2], nth)
    replaced = _replace_matches(asked, searched, args[2], nth == 0)
    if searched is args[0]:
        return replaced
    before = sql(engine, "substring($1, 1, $2 - 1)", args[0], start)
    return _past_end(asked, args[0], start, concat(engine, [before, replaced]), "$1")


# --- rows -------------------------------------------------------------------------------------------------------------

_OPERATORS: Final = (("~", False, False), ("!~", False, True), ("~*", True, False), ("!~*", True, True))


def _row(
    name: str,
    args: Sequence[t.PgType],
    returns: t.PgType,
    build: EngineBuilder,
    null_type: dict[str, str],
    *,
    returns_set: bool = False,
) -> Function:
    return fn(name, args, returns, **both(_strict(build, null_type)), returns_set=returns_set)


def _rows(
    name: str,
    returns: t.PgType,
    build: EngineBuilder,
    null_type: dict[str, str],
    *tails: tuple[t.PgType, ...],
    returns_set: bool = False,
) -> list[Function]:
    """Return one row per list of arguments after the text and the pattern."""
    return [_row(name, (t.TEXT, t.TEXT, *tail), returns, build, null_type, returns_set=returns_set) for tail in tails]


_FLAGS: Final = ((), (t.TEXT,))
_TEXTS: Final = t.array_of(t.TEXT)

ROWS: tuple[Function, ...] = (
    *(
        op(symbol, (value, t.TEXT), t.BOOL, **both(_strict(_matches(fold, negated), _BOOLEAN)))
        for symbol, fold, negated in _OPERATORS
        for value in (t.TEXT, t.BPCHAR, t.NAME)
    ),
    *_rows("regexp_like", t.BOOL, _regexp_like, _BOOLEAN, *_FLAGS),
    *_rows("regexp_match", _TEXTS, _regexp_match, _STRINGS, *_FLAGS),
    *_rows("regexp_matches", _TEXTS, _regexp_matches, _ROWS, *_FLAGS, returns_set=True),
    *_rows("substring", t.TEXT, _substring, _STRING, ()),
    *_rows("regexp_split_to_array", _TEXTS, _regexp_split, _STRINGS, *_FLAGS),
    *_rows("regexp_split_to_table", t.TEXT, _regexp_split, _STRINGS, *_FLAGS, returns_set=True),
    *_rows("regexp_count", t.INT4, _regexp_count, _INTEGER, (), (t.INT4,), (t.INT4, t.TEXT)),
    *_rows(
        "regexp_substr", t.TEXT, _regexp_substr, _STRING,
        (), (t.INT4,), (t.INT4, t.INT4), (t.INT4, t.INT4, t.TEXT), (t.INT4, t.INT4, t.TEXT, t.INT4),
    ),
    *_rows(
        "regexp_instr", t.INT4, _regexp_instr, _INTEGER,
        (), (t.INT4,), (t.INT4, t.INT4), (t.INT4, t.INT4, t.INT4), (t.INT4, t.INT4, t.INT4, t.TEXT),
        (t.INT4, t.INT4, t.INT4, t.TEXT, t.INT4),
    ),
    *_rows("regexp_replace", t.TEXT, _regexp_replace, _STRING, (t.TEXT,), (t.TEXT, t.TEXT)),
    *_rows(
        "regexp_replace", t.TEXT, _regexp_replace_from, _STRING,
        (t.TEXT, t.INT4), (t.TEXT, t.INT4, t.INT4), (t.TEXT, t.INT4, t.INT4, t.TEXT),
    ),
)  # fmt: skip

"""Arrays of several dimensions, for templates: the engines store them as lists of lists.

The depth of the lists is part of an expression's type (`SqlType.dimensions`). Lists are rectangular; an empty array is
an empty list at the outermost level, whatever its depth. Functions that are not named here do not take such arrays
(`result_dimensions`).

Source: PostgreSQL 15, arrayfuncs.c (array_cmp, array_out, accumArrayResultArr), execExprInterp.c (ExecEvalArrayExpr).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.trees import bound, raises, sql
from wire.errors import FeatureNotSupported

#: Functions and operators that accept arrays of several dimensions.
_TAKING: Final = frozenset(
    (
        "=", "<>", "<", "<=", ">", ">=", "@>", "<@", "&&", "||", "array_cat", "array_agg", "array_dims", "array_length",
        "array_lower", "array_ndims", "array_to_string", "array_upper", "cardinality", "cast", "count", "generate_subscripts",
        "num_nonnulls", "num_nulls", "pg_typeof", "slices", "subscripts", "trim_array", "unnest",
    )
)  # fmt: skip


#: PostgreSQL's errors for functions that do not accept them.
_SEARCHING: Final = {"array_position": "searching for", "array_positions": "searching for", "array_remove": "removing"}


def result_dimensions(function: Function, args: Sequence[SqlType]) -> int:
    """Return the number of dimensions of the array that a function returns. Raises FeatureNotSupported if an argument
    has several dimensions and the function does not take such arrays.
    """
    several = [arg.dimensions for arg in args if arg.pg.is_array]
    most = max(several, default=1)
    if most > 1 and function.name in _SEARCHING:
        where = "from" if function.name == "array_remove" else "in"
        raise FeatureNotSupported(
            f"{_SEARCHING[function.name]} elements {where} multidimensional arrays is not supported"
        )
    if most > 1 and function.name not in _TAKING and function.name.split(" ")[-1] not in ("any", "all"):
        raise FeatureNotSupported(f"not supported: {function.name} of an array with several dimensions")
    return most + 1 if function.name == "array_agg" and several else most


def flat(engine: EngineName, array: exp.Expression, dimensions: int) -> exp.Expression:
    """Return all elements as a list."""
    for _ in range(dimensions - 1):
        array = sql(engine, "flatten($1)", array)
    return array


def lengths(engine: EngineName, array: exp.Expression, dimensions: int) -> exp.Expression:
    """Return the length along each dimension, as a list; the list is empty for an empty array or null."""
    level, listed = array, []
    for _ in range(dimensions):
        listed.append(sql(engine, "CAST(len($1) AS INTEGER)" if engine == "local" else "size($1)", level))
        level = sql(engine, "list_extract($1, 1)" if engine == "local" else "get($1, 0)", level)
    marks = ", ".join(f"${number}" for number in range(2, dimensions + 2))
    if engine == "local":
        return sql("local", f"CASE WHEN len($1) > 0 THEN [{marks}] ELSE CAST([] AS INTEGER[]) END", array, *listed)
    return sql(
        "spark", f"CASE WHEN size($1) > 0 THEN array({marks}) ELSE CAST(array() AS ARRAY<INT>) END", array, *listed
    )


def each(engine: EngineName, array: exp.Expression, one: exp.Expression, dimensions: int) -> exp.Expression:
    """Apply `one` to the elements, which it calls e__."""
    text = "list_transform($1, lambda {0}: $2)" if engine == "local" else "transform($1, {0} -> $2)"
    return _at_each_depth(engine, text, array, one, dimensions)


def array_out(
    engine: EngineName, array: exp.Expression, item: exp.Expression, delimiter: str, dimensions: int
) -> exp.Expression:
    """Build array_out: `item` is the text of an element, which it calls e__."""
    text = (
        "'{{' || array_to_string(list_transform($1, lambda {0}: $2), $3) || '}}'"
        if engine == "local"
        else "concat('{{', array_join(transform($1, {0} -> $2), $3), '}}')"
    )
    made = _at_each_depth(engine, text, array, item, dimensions, exp.Literal.string(delimiter))
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", array, made)


def _at_each_depth(
    engine: EngineName, text: str, array: exp.Expression, one: exp.Expression, dimensions: int, *more: exp.Expression
) -> exp.Expression:
    """Nest a template once per dimension. text: the template over a list, $1, and the result for each item, $2, in
    which {0} is the item's name; elements have the name e__.
    """
    names = [*(f"e{depth}__" for depth in range(2, dimensions + 1)), "e__"]
    made = one
    for depth in reversed(range(dimensions)):
        inside = array if depth == 0 else exp.column(names[depth - 1])
        made = sql(engine, text.format(names[depth]), inside, made, *more)
    return made


def compare_arrays(
    engine: EngineName, symbol: str, args: Sequence[exp.Expression], dimensions: Sequence[int]
) -> exp.Expression:
    """Build the comparison of arrays of which one has several dimensions, as array_cmp compares them: their elements
    one after the other, then their numbers of dimensions, then their lengths. Spark has no order of arrays.
    """
    left, right = args
    empty = "len({0}) = 0" if engine == "local" else "size({0}) = 0"
    if symbol in ("=", "<>"):
        if dimensions[0] == dimensions[1]:
            return sql(engine, f"$1 {symbol} $2", left, right)
        both = f"({empty.format('$1')} AND {empty.format('$2')})"
        answer = both if symbol == "=" else f"NOT {both}"
        return sql(engine, f"CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN {answer} END", left, right)
    keys = [
        tree
        for arg, depth in zip(args, dimensions, strict=True)
        for tree in (flat(engine, arg, depth), lengths(engine, arg, depth))
    ]
    shapes = "$2 {0} $4" if dimensions[0] == dimensions[1] else f"{dimensions[0]} {{0}} {dimensions[1]}"
    text = f"CASE WHEN $1 <> $3 THEN $1 {symbol} $3 WHEN $1 = $3 THEN {shapes.format(symbol)} END"
    return sql(engine, text, *keys)


def rectangular(
    engine: EngineName,
    arrays: exp.Expression,
    dimensions: int,
    message: str = "multidimensional arrays must have array expressions with matching dimensions",
) -> exp.Expression:
    """Build ARRAY[a, b ...] of arrays, given as a list. dimensions: of the result. Raises 2202E if their lengths
    differ. If all are empty or null, the result is an empty array.
    """
    wrong = raises(engine, "2202E", message)

    def build_rectangular(listed: exp.Expression) -> exp.Expression:
        found = each(engine, listed, lengths(engine, exp.column("e__"), dimensions - 1), 1)
        if engine == "local":
            several, empty, none = "len(list_distinct($2))", "len(list_extract($2, 1))", "list_slice($1, 2, 1)"
        else:
            several, empty, none = "size(array_distinct($2))", "size(get($2, 0))", "slice($1, 1, 0)"
        text = f"CASE WHEN {several} > 1 THEN $3 WHEN {empty} = 0 THEN {none} ELSE $1 END"
        return sql(engine, text, listed, found, wrong)

    return bound(engine, "rows__", arrays, build_rectangular)


def accumulate_arrays(engine: EngineName, arrays: exp.Expression, dimensions: int) -> exp.Expression:
    """Build one array of array_agg's list of arrays; null for none. Raises the error of accumArrayResultArr for the
    first array that is invalid.
    """
    null = raises(engine, "22004", "cannot accumulate null arrays")
    empty = raises(engine, "2202E", "cannot accumulate empty arrays")
    other = raises(engine, "2202E", "cannot accumulate arrays of different dimensionality")
    one = lengths(engine, exp.column("e__"), dimensions - 1)
    first = "list_extract($1, 1)" if engine == "local" else "get($1, 0)"
    size = "len" if engine == "local" else "size"

    def build_array(listed: exp.Expression) -> exp.Expression:
        start = each(engine, listed.copy(), one.copy(), 1)
        shape = sql(engine, first, start)
        found = sql(engine, "CASE WHEN e__ IS NULL THEN 1 WHEN $1 <> $2 THEN 3 END", one, shape)
        wrong = each(engine, listed, found, 1)
        code = (
            "list_extract(list_filter($3, lambda w__: w__ IS NOT NULL), 1)"
            if engine == "local"
            else "get(filter($3, w__ -> w__ IS NOT NULL), 0)"
        )
        text = (
            f"CASE {code} WHEN 1 THEN $4 WHEN 3 THEN CASE WHEN {size}($2) = 0 THEN $5 ELSE $6 END"
            f" ELSE CASE WHEN {size}($2) = 0 THEN $5 ELSE $1 END END"
        )
        return sql(engine, text, listed, shape.copy(), wrong, null, empty, other)

    return bound(engine, "rows__", arrays, build_array)

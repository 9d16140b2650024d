"""Arrays: PostgreSQL 15, section 9.19, and the array forms of ANY and ALL (9.24).

The engines' arrays begin at 1. Arrays of several dimensions are lists of lists (`dimensions` lists the functions that
take them). The engines compare elements by their storage type, so functions that compare elements refuse element types
whose equality differs from that of their storage (interval, character(n), time with time zone).

`subscript` and `slice` are the binder's names for `a[i]` and `a[i:j]`; `=set_element` and `=set_slice` are its names
for assignments to these. No PostgreSQL function has these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, element_type, of
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Call, Column, ColumnRef, Expr, Function
from engine.sql.functions.building import fn, op
from engine.sql.functions.dimensions import each, flat, lengths, rectangular
from engine.sql.functions.result_sizes import fits, fits_snippet
from engine.sql.functions.textual import apply, typed_as_text
from engine.sql.functions.trees import EngineBuilder, both, bound, concat, constant_text, is_null, on, raises, sql, text
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall

ARRAY, ELEMENT, ARRAYS, ELEMENTS = t.ANYARRAY, t.ANYELEMENT, t.ANYCOMPATIBLEARRAY, t.ANYCOMPATIBLE
#: MaxArraySize
_MOST_ELEMENTS: Final = 134217727
_OTHER_EQUALITY: Final = (t.INTERVAL, t.BPCHAR, t.TIMETZ, t.NUMRANGE, t.NUMMULTIRANGE, t.TSQUERY)


def refuse_nested(what: str, expr: Expr) -> None:
    """Raises FeatureNotSupported for an array of several dimensions."""
    if expr.type.dimensions > 1:
        raise FeatureNotSupported(f"not supported: {what} of an array with several dimensions")


def _has_other_equality(typ: SqlType) -> bool:
    """Whether equal values may be stored differently, also in a field of a row."""
    if typ.pg.is_row:
        return any(field.pg is t.JSONB or field.pg.is_array or _has_other_equality(field) for _, field in typ.fields)
    return typ.pg in _OTHER_EQUALITY


def _make(build: EngineBuilder, compares: bool, flattens: bool) -> EngineBuilder:
    """Return a builder that checks array arguments before it calls `build`. flattens: an array of several dimensions
    is passed as a list of all its elements.
    """

    def build_checked(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        if flattens:
            args = [flat(engine, tree, arg.type.dimensions) for tree, arg in zip(args, call.args, strict=True)]
        for arg in call.args:
            if compares and arg.type.pg.is_array and _has_other_equality(element_type(arg.type)):
                raise FeatureNotSupported(f"not supported: {call.function.name} of {arg.type}")
        return build(engine, args, call)

    return build_checked


def _texts(local: str, spark: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return sql(engine, local if engine == "local" else spark, *args)

    return build


def _array(
    name: str,
    args: Sequence[t.PgType],
    returns: t.PgType,
    build: EngineBuilder,
    *,
    operator: bool = False,
    compares: bool = False,
    flattens: bool = False,
    strict: bool = True,
    returns_set: bool = False,
) -> Function:
    checked = _make(build, compares, flattens)
    make = op if operator else fn
    return make(
        name,
        args,
        returns,
        local=on("local", checked),
        spark=on("spark", checked),
        strict=strict,
        returns_set=returns_set,
    )


# --- ANY and ALL ------------------------------------------------------------------------------------------------------


def quantified_operator(operator: Function, every: bool) -> Function:
    """Return the function `x operator ANY (array)`, or ALL if `every`. Its arguments are x and the array; nulls are
    treated as by the operator.

    The result is true (for ALL: false) if the result for any element is; else null if that for any element is null;
    else false (true). A null array gives null, an empty one false (true) even for a null x.
    """
    left, right = operator.args
    combine, start = ("AND", "TRUE") if every else ("OR", "FALSE")

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        element = element_type(call.args[1].type)
        operands = (call.args[0], ColumnRef(element, Column(-1, "element", element)))
        one = apply(engine, operator, [args[0], exp.column("element__")], Call(of(t.BOOL), operator, operands))
        if engine == "spark":
            return sql("spark", f"{'forall' if every else 'exists'}($1, element__ -> $2)", args[1], one)
        each = sql("local", "list_transform($1, lambda element__: $2)", args[1], one)
        return sql("local", f"list_reduce($1, lambda so_far__, one__: so_far__ {combine} one__, {start})", each)

    checked = _make(build, compares=False, flattens=True)
    quantifier = "all" if every else "any"
    return op(
        f"{operator.name} {quantifier}",
        (left, t.array_of(right) if right.array else ARRAY),
        t.BOOL,
        local=on("local", checked) if operator.local is not None else "",
        spark=on("spark", checked) if operator.spark is not None else "",
        strict=False,
    )


# --- building ---------------------------------------------------------------------------------------------------------

_CAT = _texts(
    "CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1 ELSE list_concat($1, $2) END",
    "CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1 ELSE concat($1, $2) END",
)
_APPEND = _texts(
    "list_append($1, $2)",
    "CASE WHEN $1 IS NULL THEN array($2) ELSE concat($1, array($2)) END",
)
_PREPEND = _texts(
    "list_prepend($1, $2)",
    "CASE WHEN $2 IS NULL THEN array($1) ELSE concat(array($1), $2) END",
)


def _cat(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build array_cat: arrays of the same number of dimensions are concatenated, and one with a dimension less is
    added at an end of the other.
    """
    left, right = (arg.type.dimensions for arg in call.args)
    if left == right == 1:
        return _CAT(engine, args, call)
    if abs(left - right) > 1:
        raise FeatureNotSupported(f"not supported: {call.function.name} of arrays of {left} and of {right} dimensions")
    several = max(left, right)
    whole = args[0] if left == several else args[1]
    listed = [
        tree if depth == several else _as_row(engine, tree, whole)
        for tree, depth in zip(args, (left, right), strict=True)
    ]
    both = _CAT(engine, listed, call)
    return rectangular(engine, both, several, "cannot concatenate incompatible arrays")


def _as_row(engine: EngineName, array: exp.Expression, whole: exp.Expression) -> exp.Expression:
    """Wrap an array as the only row of an array with one more dimension; an empty array and null give null. Raises
    0A000 if `whole` has no rows: PostgreSQL's result has one dimension less then.
    """
    refused = raises(engine, "0A000", "not supported: arrays of several numbers of dimensions in one column")
    size, row = ("len", "[$1]") if engine == "local" else ("size", "array($1)")
    return sql(
        engine,
        f"CASE WHEN {size}($1) > 0 THEN CASE WHEN {size}($2) > 0 THEN {row} ELSE $3 END END",
        array,
        whole,
        refused,
    )


#: A bound of the bytes of array_fill's result in the local engine: a place and the text of the element for each.
_FILLED: Final = "CAST(list_extract($2, 1) AS BIGINT) * (16 + strlen(CAST($1 AS VARCHAR)))"


def _fill(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build array_fill with one dimension; several dimensions raise 0A000 when it is evaluated."""
    if engine == "local":
        dims, many, made = (
            "len($2)",
            "list_extract($2, 1)",
            # DuckDB evaluates constant expressions before the CASE.
            f"list_transform(range(CASE WHEN list_extract($2, 1) <= {_MOST_ELEMENTS} AND {fits_snippet(_FILLED)}"
            " THEN list_extract($2, 1) ELSE 0 END),"
            " lambda i__: $1)",
        )
    else:
        dims, many, made = "size($2)", "get($2, 0)", "array_repeat($1, get($2, 0))"
    null = raises(engine, "22004", "dimension array or low bound array cannot be null")
    element = raises(engine, "22004", "dimension values cannot be null")
    several = raises(engine, "0A000", "not supported: array_fill with several dimensions")
    large = raises(engine, "54000", f"array size exceeds the maximum allowed ({_MOST_ELEMENTS})")
    cases = (
        f"CASE WHEN $2 IS NULL THEN $3 WHEN {dims} > 1 THEN $5 WHEN {dims} = 1 AND {many} IS NULL THEN $4"
        f" WHEN {dims} = 1 AND ({many} < 0 OR {many} > {_MOST_ELEMENTS}) THEN $6 ELSE {made} END"
    )
    return sql(engine, cases, *args, null, element, several, large)


_BUILDING = (
    _array("array_cat", (ARRAYS, ARRAYS), ARRAYS, _cat, strict=False),
    _array("array_append", (ARRAYS, ELEMENTS), ARRAYS, _APPEND, strict=False),
    _array("array_prepend", (ELEMENTS, ARRAYS), ARRAYS, _PREPEND, strict=False),
    _array("||", (ARRAYS, ARRAYS), ARRAYS, _cat, operator=True, strict=False),
    _array("||", (ARRAYS, ELEMENTS), ARRAYS, _APPEND, operator=True, strict=False),
    _array("||", (ELEMENTS, ARRAYS), ARRAYS, _PREPEND, operator=True, strict=False),
    _array("array_fill", (ELEMENT, t.array_of(t.INT4)), ARRAY, _fill, strict=False),
)


# --- shape ------------------------------------------------------------------------------------------------------------

_LENGTH = _texts(
    "CASE WHEN $2 = 1 AND len($1) > 0 THEN CAST(len($1) AS INTEGER) END",
    "CASE WHEN $2 = 1 AND size($1) > 0 THEN size($1) END",
)


def _length(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    dimensions = call.args[0].type.dimensions
    if dimensions == 1:
        return _LENGTH(engine, args, call)
    found = "CASE WHEN $2 >= 1 THEN list_extract($1, $2) END" if engine == "local" else "get($1, $2 - 1)"
    return sql(engine, found, lengths(engine, args[0], dimensions), args[1])


def _lower(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    size = "len" if engine == "local" else "size"
    within = f"$2 BETWEEN 1 AND {call.args[0].type.dimensions}"
    return sql(engine, f"CASE WHEN {within} AND {size}($1) > 0 THEN 1 END", *args)


def _ndims(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    size = "len" if engine == "local" else "size"
    return sql(engine, f"CASE WHEN {size}($1) > 0 THEN {call.args[0].type.dimensions} END", *args)


def _dims(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    if engine == "local":
        one, joined = "'[1:' || CAST(e__ AS VARCHAR) || ']'", "array_to_string(list_transform($2, lambda e__: {0}), '')"
        text = "CASE WHEN len($1) > 0 THEN {0} END"
    else:
        one, joined = "concat('[1:', CAST(e__ AS STRING), ']')", "array_join(transform($2, e__ -> {0}), '')"
        text = "CASE WHEN size($1) > 0 THEN {0} END"
    sizes = lengths(engine, args[0], call.args[0].type.dimensions)
    return sql(engine, text.format(joined.format(one)), args[0], sizes)


def _subscript_series(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build generate_subscripts; its third argument reverses the order."""
    length = _length(engine, args, call)
    if engine == "local":
        series, reverse = "CASE WHEN $1 > 0 THEN CAST(generate_series(1, $1) AS INTEGER[]) END", "list_reverse"
    else:
        series, reverse = "CASE WHEN $1 > 0 THEN sequence(1, $1) END", "reverse"
    made = sql(engine, series, length)
    if len(args) == 2:
        return made
    return sql(engine, f"CASE WHEN $2 THEN {reverse}($1) WHEN NOT $2 THEN $1 END", made, args[2])


def _trim(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    size = "len($1)" if engine == "local" else "size($1)"
    kept = f"list_slice($1, 1, {size} - $2)" if engine == "local" else f"slice($1, 1, {size} - $2)"
    shown = sql(engine, f"CAST({size} AS {'VARCHAR' if engine == 'local' else 'STRING'})", args[0])
    message = concat(engine, [text("number of elements to trim must be between 0 and "), shown])
    wrong = raises(engine, "2202E", message)
    return sql(engine, f"CASE WHEN $2 < 0 OR $2 > {size} THEN $3 ELSE {kept} END", *args, wrong)


_SHAPE = (
    _array("array_length", (ARRAY, t.INT4), t.INT4, _length),
    _array("array_upper", (ARRAY, t.INT4), t.INT4, _length),
    _array("array_lower", (ARRAY, t.INT4), t.INT4, _lower),
    _array("array_ndims", (ARRAY,), t.INT4, _ndims),
    _array("array_dims", (ARRAY,), t.TEXT, _dims),
    _array(
        "cardinality", (ARRAY,), t.INT4,
        _texts("CAST(len($1) AS INTEGER)", "CASE WHEN $1 IS NOT NULL THEN size($1) END"), flattens=True,
    ),
    _array("trim_array", (ARRAY, t.INT4), ARRAY, _trim),
    *(
        _array("generate_subscripts", (ARRAY, t.INT4, *more), t.INT4, _subscript_series, returns_set=True)
        for more in ((), (t.BOOL,))
    ),
)  # fmt: skip


# --- elements ---------------------------------------------------------------------------------------------------------

_SUBSCRIPT = _texts("CASE WHEN $2 >= 1 THEN list_extract($1, $2) END", "get($1, $2 - 1)")
_SLICE = _texts(
    "CASE WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL THEN NULL WHEN $3 < 1 OR $3 < $2 THEN list_slice($1, 2, 1) "
    "ELSE list_slice($1, CASE WHEN $2 < 1 THEN 1 ELSE $2 END, $3) END",
    "CASE WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL THEN NULL WHEN $3 < 1 OR $3 < $2 THEN slice($1, 1, 0) "
    "ELSE slice($1, CASE WHEN $2 < 1 THEN 1 ELSE $2 END, "
    "CAST(least(CAST($3 AS BIGINT) - CASE WHEN $2 < 1 THEN 1 ELSE $2 END + 1, 2147483647) AS INT)) END",
)


def _subscripts(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build the element at a subscript for each dimension."""
    found = args[0]
    one = "CASE WHEN $2 >= 1 THEN list_extract($1, $2) END" if engine == "local" else "get($1, $2 - 1)"
    for place in args[1:]:
        found = sql(engine, one, found, place)
    return found


def _slices(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a slice of an array by two bounds for each dimension; an empty array if it has no elements."""
    made = args[0]
    dimensions = call.args[0].type.dimensions
    for depth in range(dimensions):
        bounds = args[1 + 2 * depth : 3 + 2 * depth]
        if depth == 0:
            made = _SLICE(engine, [made, *bounds], call)
        else:
            made = each(engine, made, _SLICE(engine, [exp.column("e__"), *bounds], call), depth)
    return bound(engine, "slice__", made, lambda part: _none_of_nothing(engine, part, dimensions))


def _none_of_nothing(engine: EngineName, part: exp.Expression, dimensions: int) -> exp.Expression:
    size = "len" if engine == "local" else "size"
    none = sql(engine, "list_slice($1, 2, 1)" if engine == "local" else "slice($1, 1, 0)", part)
    return sql(engine, f"CASE WHEN {size}($2) = 0 THEN $3 ELSE $1 END", part, flat(engine, part, dimensions), none)


_ENGINES_LENGTH: Final[dict[EngineName, str]] = {
    "local": "coalesce(len($1), 0)",
    "spark": "greatest(coalesce(size($1), 0), 0)",
}


def _set_element(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build the array with one element replaced, extended if necessary. Raises PostgreSQL's errors, and 0A000 for a
    lower bound below 1 or for the first element of an array that is not at its first position.
    """
    length = _ENGINES_LENGTH[engine]
    if engine == "local":
        made = (
            f"list_transform(range(1, greatest({length}, $2) + 1), "
            "lambda i__: CASE WHEN i__ = $2 THEN $3 ELSE list_extract($1, i__) END)"
        )
    else:
        made = f"transform(sequence(1, greatest({length}, $2)), i__ -> CASE WHEN i__ = $2 THEN $3 ELSE get($1, i__ - 1) END)"
    null = raises(engine, "22004", "array subscript in assignment must not be null")
    many = raises(engine, "54000", f"array size exceeds the maximum allowed ({_MOST_ELEMENTS})")
    return sql(
        engine,
        f"CASE WHEN $2 IS NULL THEN $4 WHEN $2 < 1 OR ({length} = 0 AND $2 <> 1) THEN $5 "
        f"WHEN $2 > {_MOST_ELEMENTS} THEN $6 ELSE {made} END",
        *args, null, raises(engine, "0A000", _BOUND), many,
    )  # fmt: skip


def _set_slice(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build the array with the elements between two positions, or its ends if these are null, replaced by those of
    another array.
    """
    length = _ENGINES_LENGTH[engine]
    given = length.replace("$1", "$4")
    if engine == "local":
        old, other = "list_extract($1, i__)", "list_extract($4, i__ - $2 + 1)"
        chosen = f"CASE WHEN i__ BETWEEN $2 AND $3 THEN {other} ELSE {old} END"
        made = f"list_transform(range(1, greatest({length}, $3) + 1), lambda i__: {chosen})"
    else:
        chosen = "CASE WHEN i__ BETWEEN $2 AND $3 THEN get($4, i__ - $2) ELSE get($1, i__ - 1) END"
        made = f"transform(sequence(1, greatest({length}, $3)), i__ -> {chosen})"
    empty = "[]" if engine == "local" else "array()"
    told = (
        ("22004", "array subscript in assignment must not be null"),
        ("2202E", "upper bound cannot be less than lower bound"),
        ("0A000", _BOUND),
        ("54000", f"array size exceeds the maximum allowed ({_MOST_ELEMENTS})"),
        ("2202E", "source array too small"),
    )
    return sql(
        engine,
        f"CASE WHEN $2 IS NULL OR $3 IS NULL THEN $5 WHEN $4 IS NULL THEN coalesce($1, {empty}) WHEN $2 > $3 THEN $6 "
        f"WHEN $2 < 1 OR ({length} = 0 AND $2 <> 1) THEN $7 WHEN $3 > {_MOST_ELEMENTS} THEN $8 "
        f"WHEN {given} < $3 - $2 + 1 THEN $9 ELSE {made} END",
        *args, *(raises(engine, state, message) for state, message in told),
    )  # fmt: skip


_BOUND: Final = "not supported: an array whose lower bound is not 1"
_POSITION = _texts(
    "CAST(list_position($1, $2) AS INTEGER)",
    "get(filter(transform($1, (e__, i__) -> CASE WHEN e__ <=> $2 THEN i__ + 1 END), p__ -> p__ IS NOT NULL), 0)",
)
_POSITIONS_LOCAL = (
    "list_filter(list_transform($1, lambda e__, i__: CASE WHEN e__ IS NOT DISTINCT FROM $2 THEN CAST(i__ AS INTEGER) END), "
    "lambda p__: p__ IS NOT NULL)"
)
_POSITIONS_SPARK = "filter(transform($1, (e__, i__) -> CASE WHEN e__ <=> $2 THEN i__ + 1 END), p__ -> p__ IS NOT NULL)"
_POSITION_FROM = _texts(
    f"list_extract(list_filter({_POSITIONS_LOCAL}, lambda q__: q__ >= $3), 1)",
    f"get(filter({_POSITIONS_SPARK}, q__ -> q__ >= $3), 0)",
)
_REMOVE = _texts(
    "list_filter($1, lambda e__: e__ IS DISTINCT FROM $2)",
    "filter($1, e__ -> NOT (e__ <=> $2))",
)
_REPLACE = _texts(
    "list_transform($1, lambda e__: CASE WHEN e__ IS NOT DISTINCT FROM $2 THEN $3 ELSE e__ END)",
    "transform($1, e__ -> CASE WHEN e__ <=> $2 THEN $3 ELSE e__ END)",
)
_CONTAINS_LOCAL = "CASE WHEN {0} IS NOT NULL THEN list_has_all({0}, {1}) AND list_position({1}, NULL) IS NULL END"
_CONTAINS_SPARK = "CASE WHEN {0} IS NOT NULL THEN forall({1}, e__ -> coalesce(array_contains({0}, e__), FALSE)) END"
_OVERLAPS = _texts(
    "list_has_any($1, $2)",
    "CASE WHEN $1 IS NOT NULL THEN exists($2, e__ -> coalesce(array_contains($1, e__), FALSE)) END",
)


def _contains(outer: str, inner: str) -> EngineBuilder:
    return _texts(_CONTAINS_LOCAL.format(outer, inner), _CONTAINS_SPARK.format(outer, inner))


def _width_bucket(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build width_bucket: the number of sorted thresholds that are not above the operand."""
    null = raises(engine, "22004", "thresholds array must not contain NULLs")
    if engine == "local":
        holes, count = (
            "len(list_filter($2, lambda e__: e__ IS NULL)) > 0",
            "len(list_filter($2, lambda e__: e__ <= $1))",
        )
    else:
        holes, count = "exists($2, e__ -> e__ IS NULL)", "size(filter($2, e__ -> e__ <= $1))"
    return sql(
        engine,
        f"CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL WHEN {holes} THEN $3 ELSE CAST({count} AS INTEGER) END",
        *args, null,
    )  # fmt: skip


def _expandarray_type(types: Sequence[SqlType]) -> SqlType:
    """Return the row type of information_schema._pg_expandarray: an element, and its position."""
    return SqlType(t.RECORD, fields=(("x", of(t.element_of(types[0].pg))), ("n", of(t.INT4))))


_ELEMENTS = (
    _array("subscript", (ARRAY, t.INT4), ELEMENT, _SUBSCRIPT),
    _array("slice", (ARRAY, t.INT4, t.INT4), ARRAY, _SLICE),
    # Arrays as texts, before their elements are cast: of a literal; of a json value, with its key and whether its
    # elements stay json.
    fn("=array_items", (t.TEXT,), t.array_of(t.TEXT), local="sluice_array_items($1)"),
    fn("=json_items", (t.JSON, t.TEXT, t.BOOL), t.array_of(t.TEXT), local="sluice_json_items($1, $2, $3)"),
    fn("=json_items", (t.JSONB, t.TEXT, t.BOOL), t.array_of(t.TEXT), local="sluice_json_items($1, $2, $3)"),
    fn("subscripts", (ARRAY, t.INT4), ELEMENT, variadic=True, **both(_subscripts)),
    fn("slices", (ARRAY, t.INT4), ARRAY, variadic=True, **both(_slices)),
    _array("=set_element", (ARRAY, t.INT4, ELEMENT), ARRAY, _set_element, strict=False),
    _array("=set_slice", (ARRAY, t.INT4, t.INT4, ARRAY), ARRAY, _set_slice, strict=False),
    _array("unnest", (ARRAY,), ELEMENT, _texts("$1", "$1"), flattens=True, returns_set=True),
    fn(
        "_pg_expandarray", (ARRAY,), t.RECORD, returns_set=True, rule=_expandarray_type,
        local="list_transform($1, lambda e__, i__: struct_pack(f0 := e__, f1 := CAST(i__ AS INTEGER)))",
    ),
    _array("array_position", (ARRAYS, ELEMENTS), t.INT4, _POSITION, compares=True, strict=False),
    _array("array_position", (ARRAYS, ELEMENTS, t.INT4), t.INT4, _POSITION_FROM, compares=True, strict=False),
    _array(
        "array_positions", (ARRAYS, ELEMENTS), t.array_of(t.INT4), _texts(_POSITIONS_LOCAL, _POSITIONS_SPARK),
        compares=True, strict=False,
    ),
    _array("array_remove", (ARRAYS, ELEMENTS), ARRAYS, _REMOVE, compares=True, strict=False),
    _array("array_replace", (ARRAYS, ELEMENTS, ELEMENTS), ARRAYS, _REPLACE, compares=True, strict=False),
    _array("width_bucket", (ELEMENTS, ARRAYS), t.INT4, _width_bucket, compares=True),
    _array("@>", (ARRAY, ARRAY), t.BOOL, _contains("$1", "$2"), operator=True, compares=True, flattens=True),
    _array("<@", (ARRAY, ARRAY), t.BOOL, _contains("$2", "$1"), operator=True, compares=True, flattens=True),
    _array("&&", (ARRAY, ARRAY), t.BOOL, _OVERLAPS, operator=True, compares=True, flattens=True),
)  # fmt: skip


# --- text -------------------------------------------------------------------------------------------------------------


def _array_to_string(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    one = typed_as_text(engine, exp.column("e__"), element_type(call.args[0].type), call.args[0])
    substitute = args[2] if len(args) == 3 and not is_null(args[2]) else None
    if substitute is not None:
        # A null substitute leaves nulls out, like a missing one.
        one = sql(engine, "coalesce($1, $2)", one, substitute)
    if engine == "spark":
        return sql("spark", "array_join(transform($1, e__ -> $2), $3)", args[0], one, args[1])
    if constant_text(args[1]) is not None:
        joined = "array_to_string(list_transform($1, lambda e__: $2), $3)"
    else:
        # DuckDB requires a constant separator: each piece starts with the separator, and the first one is cut off.
        joined = "substring(array_to_string(list_transform($1, lambda e__: $3 || $2), ''), length($3) + 1)"
    # DuckDB returns null if all elements are null.
    whole = f"CASE WHEN $1 IS NOT NULL AND $3 IS NOT NULL AND $4 THEN coalesce({joined}, '') END"

    def join(array: exp.Expression) -> exp.Expression:
        size = sql(
            "local",
            "CAST(len($1) AS BIGINT) * (strlen($2) + coalesce(strlen($3), 0))",
            array,
            args[1],
            substitute or text(""),
        )
        return sql("local", whole, array, one, args[1], fits(size))

    return bound(engine, "array__", args[0], join)


def _split(engine: EngineName, value: exp.Expression, delimiter: exp.Expression) -> exp.Expression:
    """Build a text split at a literal delimiter; a null delimiter splits between characters, an empty one not at all."""
    known = constant_text(delimiter)
    if engine == "local":
        literal = sql("local", "string_split($1, $2)", value, delimiter)
        chars, empty = sql("local", "string_split($1, '')", value), sql("local", "CAST([] AS VARCHAR[])")
        whole = sql("local", "[$1]", value)
    else:
        quoted = sql(
            "spark", "concat($2, replace($1, $3, $4), $3)", delimiter, *map(text, ("\\Q", "\\E", "\\E\\\\E\\Q"))
        )
        literal = sql("spark", "split($1, $2)", value, quoted)
        chars, empty = sql("spark", "split($1, '')", value), sql("spark", "CAST(array() AS ARRAY<STRING>)")
        whole = sql("spark", "array($1)", value)
    if known:
        return sql(engine, "CASE WHEN $1 = '' THEN $2 WHEN $1 IS NOT NULL THEN $3 END", value, empty, literal)
    return sql(
        engine,
        "CASE WHEN $1 IS NULL THEN NULL WHEN $1 = '' THEN $3 WHEN $2 IS NULL THEN $4 WHEN $2 = '' THEN $5 ELSE $6 END",
        value, delimiter, empty, chars, whole, literal,
    )  # fmt: skip


def _string_to_array(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    pieces = _split(engine, args[0], args[1])
    if len(args) == 2 or is_null(args[2]):
        return pieces
    one = "CASE WHEN e__ = $2 THEN NULL ELSE e__ END"
    each = f"list_transform($1, lambda e__: {one})" if engine == "local" else f"transform($1, e__ -> {one})"
    return sql(engine, each, pieces, args[2])


_TEXT = (
    _array("array_to_string", (ARRAY, t.TEXT), t.TEXT, _array_to_string, flattens=True),
    _array("array_to_string", (ARRAY, t.TEXT, t.TEXT), t.TEXT, _array_to_string, flattens=True, strict=False),
    *(
        _array(name, args, returns, _string_to_array, strict=False, returns_set=returns_set)
        for name, returns, returns_set in (
            ("string_to_array", t.array_of(t.TEXT), False),
            ("string_to_table", t.TEXT, True),
        )
        for args in ((t.TEXT, t.TEXT), (t.TEXT, t.TEXT, t.TEXT))
    ),
)

ROWS: tuple[Function, ...] = (*_BUILDING, *_SHAPE, *_ELEMENTS, *_TEXT)

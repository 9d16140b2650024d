"""int2vector and oidvector: the system catalog's arrays, which begin at 0 where others begin at 1.

PostgreSQL takes a vector wherever a function wants anyarray, and the array keeps its lower bound. The engines' arrays
have no lower bound, so functions that return or take subscripts have another template for vectors here. Their names and
signatures remain PostgreSQL's. These templates are therefore no rows of the function table; they replace a row's
template once the row is chosen (`ZERO_BASED`).

Source: PostgreSQL 15, int.c (int2vectorout), oid.c (oidvectorout).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.plan_ir.expr import Function
from engine.sql.functions.building import cast, fn
from wire.types import pg_types as t

VECTORS: Final = (t.BY_NAME["int2vector"], t.BY_NAME["oidvector"])
_SUBSCRIPTS: Final = "CASE WHEN $2 = 1 THEN CAST(generate_series(0, len($1) - 1) AS INTEGER[]) END"

#: The functions for vectors, by name and number of arguments.
ZERO_BASED: Final[Mapping[tuple[str, int], Function]] = {
    (row.name, len(row.args)): row
    for row in (
        fn("array_lower", (t.ANYARRAY, t.INT4), t.INT4, local="CASE WHEN $2 = 1 AND len($1) > 0 THEN 0 END"),
        fn(
            "array_upper", (t.ANYARRAY, t.INT4), t.INT4,
            local="CASE WHEN $2 = 1 AND len($1) > 0 THEN CAST(len($1) - 1 AS INTEGER) END",
        ),
        fn("generate_subscripts", (t.ANYARRAY, t.INT4), t.INT4, local=_SUBSCRIPTS, returns_set=True),
        fn(
            "array_position", (t.ANYCOMPATIBLEARRAY, t.ANYCOMPATIBLE), t.INT4,
            local="CAST(list_position($1, $2) - 1 AS INTEGER)", strict=False,
        ),
        fn("subscript", (t.ANYARRAY, t.INT4), t.ANYELEMENT, local="CASE WHEN $2 >= 0 THEN list_extract($1, $2 + 1) END"),
        fn(
            "slice", (t.ANYARRAY, t.INT4, t.INT4), t.ANYARRAY,
            local="CASE WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL THEN NULL WHEN $3 < 0 OR $3 < $2 THEN list_slice($1, 2, 1) "
            "ELSE list_slice($1, greatest($2, 0) + 1, least($3, 2147483646) + 1) END",
        ),
    )
}  # fmt: skip

ROWS: Final = tuple(
    cast(vector, t.TEXT, local="array_to_string(list_transform($1, lambda e__: CAST(e__ AS VARCHAR)), ' ')")
    for vector in VECTORS
)

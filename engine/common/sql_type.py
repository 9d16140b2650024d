"""The type of an expression: a PostgreSQL type, its modifier, and what the planner knows of a numeric's digits.

PostgreSQL's numeric has no bounds and keeps a display scale in every value. Spark and DuckDB have decimal(p, s) with p
<= 38. The binder therefore tracks digits statically: each numeric expression has a precision and a scale (its storage
type is decimal(precision, scale) in both engines) and a rule for how many fractional digits are printed
(`wire.types.carriers.NumericScale`). Where the digits are not known (a text column cast to numeric), `UNKNOWN_DIGITS`
is assumed; a value that does not fit raises 22003 and is never silently rounded.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from wire.dataclass import dataclass
from wire.types import pg_types as t
from wire.types.carriers import UNKNOWN_SCALE, NumericScale

MAX_PRECISION: Final = 38
#: The precision of numerics that no decimal can hold: the maximal number of digits in PostgreSQL.
WIDE_PRECISION: Final = 131_072 + 16_383
#: MAXDIM
MAX_DIMENSIONS: Final = 6
#: (precision, scale) of a numeric of which nothing is known.
UNKNOWN_DIGITS: Final = (38, UNKNOWN_SCALE)


@dataclass(frozen=True, slots=True)
class SqlType:
    """The type of an expression.

    pg, typmod: the type and modifier that a client sees in RowDescription.
    precision, scale, display: for numerics and arrays of them; see the module's docstring.
    minimum: where the values decide on the number of fractional digits printed (`NumericScale`), the least such number.
    fields: the names and types of a record's or composite type's fields, or of those of an array's elements; otherwise
        empty. A composite type's are those that its definition has.
    dimensions: the number of dimensions of an array's values, apart from null and the empty array. PostgreSQL's types
        do not determine it, but engines' lists are nested as deeply.
    """

    pg: t.PgType
    typmod: int = -1
    precision: int = 0
    scale: int = 0
    display: NumericScale = NumericScale.FIXED
    minimum: int = 0
    fields: tuple[tuple[str, SqlType], ...] = ()
    dimensions: int = 1

    def __post_init__(self) -> None:
        if self.pg.category == "C" or (self.fields and self.pg not in (t.RECORD, t.RECORDS)):
            object.__setattr__(self, "fields", _fields(self.pg))

    @property
    def is_wide(self) -> bool:
        """Whether this is a type of numerics that no engine's decimal can hold, which are kept as texts
        (`engine.sql.binder.wide_numerics`).
        """
        return self.precision > MAX_PRECISION

    @property
    def modifier(self) -> int:
        """The modifier with which the catalog stores a column of this type."""
        return t.array_modifier(self.typmod, self.dimensions)

    def __str__(self) -> str:
        return t.format_type(self.pg, self.typmod)


def numeric(
    precision: int,
    scale: int,
    display: NumericScale = NumericScale.FIXED,
    *,
    minimum: int = 0,
    typmod: int = -1,
) -> SqlType:
    """Return a numeric with known digits. Precision and scale are clamped to what the engines can hold."""
    scale = max(0, min(scale, MAX_PRECISION))
    return SqlType(t.NUMERIC, typmod, max(1, min(max(precision, scale), MAX_PRECISION)), scale, display, minimum)


def wide_numeric(typmod: int = -1) -> SqlType:
    """Return a numeric that is kept as its text."""
    return SqlType(t.NUMERIC, typmod, WIDE_PRECISION)


def of(pg: t.PgType, typmod: int = -1) -> SqlType:
    """Return the SqlType of a declared type. A numeric's digits come from its modifier, otherwise they are
    `UNKNOWN_DIGITS`. typmod: an array's may be a `SqlType.modifier`.
    """
    base, dimensions = pg, 1
    if pg.is_array:
        base = t.element_of(pg)
        if base is not t.INTERVAL:
            typmod, dimensions = t.split_array_modifier(typmod)
    if base is not t.NUMERIC:
        return SqlType(pg, typmod, dimensions=dimensions)
    if typmod == -1:
        precision, scale = UNKNOWN_DIGITS
        return SqlType(pg, -1, precision, scale, NumericScale.TRIMMED, dimensions=dimensions)
    precision, scale = t.numeric_precision_scale(typmod)
    kept = max(scale, 0)
    digits = min(max(precision + kept - scale, kept, 1), MAX_PRECISION)
    return SqlType(pg, typmod, digits, kept, dimensions=dimensions)


def element_type(array: SqlType) -> SqlType:
    """Return the SqlType of an array's elements, with the array's modifier and digits."""
    return replace(array, pg=t.element_of(array.pg), dimensions=1)


def array_type(element: SqlType) -> SqlType:
    """Return the SqlType of an array of `element`. For an array, that is one with one more dimension."""
    dimensions = element.dimensions + 1 if element.pg.is_array else 1
    return replace(element, pg=t.array_of(element.pg), dimensions=dimensions)


@cache
def _fields(pg: t.PgType) -> tuple[tuple[str, SqlType], ...]:
    return tuple((item.name, of(*t.attribute_type(item))) for item in pg.attributes)

"""Values of enums: labels to the numbers that carry them, and back.

The numbers of labels follow the enum's order, so comparing, sorting and grouping numbers is comparing, sorting and
grouping labels, on every engine and in every file. The first labels are `STEP` apart. A label that is added between two
others gets the number halfway between theirs, as PostgreSQL gives it a sort order (`pg_enum.enumsortorder` is the
number in steps). A renamed label keeps its number, so no stored data changes.

Rejected: the label itself as carrier. Its order would have to be looked up at every comparison of two values, also
inside the engines.

Source: PostgreSQL 15, enum.c, pg_enum.c (AddEnumLabel).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from wire.errors import InvalidTextRepresentation
from wire.types import pg_types as t
from wire.types.byte_columns import ByteColumn, as_binary, values_of

#: The distance between the numbers of consecutive labels, as CREATE TYPE assigns them.
STEP: Final = 1 << 32


def read_enum(typ: t.PgType, label: str) -> int:
    """Return the number of a label. Raises InvalidTextRepresentation."""
    for number, known in typ.labels:
        if known == label:
            return number
    raise InvalidTextRepresentation(f'invalid input value for enum {typ.sql_name}: "{label}"')


def enum_text(typ: t.PgType, array: pa.Array) -> ByteColumn:
    """Return the labels of a column of numbers. The content of null rows is undefined."""
    numbers = np.array([number for number, _ in typ.labels] or [0], np.int64)
    labels = pa.array([label for _, label in typ.labels] or [""], pa.utf8())
    index = np.minimum(np.searchsorted(numbers, values_of(array, np.int64)), len(numbers) - 1)
    return ByteColumn(len(array), (as_binary(labels.take(pa.array(index))),))

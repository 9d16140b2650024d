"""Values formatted and parsed by templates (to_char, to_number, to_date, to_timestamp) in the local engine, for the
cases that SQL cannot express.

Each distinct combination of value and template in a batch is computed once. The last argument of every function is the
cursor's number, so that an interrupt ends the call (`engine.executors.local.cursor_work`).

Source: PostgreSQL 15, section 9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.common.interrupts import check_for_interrupts
from engine.executors.local.cursor_work import work_of_cursor
from engine.executors.local.udf import arrow_function
from engine.sql.text_templates import moments, numbers, reading


def _each(compute: Callable[..., Any], typ: pa.DataType) -> Callable[..., pa.Array]:
    """Return a function that applies `compute` once for each distinct combination of arguments, as work of the cursor
    whose number is the last parameter.
    """

    def run(*columns_and_cursor: Any) -> pa.Array:
        *columns, cursor = columns_and_cursor
        rows = np.flatnonzero(np.logical_and.reduce([_is_valid(column) for column in columns]))
        encoded = [_encode_dictionary(column.take(pa.array(rows))) for column in columns]
        firsts, back = _combinations([column.indices.to_numpy() for column in encoded])
        given = [column.dictionary.take(column.indices.take(pa.array(firsts))).to_pylist() for column in encoded]
        with work_of_cursor(cursor[0].as_py() if len(cursor) else None):
            found = [_interruptibly(compute, values) for values in zip(*given, strict=True)]
        places = np.full(len(cursor), -1, np.int64)
        places[rows] = back
        return pa.array(found, typ).take(pa.array(places, mask=places < 0))

    return run


def _interruptibly(compute: Callable[..., Any], values: Sequence[Any]) -> Any:
    check_for_interrupts()
    return compute(*values)


def _is_valid(column: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))


def _combinations(columns: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the distinct combinations in rows of numbers: the first row of each, and the combination of each row."""
    codes = columns[0].astype(np.int64)
    for column in columns[1:]:
        _seen, codes = np.unique(codes, return_inverse=True)
        codes = codes * (int(column.max(initial=0)) + 1) + column
    _seen, firsts, back = np.unique(codes, return_index=True, return_inverse=True)
    return firsts, back


def _encode_dictionary(array: Any) -> Any:
    return (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).dictionary_encode()


_TEXT, _MICROS = "VARCHAR", "BIGINT"
#: Functions: the name, the parameters before the cursor's number, the result's types in DuckDB and in Arrow, the
#: implementation. Zones have DuckDB's names.
_FUNCTIONS: Final[tuple[tuple[str, tuple[str, ...], str, pa.DataType, Callable[..., Any]], ...]] = (
    ("to_number", (_TEXT, _TEXT), _TEXT, pa.utf8(), numbers.read_number),
    ("numeric_to_char", (_TEXT, _TEXT), _TEXT, pa.utf8(), numbers.numeric_text),
    ("int4_to_char", ("INTEGER", _TEXT), _TEXT, pa.utf8(), numbers.int4_text),
    ("int8_to_char", ("BIGINT", _TEXT), _TEXT, pa.utf8(), numbers.int8_text),
    ("float4_to_char", ("REAL", _TEXT), _TEXT, pa.utf8(), partial(numbers.float_text, size=4)),
    ("float8_to_char", ("DOUBLE", _TEXT), _TEXT, pa.utf8(), partial(numbers.float_text, size=8)),
    ("timestamp_to_char", (_MICROS, _TEXT), _TEXT, pa.utf8(), moments.timestamp_text),
    ("timestamptz_to_char", (_MICROS, _TEXT, _TEXT), _TEXT, pa.utf8(), moments.timestamptz_text),
    ("interval_to_char", ("BIGINT", "BIGINT", _MICROS, _TEXT), _TEXT, pa.utf8(), moments.interval_text),
    ("to_date", (_TEXT, _TEXT), "INTEGER", pa.int32(), reading.read_date),
    ("to_timestamp", (_TEXT, _TEXT, _TEXT), _MICROS, pa.int64(), reading.read_timestamp),
)
for _name, _parameters, _returns, _typ, _compute in _FUNCTIONS:
    # Outside of a statement's cursor, its number is null.
    arrow_function(f"sluice_{_name}", (*_parameters, "BIGINT"), _returns, sees_nulls=True)(_each(_compute, _typ))

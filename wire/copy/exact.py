"""Conversion of values one by one, for columns that no faster method can convert. Each distinct value is converted
once.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from wire.errors import FeatureNotSupported, NumericValueOutOfRange, SqlError


def read_values(array: pa.Array, read: Callable[[Any], Any], carrier: pa.DataType) -> tuple[pa.Array, SqlError | None]:
    """Read the items up to the first one that `read` refuses or that no carrier holds; return the values and that item's error."""
    encoded = array.dictionary_encode()
    values: list[Any] = []
    try:
        for item in encoded.dictionary.to_pylist():
            values.append(_to_carrier(read(item), carrier))
    except SqlError as error:
        # The items of a dictionary are in the order of their first occurrence.
        stop = pc.index(encoded.indices, pa.scalar(len(values), encoded.indices.type)).as_py()
        return pa.array(values, carrier).take(encoded.indices.slice(0, stop)), error
    return pa.array(values, carrier).take(encoded.indices), None


def _to_carrier(value: Any, carrier: pa.DataType) -> Any:
    try:
        pa.scalar(value, carrier)
    except pa.ArrowException:
        if pa.types.is_list(carrier) and any(isinstance(item, list) for item in value) != pa.types.is_list(
            carrier.value_type
        ):
            message = "not supported: arrays of several numbers of dimensions in one column"
            raise FeatureNotSupported(message) from None
        if isinstance(value, Decimal) and not value.is_finite():
            raise FeatureNotSupported(f"not supported: numeric {value} in a column") from None
        if pa.types.is_decimal(carrier):
            message = f"numeric value {value} does not fit numeric({carrier.precision},{carrier.scale})"
            raise NumericValueOutOfRange(message) from None
        raise FeatureNotSupported(f"not supported: the value {value} in a column of {carrier}") from None
    return value

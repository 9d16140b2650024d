"""Arrays and records as text: `{1,NULL,"a b"}`, `(1,,"a b")`, a column at a time.

The elements of all rows are one column, which is quoted at once and joined per row along the list's offsets. Several
dimensions are nested lists, which must be rectangular, since PostgreSQL's arrays are.

`wire.types.output` gives the texts of elements. Source: PostgreSQL 15 documentation 8.15.6 and 8.16.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wire.errors import ArraySubscriptError
from wire.types.byte_columns import ByteColumn, Ints, constant, fixed_array, join, offsets_of

#: Texts that need quotes in an array: empty, NULL, or with a delimiter, brace, quote, backslash or blank.
_ARRAY_QUOTED = {delimiter: rf'^$|(?i:^null$)|[{{}}"{delimiter}\\ \t\n\r\v\f]' for delimiter in (",", ";")}
_RECORD_QUOTED = r'^$|[()",\\ \t\n\r\v\f]'


def elements_of(array: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Return (offsets from 0, elements of all rows) of a list column, its slice applied."""
    offsets = offsets_of(array)
    first, last = int(offsets[0]), int(offsets[-1])
    return offsets - first, array.values.slice(first, last - first)


def array_text(
    array: pa.ListArray, element_text: Callable[[pa.Array], pa.BinaryArray], delimiter: str, *, quoted: bool
) -> ByteColumn:
    """Return a list column as array literals.

    element_text: returns the texts of a column of elements. delimiter: of the element's type. quoted: whether the texts
    may need quotes.
    """
    text, leaves = _nested_text(array, element_text, delimiter, quoted=quoted)
    if not leaves.all():
        text = pc.if_else(pa.array(leaves != 0), text, pa.scalar(b"{}", pa.binary()))
    return ByteColumn(len(array), (text,))


def _nested_text(
    array: pa.ListArray, element_text: Callable[[pa.Array], pa.BinaryArray], delimiter: str, *, quoted: bool
) -> tuple[pa.BinaryArray, Ints]:
    """Return the literals, and the number of innermost elements of each row."""
    offsets, elements = elements_of(array)
    if pa.types.is_list(elements.type):
        check_rectangular(offsets, elements)
        items, leaves = _nested_text(elements, element_text, delimiter, quoted=quoted)
        running = np.concatenate(([0], np.cumsum(leaves)))
        counts = np.diff(running[offsets])
    else:
        items = _array_items(elements, element_text, delimiter, quoted=quoted)
        counts = np.diff(offsets)
    rows = len(array)
    joined = joined_lists(offsets, items, delimiter.encode())
    return join([fixed_array(constant(rows, b"{")), joined, fixed_array(constant(rows, b"}"))]), counts


def joined_lists(offsets: Ints, items: pa.BinaryArray, separator: bytes) -> pa.BinaryArray:
    """Return each row's items, joined with the separator."""
    lists = pa.ListArray.from_arrays(pa.array(np.ascontiguousarray(offsets, np.int32)), items)
    return pc.binary_join(lists, pa.scalar(separator, pa.binary()))


def _array_items(
    elements: pa.Array, element_text: Callable[[pa.Array], pa.BinaryArray], delimiter: str, *, quoted: bool
) -> pa.BinaryArray:
    text = element_text(elements)
    if quoted:
        text = _quote(text, _ARRAY_QUOTED[delimiter], rb"\\\1")
    if elements.null_count:
        text = pc.if_else(pc.is_valid(elements), text, pa.scalar(b"NULL", pa.binary()))
    return text


def _quote(text: pa.BinaryArray, pattern: str, escaped: bytes) -> pa.BinaryArray:
    """Put texts that match `pattern` in quotes, and replace their quotes and backslashes by `escaped`."""
    needs = pc.match_substring_regex(text, pattern)
    if not pc.any(needs).as_py():
        return text
    quote = fixed_array(constant(len(text), b'"'))
    inner = pc.replace_substring_regex(text, pattern=rb'(["\\])', replacement=escaped)
    return pc.if_else(needs, join([quote, inner, quote]), text)


def check_rectangular(offsets: Ints, inner: pa.ListArray) -> None:
    """Raise 2202E unless the inner lists of each row have the same length and none is null."""
    lengths = np.diff(offsets_of(inner))
    first = np.repeat(offsets[:-1], np.diff(offsets))
    if inner.null_count or (lengths != lengths[first]).any():
        raise ArraySubscriptError("multidimensional arrays must have array expressions with matching dimensions")


def vector_text(array: pa.ListArray, element_text: Callable[[pa.Array], pa.BinaryArray]) -> ByteColumn:
    """Return int2vector and oidvector values: separated by blanks, without braces."""
    offsets, elements = elements_of(array)
    return ByteColumn(len(array), (joined_lists(offsets, element_text(elements), b" "),))


def record_text(array: pa.StructArray, field_texts: Sequence[pa.BinaryArray], fields: Sequence[pa.Array]) -> ByteColumn:
    """Return a struct column as row literals; a null field is empty.

    field_texts: each field's texts; fields: the field columns themselves, for their nulls.
    """
    rows = len(array)
    parts: list[pa.BinaryArray] = [fixed_array(constant(rows, b"("))]
    for index, (text, field) in enumerate(zip(field_texts, fields, strict=True)):
        if index:
            parts.append(fixed_array(constant(rows, b",")))
        quoted = _quote(text, _RECORD_QUOTED, rb"\1\1")
        parts.append(
            pc.if_else(pc.is_valid(field), quoted, pa.scalar(b"", pa.binary())) if field.null_count else quoted
        )
    parts.append(fixed_array(constant(rows, b")")))
    return ByteColumn(rows, (join(parts),))

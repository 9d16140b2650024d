"""Arrow's lists."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def with_elements(array: Any, elements: Any, typ: pa.DataType) -> Any:
    """The list array over other elements, as many as its `values` are: a list array of `typ`, with the same nulls and bounds."""
    return pa.Array.from_buffers(
        typ, len(array), array.buffers()[:2], array.null_count, array.offset, children=[elements]
    )

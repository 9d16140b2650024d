"""Values written and read by templates (to_char, to_number) in the local engine: what SQL cannot say of a template.

Each pair of a value and a template is asked for once in a batch.

Source: PostgreSQL 15, section 9.8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine import number_templates
from engine.local.udf import arrow_function


def _each_pair(compute: Callable[[Any, str], str | None]) -> Callable[[Any, Any], pa.Array]:
    def run(values: Any, templates: Any) -> pa.Array:
        one, two = _encoded(values), _encoded(templates)
        width = max(len(two.dictionary), 1)
        pairs = one.indices.to_numpy().astype(np.int64) * width + two.indices.to_numpy()
        found, back = np.unique(pairs, return_inverse=True)
        firsts, seconds = one.dictionary.to_pylist(), two.dictionary.to_pylist()
        made = [compute(firsts[pair // width], seconds[pair % width]) for pair in found.tolist()]
        return pa.array(made, pa.utf8()).take(pa.array(back))

    return run


def _encoded(array: Any) -> Any:
    return (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).dictionary_encode()


#: By the function's name: the type of its value, how it is written or read.
_FUNCTIONS: Final[tuple[tuple[str, str, Callable[[Any, str], str | None]], ...]] = (
    ("to_number", "VARCHAR", number_templates.read_number),
    ("numeric_to_char", "VARCHAR", number_templates.numeric_text),
    ("int4_to_char", "INTEGER", number_templates.int4_text),
    ("int8_to_char", "BIGINT", number_templates.int8_text),
    ("float4_to_char", "REAL", partial(number_templates.float_text, size=4)),
    ("float8_to_char", "DOUBLE", partial(number_templates.float_text, size=8)),
)
for _name, _value, _compute in _FUNCTIONS:
    arrow_function(f"sluice_{_name}", [_value, "VARCHAR"], "VARCHAR")(_each_pair(_compute))

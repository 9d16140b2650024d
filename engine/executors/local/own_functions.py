"""Imports all modules that define functions of the local engine; each registers its functions when it is imported."""

from __future__ import annotations

from engine.executors.local import (  # noqa: F401
    array_texts,
    byte_texts,
    characters,
    division,
    json_functions,
    json_path_functions,
    json_subscripts,
    multiranges,
    networks,
    powers,
    ranges,
    regular_expressions,
    result_sizes,
    roots,
    sort_keys,
    spreads,
    templates,
    whole_values,
)
from engine.executors.local.udf import install

__all__ = ["install"]

"""DuckDB's profile of a statement, as a tree of operators in the engines' common form.

A reader of files is identified by the first file that it names. Relations that are passed in (Arrow tables, and
temporary tables for inputs that were too large for one) cannot be distinguished from one another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.contracts.profile import GIVEN, Operator


def operators(profile: str) -> Operator | None:
    """Return the tree of DuckDB's operators from its JSON; None if it has none."""
    roots = json.loads(profile).get("operator", [])
    return _operator(roots[0]) if len(roots) == 1 else None


def _operator(node: Mapping[str, Any]) -> Operator:
    below = tuple(_operator(child) for child in node.get("children", ()))
    return Operator(
        str(node["type"]), int(node.get("intermediate_rows", 0)), _source(node.get("extra_info", {})), below
    )


def _source(told: Mapping[str, Any]) -> str:
    files = told.get("Filename(s)")
    if files is not None:
        return str(files if isinstance(files, str) else files[0])
    is_given = told.get("Function") == "PYTHON_ARROW_SCAN" or "Table" in told
    return GIVEN if is_given else ""

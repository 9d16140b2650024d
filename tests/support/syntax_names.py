"""Rows of the function table for which PostgreSQL has no function: the binder resolves special syntax to them."""

from __future__ import annotations

from typing import Final

SYNTAX: Final = frozenset(
    (
        "subscript",
        "subscripts",
        "slice",
        "slices",
        "=array_items",
        "=json_items",
        "=set_element",
        "=set_slice",
        "=set_member",
        "greatest",
        "least",
        "=pg_typeof",
        "=property of a class",
        "=regclass",
        "=regtype",
        "=aclexplode",
        "=unknown_setting",
    )
)

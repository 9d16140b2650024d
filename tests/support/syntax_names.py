"""Rows of the function table that PostgreSQL has no function for: what the binder ends special syntax in."""

from __future__ import annotations

from typing import Final

SYNTAX: Final = frozenset(
    (
        "subscript",
        "subscripts",
        "slice",
        "slices",
        "=set_element",
        "=set_slice",
        "=set_member",
        "greatest",
        "least",
        "=property of a class",
        "=regclass",
        "=regtype",
        "=aclexplode",
        "=unknown_setting",
    )
)

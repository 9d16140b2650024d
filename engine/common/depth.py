"""The limit on the nesting depth of a statement.

Parser, binder and planner recurse over trees. Python's own recursion limit is meant for programming errors and is far
below the depth of generated SQL (a thousand terms of OR are a tree a thousand deep). So the limit is raised, and a
statement that still exceeds it gets PostgreSQL's error instead of a RecursionError.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wire.errors import StatementTooComplex

#: Python frames; one level of nested parentheses takes four or five.
_FRAMES: Final = 15_000


@contextmanager
def bounded_depth() -> Iterator[None]:
    """Bound the recursion over a statement within the block. Raises StatementTooComplex if the statement is too deep."""
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)
    try:
        yield
    except RecursionError:
        raise StatementTooComplex(
            "stack depth limit exceeded", hint="The statement nests too deeply; write it in fewer levels."
        ) from None

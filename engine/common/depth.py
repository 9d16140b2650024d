"""The limit on the nesting depth of a statement.

Parser, binder and planner recurse over trees. Python's own recursion limit is meant for programming errors and is far
below the depth of generated SQL (a thousand terms of OR are a tree a thousand deep). So the limit is raised, and a
statement that still exceeds it gets PostgreSQL's error instead of a RecursionError.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final

from engine.common.disposal import frames_of
from wire.errors import StatementTooComplex

#: Python frames; one level of nested parentheses takes four or five.
_FRAMES: Final = 15_000


class bounded_depth:  # noqa: N801 - used as a function, like contextlib's
    """Bound the recursion over a statement within the block. Raises StatementTooComplex if the statement is too deep.

    Not a generator: the frames of the standard library's would refer to the traceback, and with it to the thousands of
    frames of the recursion, for as long as the error exists.
    """

    def __enter__(self) -> None:
        if sys.getrecursionlimit() < _FRAMES:
            sys.setrecursionlimit(_FRAMES)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, RecursionError):
            return
        frames_of(error)
        del error, trace
        raise StatementTooComplex(
            "stack depth limit exceeded", hint="The statement nests too deeply; write it in fewer levels."
        ) from None

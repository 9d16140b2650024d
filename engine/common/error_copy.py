"""Copies of an error that has several receivers: each raises its own copy.

An exception changes while it is raised and handled: its traceback and its notes grow, `__context__` is set, and a
session records the position in its own statement on an SqlError (`SqlError.position`, `context`). Where one failure
ends the work of many (a group of commits, all waiters for an unreachable catalog), a shared object would show one
client details that belong to another.
"""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def copy_error(error: E) -> E:
    """Return a copy with the same message and the same traceback so far, which shares nothing with the original that
    grows.

    This is not `copy.copy`, which calls the class with the message as its arguments: some error classes have other
    arguments.
    """
    copied = type(error).__new__(type(error), *error.args)
    vars(copied).update(vars(error))
    copied.args = error.args
    if isinstance(error, OSError) and isinstance(copied, OSError):
        # This is no part of `args`.
        copied.filename = error.filename
    copied.__cause__, copied.__context__ = error.__cause__, error.__context__
    copied.__suppress_context__ = error.__suppress_context__
    if hasattr(error, "__notes__"):
        copied.__notes__ = list(error.__notes__)
    return copied.with_traceback(error.__traceback__)

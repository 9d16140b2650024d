"""Frees large values that nobody needs any more, a piece at a time.

Theory. The tree of a long statement has hundreds of thousands of objects, and the interpreter frees what nothing refers
to in one go: the thread that drops the last reference holds the interpreter's lock for tenths of a second. A tree of
sqlglot's is worse, since its nodes refer to their parents: it is a cycle, which only a full collection finds, and a
full collection visits all other objects of the process too, for up to a second, while every session waits. So such a
value is taken apart by a loop in Python, during which other threads get their turns (`sys.getswitchinterval`).

A part that something else refers to is kept. The loop counts references: it takes a value apart only if the list that
it was taken from had the only reference to it; for a node of a tree, references from its children are allowed too.
Otherwise the value is left to its other owner. Only the parent references of nodes that nobody can reach are changed.

The trees of short statements are taken apart by those who own them, when they end (`end_tree`). Otherwise each
statement of a client that writes values into its statements would leave some hundred objects behind.

Considered and rejected: weak references to parents (sqlglot sets them itself); a free list of nodes.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any, Final

from sqlglot import exp

#: The number of references that are examined at once.
_SLICE: Final = 10_000
#: The references to a value that has no other owner: the variable of the loop, and the argument of `getrefcount`.
_OWN: Final = 2


def take_apart(left: list[Any]) -> None:
    """Free the values of the list, except those that something else refers to. left: the only reference to them; it is
    emptied.
    """
    while left:
        item = left.pop()
        children = _children(item) if isinstance(item, exp.Expression) else ()
        if getrefcount(item) > _OWN + len(children):
            continue
        for child in children:
            child.parent = None
        child = children = None  # type: ignore[assignment]  # else the last of them would be another's, too
        parts = gc.get_referents(item)
        for start in range(0, len(parts), _SLICE):
            left += filter(gc.is_tracked, parts[start : start + _SLICE])
        del parts


def end_tree(owner: object, name: str) -> None:
    """Take the tree apart that is the value of an attribute, when its owner ends (`__del__`). Long trees have a reference
    that ends later (`engine.runtime.planning_pool`), and are left to it.
    """
    left = [getattr(owner, name, None)]
    object.__delattr__(owner, name)
    take_apart(left)


def _children(node: exp.Expression) -> list[Any]:
    return [child for child in node.iter_expressions() if child.parent is node]


def frames_of(error: BaseException) -> list[Any]:
    """Remove the tracebacks from an exception and from those that caused it, and return them: their frames refer to the
    values that the failed work had made.
    """
    taken: list[Any] = []
    seen: BaseException | None = error
    while seen is not None:
        taken.append(seen.__traceback__)
        seen.__traceback__ = None
        seen = seen.__cause__ or seen.__context__
    return taken

"""Copies of trees. Compilation makes many: of a column wherever it is read, of a template wherever it is called.

sqlglot's `Expression.copy` is `copy.deepcopy`; its memo, and the calls by which children are added one by one, take
three quarters of the time. `tests/unit/engine/sql/test_copies.py` compares the two.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

E = TypeVar("E", bound=exp.Expr)


def copy_tree(tree: E) -> E:
    """Copy a tree with all nodes below it; the copy is a root."""
    root = _copy_node(tree)
    waiting: list[tuple[exp.Expr, exp.Expr]] = [(tree, root)]
    while waiting:
        node, made = waiting.pop()
        args = made.args
        for key, value in node.args.items():
            if isinstance(value, exp.Expr):
                args[key] = child = _copy_node(value)
                child.parent, child.arg_key = made, key
                waiting.append((value, child))
            elif type(value) is list:
                args[key] = children = list(value)
                for index, each in enumerate(value):
                    if isinstance(each, exp.Expr):
                        children[index] = child = _copy_node(each)
                        child.parent, child.arg_key, child.index = made, key, index
                        waiting.append((each, child))
            else:
                args[key] = value
    return root


def _copy_node(node: E) -> E:
    """Copy a node without the nodes below it."""
    made = node.__class__.__new__(node.__class__)
    made.args = {}
    made.parent = made.arg_key = made.index = None
    made.comments = None if node.comments is None else list(node.comments)
    made._type = node._type
    made._meta = None if node._meta is None else dict(node._meta)
    made._hash = None
    return made

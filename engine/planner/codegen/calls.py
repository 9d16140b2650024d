"""Calls of functions, operators and casts: templates of the function table with the arguments put in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall, Builder, Call, Function
from engine.planner.codegen.infinities import finite_only
from engine.sql.functions.building import copy_if_placed
from engine.sql.trees.build import ENCLOSING, cast, operand
from engine.sql.trees.copies import copy_tree
from engine.sql.trees.dialects import placeholder_index, snippet
from engine.sql.trees.storage_types import storage_type
from engine.sql.trees.unsupported import Unsupported
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

#: Marks an argument inside a template's tree, to distinguish it from the template's own nodes.
_ARGUMENT = "argument"
_LACKING: Final = "not supported: "


def describe(function: Function) -> str:
    """Return a function's name as error messages show it."""
    if function.kind == "cast":
        return f"cast from {function.args[0].sql_name} to {function.returns.sql_name}"
    kind = "operator" if function.kind == "operator" else "function"
    return f"{kind} {function.name}({', '.join(arg.sql_name for arg in function.args)})"


def apply(call: Call | AggregateCall, args: Sequence[exp.Expression], engine: EngineName) -> exp.Expression:
    """Put `args` into the template of the call's function. The result has whatever type the engine gives it."""
    function = call.function
    template = function.local if engine == "local" else function.spark
    if template is None:
        raise Unsupported(engine, describe(function))
    for arg in args:
        arg.meta[_ARGUMENT] = True
    build = _template_builder(template, engine) if isinstance(template, str) else template
    if engine == "spark":
        build = finite_only(call, build)
    try:
        return build(args, call)
    except FeatureNotSupported as error:
        if not error.message.startswith(_LACKING):
            raise  # it is PostgreSQL's, and no engine's
        raise Unsupported(engine, error.message.removeprefix(_LACKING)) from error


def is_argument(tree: exp.Expression) -> bool:
    """Whether a tree was put into a template, rather than being part of one."""
    return bool(tree.meta_get(_ARGUMENT))


def settle(tree: exp.Expression, typ: SqlType, engine: EngineName) -> exp.Expression:
    """Cast a call's tree to the storage type of its result: the engines' rules for decimals' digits differ from ours."""
    return cast(tree, storage_type(typ, engine)) if typ.pg is t.NUMERIC else tree


def _template_builder(template: str, engine: EngineName) -> Builder:
    return lambda args, _call: _instantiate(template, args, engine)


def _instantiate(template: str, args: Sequence[exp.Expression], engine: EngineName) -> exp.Expression:
    tree = copy_tree(snippet(template, engine))
    root = placeholder_index(tree)
    if root is not None:
        return args[root - 1]
    for node in list(tree.find_all(exp.Column)):
        index = placeholder_index(node)
        if index is not None:
            _place(node, index, args)
            # The replaced column is free then, rather than a cycle with its identifier.
            node.this.parent = None
    return tree


def _place(node: exp.Expression, index: int, args: Sequence[exp.Expression]) -> None:
    parent = node.parent
    assert parent is not None
    if index == 0:
        node.replace([copy_if_placed(arg) for arg in args])
    elif index > len(args):
        assert isinstance(parent, exp.Anonymous), "an optional argument stands in a call's list"
        node.pop()
    else:
        arg = copy_if_placed(args[index - 1])
        node.replace(arg if isinstance(parent, ENCLOSING) else operand(arg))

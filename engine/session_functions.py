"""Functions that read or change the session itself, not rows: evaluated when a query is about to be compiled.

`set_config`, `pg_cancel_backend` and their kin have effects outside of the plan, so no engine can run them. Their calls
must have constant arguments (or parameters); each is evaluated once, and its value takes the call's place in the plan.
`ContextRef`s are the simpler kind: named values of the session that compile as literals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from engine.catalog.system import PG_CATALOG
from engine.plan.logical import Node
from engine.plan.rewrite import expressions, map_expressions, rewrite_expr, rewrite_plan, walk_all
from engine.sql.binder.regnames import type_oid
from engine.sql.expr import Call, Const, ContextRef, Expr, ParamRef
from wire.errors import FeatureNotSupported, UndefinedObject

if TYPE_CHECKING:
    from engine.session import Session

NodeT = TypeVar("NodeT", bound=Node)


def _set_config(session: Session, arguments: Sequence[Any]) -> Any:
    name, value, local = arguments
    session.settings.set(name, value or "", local=bool(local))
    return session.settings.get(name)


def _current_setting(session: Session, arguments: Sequence[Any]) -> Any:
    try:
        return session.settings.get(arguments[0])
    except UndefinedObject:
        if len(arguments) > 1 and arguments[1]:
            return None
        raise


def _current_schemas(session: Session, arguments: Sequence[Any]) -> Any:
    """The effective search path; pg_catalog, when nobody named it, only if implicit schemas are asked for."""
    path = session.search_path()
    named = session.settings.get("search_path")
    return [name for name in path if arguments[0] or name != PG_CATALOG or PG_CATALOG in named]


def _cancel(session: Session, arguments: Sequence[Any]) -> Any:
    return session.client.cancel_backend(arguments[0])


def _terminate(session: Session, arguments: Sequence[Any]) -> Any:
    return session.client.terminate_backend(arguments[0])


def _to_regtype(_session: Session, arguments: Sequence[Any]) -> Any:
    """Null for a type that is not in pg_type; drivers look for those of extensions in this way."""
    try:
        return type_oid(arguments[0])
    except (UndefinedObject, FeatureNotSupported):
        return None


#: Each strict but for set_config's value.
_FUNCTIONS: Final[dict[str, Callable[[Session, Sequence[Any]], Any]]] = {
    "set_config": _set_config,
    "current_setting": _current_setting,
    "current_schemas": _current_schemas,
    "pg_cancel_backend": _cancel,
    "pg_terminate_backend": _terminate,
    "to_regtype": _to_regtype,
}


def _is_ours(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.kind == "function" and expr.function.name in _FUNCTIONS


def _all_expressions(plan: Node) -> list[Expr]:
    return [part for node in walk_all(plan) for expr in expressions(node) for part in expr.walk()]


def used(plan: Node) -> bool:
    """Whether the plan calls any of them."""
    return any(_is_ours(expr) for expr in _all_expressions(plan))


def context_names(plan: Node) -> frozenset[str]:
    """The names of the session values that the plan refers to."""
    return frozenset(expr.name for expr in _all_expressions(plan) if isinstance(expr, ContextRef))


def evaluate(plan: NodeT, session: Session, parameters: Mapping[int, Any]) -> NodeT:
    """The plan with every such call replaced by its value. Raises FeatureNotSupported for arguments that are not
    constant, and whatever the function itself raises."""

    def value(expr: Expr) -> Expr:
        if not isinstance(expr, Call) or not _is_ours(expr):
            return expr
        arguments = [_argument(expr, argument, parameters) for argument in expr.args]
        if arguments[0] is None:
            return Const(expr.type, None)
        return Const(expr.type, _FUNCTIONS[expr.function.name](session, arguments))

    def in_node(node: Node) -> Node:
        return map_expressions(node, lambda expr: rewrite_expr(expr, value))

    rebuilt = rewrite_plan(plan, in_node)
    return rebuilt  # type: ignore[return-value]


def _argument(call: Call, argument: Expr, parameters: Mapping[int, Any]) -> Any:
    if isinstance(argument, Const):
        return argument.value
    if isinstance(argument, ParamRef):
        return parameters[argument.index]
    raise FeatureNotSupported(f"not supported: {call.function.name} of something that is not a constant")

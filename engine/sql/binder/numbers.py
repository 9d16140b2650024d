"""Row numbers: calls of row_number() that the binder adds to plans for its own use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.plan_ir.expr import Expr, OrderItem, WindowCall
from engine.sql.binder.scope import Scope

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def row_number(binder: QueryBinder, parts: Sequence[Expr] = (), order: Sequence[OrderItem] = ()) -> WindowCall:
    """Return row_number() OVER (PARTITION BY parts ORDER BY order)."""
    tree = exp.Window(this=exp.Anonymous(this="row_number", expressions=[]))
    call = binder.expressions.bind(tree, Scope(binder.context, binder))
    assert isinstance(call, WindowCall)
    return replace(call, partition_by=tuple(parts), order_by=tuple(order))

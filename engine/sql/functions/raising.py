"""An expression that has no value: evaluating it raises the error that the call's argument encodes
(`engine.common.error_codec`). This is no row of the function table, because statements cannot call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import cast
from engine.sql.functions.trees import both, fail_with
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call


def _raise(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    return fail_with(engine, args[0])


RAISED: Final[Function] = cast(t.TEXT, t.ANY, **both(_raise))

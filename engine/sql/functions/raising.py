"""A value that is never had: whoever computes it fails with the error that the call's argument tells (`engine.common.error_codec`).
No row of the function table: nobody can call it."""

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

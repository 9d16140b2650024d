"""Leakproof conditions: they disclose nothing of a row for which they are not true, neither by an error nor by a
message.

Such conditions may run over rows that a view with security_barrier does not show, so they are pushed down to its files.
Others run after the view's own condition. PostgreSQL defines which operators are leakproof (pg_proc.proleakproof); a
call of any function is not.
"""

from __future__ import annotations

from functools import cache

from engine.pg_catalog.builtin import rows
from engine.plan_ir.expr import And, Call, ColumnRef, Const, ContextRef, Expr, InList, IsNull, Not, Or, ParamRef

_SILENT = (And, Or, Not, IsNull, InList, ColumnRef, Const, ParamRef, ContextRef)


def is_leakproof(expr: Expr) -> bool:
    return all(isinstance(part, _SILENT) or _is_leakproof_operator(part) for part in expr.walk())


def _is_leakproof_operator(part: Expr) -> bool:
    if not isinstance(part, Call) or part.function.kind != "operator" or len(part.function.args) != 2:
        return False
    left, right = part.function.args
    return (part.function.name, left.oid, right.oid) in _operators()


@cache
def _operators() -> frozenset[tuple[str, int, int]]:
    """Return (symbol, left, right) of each leakproof operator."""
    functions = rows("pg_proc").select(["oid", "proleakproof"]).to_pylist()
    silent = {function["oid"] for function in functions if function["proleakproof"]}
    table = rows("pg_operator").select(["oprname", "oprleft", "oprright", "oprcode"]).to_pylist()
    return frozenset((o["oprname"], o["oprleft"], o["oprright"]) for o in table if o["oprcode"] in silent)

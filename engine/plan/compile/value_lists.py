"""Long lists of constants for DuckDB: one literal that it reads as rows, instead of an expression for each.

`x IN (1, 2, ...)` costs DuckDB several passes over as many expressions, during which it looks for no interrupt: 200,000 numbers
take it ten seconds. The same numbers as one text, `x IN (SELECT UNNEST(CAST('[1,2,...]' AS INTEGER[])))`, are read by its
vectorised cast and looked up in a hash table. The answer is the same where the condition of a WHERE or HAVING stands: a null on
the left gives null, and the list has none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.executor import EngineName
from engine.plan.compile.literals import array_storage
from engine.plan.compile.storage import storage_type
from engine.plan.compile.trees import call, cast, string
from engine.sql.expr import Const, Expr, InList
from wire import types as t

#: Below, a list is short to plan, and readers of files look into it for row groups that they need not read.
_LONG: Final = 1000
_INTEGERS: Final = (t.INT2, t.INT4, t.INT8)
_TEXTS: Final = (t.TEXT, t.VARCHAR)


def is_long(expr: Expr, engine: EngineName) -> bool:
    """Whether the expression is IN over a list that is better read as rows: constants of one type, none of them null."""
    if engine != "local" or not isinstance(expr, InList) or len(expr.items) < _LONG:
        return False
    pg = expr.arg.type.pg
    return pg in (*_INTEGERS, *_TEXTS) and all(
        isinstance(item, Const) and item.type.pg is pg and item.value is not None for item in expr.items
    )


def rows(items: Sequence[Expr]) -> exp.Expression:
    """The values of a long list as a query of one column."""
    values = [item.value for item in items if isinstance(item, Const)]
    typ = items[0].type
    text = string(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
    read = (
        call("FROM_JSON", text, string('["VARCHAR"]'))
        if typ.pg in _TEXTS
        else cast(text, array_storage(storage_type(typ, "local"), 1))
    )
    return exp.Subquery(this=exp.Select(expressions=[call("UNNEST", read)]))

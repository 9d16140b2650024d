"""Long lists and tables of constants and parameters for DuckDB: one literal per column, read as rows, not one
expression per value.

`x IN (1, 2, ...)` costs DuckDB several passes over as many expressions, during which it checks for no interrupt:
200,000 numbers take ten seconds. The same numbers as one text, `x IN (SELECT CAST(UNNEST(FROM_JSON('["1","2",...]',
...)) AS INTEGER))`, are parsed by vectorised functions and looked up in a hash table. VALUES of many rows are written
in the same way. In the condition of a WHERE or HAVING the answer is the same: a row whose left side is null, or which
has no equal in a list with a null, is not kept either way.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import SqlType
from engine.plan_ir.columnar_rows import ColumnarRows
from engine.plan_ir.expr import Const, Constants, Expr, InList, Parameters, ParamRef
from engine.plan_ir.logical import Values
from engine.planner.codegen.scope import Scope
from engine.sql.trees.build import call, cast, column, string, table_alias, with_alias
from engine.sql.trees.literals import fits
from engine.sql.trees.storage_types import storage_type
from wire.types import pg_types as t

#: Shorter lists are planned quickly, and file readers use them to skip row groups.
_LONG: Final = 1000
_INTEGERS: Final = (t.INT2, t.INT4, t.INT8)
_TEXTS: Final = (t.TEXT, t.VARCHAR)


def rows(expr: InList, scope: Scope) -> exp.Expression | None:
    """Return the values that IN compares with as a query of one column; None for a list that is short or of other
    types.
    """
    gathered, typ = isinstance(expr.items, Constants | Parameters), expr.items[0].type
    if scope.engine != "local" or not (gathered or len(expr.items) >= _LONG):
        return None
    if typ.pg is not expr.arg.type.pg or typ.pg not in (*_INTEGERS, *_TEXTS):
        return None
    column = _column_of(typ, expr.items, scope)
    if column is None:
        return None
    return exp.Subquery(this=exp.Select(expressions=[_cast_text(call("UNNEST", column), typ)]))


def table(node: Values, alias: str, scope: Scope) -> exp.Expression | None:
    """Return many rows of constants as a relation of that name, its columns labelled; None if they are few or of other
    types.
    """
    if scope.engine != "local" or len(node.rows) < _LONG or not node.columns:
        return None
    cells = node.rows.columns if isinstance(node.rows, ColumnarRows) else zip(*node.rows, strict=True)
    texts = [_column_of(column.type, values, scope) for column, values in zip(node.columns, cells, strict=True)]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    lists = [with_alias(call("UNNEST", text), c.label) for text, c in zip(known, node.columns, strict=True)]
    zipped = exp.Subquery(this=exp.Select(expressions=lists), alias=table_alias(alias))
    typed = [with_alias(_cast_text(column(c.label, alias), c.type), c.label) for c in node.columns]
    return exp.Subquery(this=exp.Select(expressions=typed, from_=exp.From(this=zipped)), alias=table_alias(alias))


def _column_of(typ: SqlType, cells: Sequence[Expr], scope: Scope) -> exp.Expression | None:
    values = _values(typ, cells, scope)
    return None if values is None else _column(values, typ)


def _values(typ: SqlType, cells: Sequence[Expr], scope: Scope) -> Sequence[Any] | None:
    """Return the values of constants and parameters; None if some are of another type, or are computed."""
    if isinstance(cells, Constants):
        return cells.values if cells.type.pg is typ.pg else None
    parameters = scope.compilation.bindings.parameters
    if isinstance(cells, Parameters):
        return [parameters[index] for index in cells.indexes] if cells.type.pg is typ.pg else None
    values = []
    for cell in cells:
        check_for_interrupts()
        if cell.type.pg is not typ.pg or not isinstance(cell, Const | ParamRef):
            return None
        values.append(cell.value if isinstance(cell, Const) else parameters[cell.index])
    return values


def _column(values: Sequence[Any], typ: SqlType) -> exp.Expression | None:
    """Return a list of the values' texts; None if one has no text that a cast would read as the same value."""
    text_of = _TEXTS_OF.get(typ.pg)
    if text_of is None:
        return None
    try:
        texts = [None if value is None else text_of(value, typ) for value in values]
    except _NoText:
        return None
    return call(
        "FROM_JSON", string(json.dumps(texts, ensure_ascii=False, separators=(",", ":"))), string('["VARCHAR"]')
    )


def _cast_text(text: exp.Expression, typ: SqlType) -> exp.Expression:
    return text if typ.pg in _TEXTS else cast(text, storage_type(typ, "local"))


class _NoText(Exception):
    """A value that has no text form here."""


def _integer(value: int, _typ: SqlType) -> str:
    return str(value)


def _numeric(value: Decimal, typ: SqlType) -> str:
    if not value.is_finite() or not fits(value, typ):
        raise _NoText
    return format(value, "f")


def _float(value: float, _typ: SqlType) -> str:
    if not math.isfinite(value):
        raise _NoText
    return repr(float(value))


def _text(value: str, _typ: SqlType) -> str:
    return value


_TEXTS_OF: Final[Mapping[t.PgType, Callable[[Any, SqlType], str]]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    **dict.fromkeys(_TEXTS, _text),
    t.NUMERIC: _numeric,
    t.FLOAT8: _float,
}

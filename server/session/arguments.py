"""Evaluates the arguments of EXECUTE: expressions that the engine computes, as canonical values for the prepared
statement.

`EXECUTE p (1 + 1, 'x')` runs `SELECT CAST(1 + 1 AS t1), CAST('x' AS t2)` with the parameter types of `p`. Canonical
values are defined in `engine.plan_ir.expr`; pyarrow's values of dates and timestamps are not canonical.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from engine.session.engine_session import EngineSession
from engine.sql.parser.nodes.statements import ExecuteStatement, Query
from wire.errors import FeatureNotSupported, SqlSyntaxError, UndefinedParameter
from wire.types import pg_types as t
from wire.types.numbers_input import read_numeric


def _require_count(statement: ExecuteStatement, parameters: Sequence[t.PgType]) -> None:
    if len(statement.arguments) != len(parameters):
        raise SqlSyntaxError(
            f'wrong number of parameters for prepared statement "{statement.name}"',
            detail=f"Expected {len(parameters)} parameters but got {len(statement.arguments)}.",
        )


async def evaluate(
    engine: EngineSession, statement: ExecuteStatement, parameters: Sequence[t.PgType]
) -> tuple[object, ...]:
    """Return the values of an EXECUTE's arguments, one for each parameter type. Raises SqlError."""
    if not parameters:
        # PostgreSQL ignores arguments if there are no parameters (prepare.c, ExecuteQuery).
        return ()
    _require_count(statement, parameters)
    prepared = await engine.prepare(_query(statement, parameters), ())
    if prepared.parameters:
        raise UndefinedParameter("there is no parameter $1")
    execution = await engine.execute(prepared, ())
    try:
        batch = await execution.stream.next_batch()
    finally:
        await execution.close()
    assert batch is not None, "a SELECT without FROM gives one row"
    values = tuple(
        _with_decimals(canonical(column)[0], pg) for column, pg in zip(batch.columns, parameters, strict=True)
    )
    if any(pg is t.RECORD and value is not None for pg, value in zip(parameters, values, strict=True)):
        # The statement was bound without the fields of the record.
        raise FeatureNotSupported("not supported: a parameter of type record")
    return values


def _with_decimals(value: Any, pg: t.PgType) -> Any:
    """Return a canonical value; a numeric that is carried as text becomes a number."""
    if (t.element_of(pg) if pg.is_array else pg) is not t.NUMERIC:
        return value
    if isinstance(value, list):
        return [_with_decimals(item, pg) for item in value]
    return read_numeric(value) if isinstance(value, str) else value


def _query(statement: ExecuteStatement, parameters: Sequence[t.PgType]) -> Query:
    casts = []
    for number, (argument, pg) in enumerate(zip(statement.arguments, parameters, strict=True), 1):
        cast = exp.Cast(this=argument.copy(), to=_type_tree(pg))
        cast.meta["argument"] = number
        casts.append(cast)
    # The engine identifies a statement by its text, so the text includes the types.
    text = f"{statement.text} -- {', '.join(pg.name for pg in parameters)}"
    return Query(text=text, offset=statement.offset, tree=exp.select(*casts))


def _type_tree(pg: t.PgType) -> exp.DataType:
    """Return a type's name in the form that `engine.sql.binder.type_names` reads."""
    element = t.element_of(pg) if pg.is_array else pg
    tree = exp.DataType(this=exp.DType.USERDEFINED, kind=exp.to_identifier(element.name), expressions=[])
    if pg.is_array:
        tree.set("array", 1)
    return tree


def canonical(values: pa.Array) -> list[Any]:
    """Return a (short) column of carriers as canonical values."""
    typ = values.type
    if pa.types.is_list(typ):
        return [None if not item.is_valid else canonical(item.values) for item in values]
    if pa.types.is_date(typ):
        values = values.cast(pa.int32())
    elif pa.types.is_time(typ) or pa.types.is_timestamp(typ):
        values = values.cast(pa.int64())
    plain: list[Any] = values.to_pylist()
    return plain

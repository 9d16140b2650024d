"""Functions of the local engine that process one value at a time, because documents, addresses and ranges have no
columnar form.

    register("sluice_jsonb_typeof", ["VARCHAR"], "VARCHAR", documents.kind)

Each distinct call of a batch is computed once, and its result is used for every row that has the same arguments. Calls
that may take long are interruptible (`engine.executors.local.cursor_work`), and the texts of a batch are bounded
(`engine.executors.local.result_sizes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from engine.common.interrupts import check_for_interrupts
from engine.executors.local.cursor_work import work_of_cursor
from engine.executors.local.result_sizes import require_room
from engine.executors.local.udf import arrow_function

#: The Arrow types of results, by the names of DuckDB's types.
_ARROW: Final[dict[str, pa.DataType]] = {
    "VARCHAR": pa.utf8(),
    "BLOB": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "VARCHAR[]": pa.list_(pa.utf8()),
    "VARCHAR[][]": pa.list_(pa.list_(pa.utf8())),
    "STRUCT(f0 VARCHAR, f1 VARCHAR)[]": pa.list_(pa.struct([("f0", pa.utf8()), ("f1", pa.utf8())])),
}


def register(
    name: str,
    parameters: Sequence[str],
    returns: str,
    compute: Callable[..., Any],
    *,
    strict: bool = True,
    interruptible: bool = False,
) -> None:
    """Register `compute` as a function of columns. parameters, returns: DuckDB's type names; lists are passed as
    tuples.

    strict: return null for a null argument, without calling `compute`. interruptible: SQL passes the cursor's number
    after the parameters (`cursor_work.CURSOR_VARIABLE`), and `compute` runs as work that ends when the cursor is
    interrupted.
    """
    compute = _strictly(compute) if strict else compute
    if interruptible:
        parameters = [*parameters, "BIGINT"]
    column = _over(_interruptibly(compute) if interruptible else _each(compute), returns)
    arrow_function(name, parameters, returns, sees_nulls=True)(column)


def _strictly(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: None if None in args else compute(*args)


def _each(compute: Callable[..., Any]) -> Callable[[Sequence[tuple[Any, ...]]], list[Any]]:
    """Return a function that makes each distinct call once, and returns all results in the order of the rows."""

    def make_calls(calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        known: dict[tuple[Any, ...], Any] = {}
        results = []
        held = 0
        for call in calls:
            if call not in known:
                check_for_interrupts()
                known[call] = compute(*call)
            results.append(result := known[call])
            if isinstance(result, str | bytes):
                held += len(result)
                require_room(held, len(result))
        return results

    return make_calls


def _interruptibly(compute: Callable[..., Any]) -> Callable[[Sequence[tuple[Any, ...]]], list[Any]]:
    """Return a function like that of `_each` for calls whose last argument is the cursor's number; it runs as a part
    of the cursor's work.
    """
    make_calls = _each(lambda *call: compute(*call[:-1]))

    def make_interruptible_calls(calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        with work_of_cursor(calls[0][-1] if calls else None):
            return make_calls(calls)

    return make_interruptible_calls


def _over(make_calls: Callable[[Sequence[tuple[Any, ...]]], list[Any]], returns: str) -> Callable[..., Any]:
    def column(*arrays: Any) -> Any:
        calls = list(zip(*(_values(array) for array in arrays), strict=True))
        return pa.array(make_calls(calls), _ARROW[returns])

    return column


def _values(array: Any) -> list[Any]:
    """Return a column's values in hashable form: lists as tuples."""
    return [tuple(value) if isinstance(value, list) else value for value in array.to_pylist()]

"""Functions of the local engine that read each value by itself: documents, addresses, ranges have no columnar form.

    register("sluice_jsonb_typeof", ["VARCHAR"], "VARCHAR", documents.kind)

Each different call of a batch is made once, its answer put wherever it was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any, Final

import pyarrow as pa

from engine.executors.local.udf import arrow_function

#: DuckDB's types by name, as what a function gives.
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
    begin: Callable[[], None] | None = None,
) -> None:
    """Make `compute` a function of columns. parameters, returns: DuckDB's types by name; lists come as tuples.

    strict: null where an argument is, without asking `compute`. begin: called before the calls of a batch, on their thread.
    """
    column = _over(compute if not strict else _strictly(compute), len(parameters), returns, begin)
    arrow_function(name, parameters, returns, sees_nulls=True)(column)


def _strictly(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: None if None in args else compute(*args)


def _over(
    compute: Callable[..., Any], arity: int, returns: str, begin: Callable[[], None] | None
) -> Callable[..., Any]:
    def column(*arrays: Any) -> Any:
        if begin is not None:
            begin()
        known: dict[tuple[Any, ...], Any] = {}
        calls = list(zip(*(_values(array) for array in arrays), strict=True))
        for call in calls:
            if call not in known:
                known[call] = compute(*call)
        return pa.array([known[call] for call in calls], _ARROW[returns])

    # DuckDB counts a function's parameters by its signature.
    places = [Parameter(f"column_{n}", Parameter.POSITIONAL_ONLY) for n in range(arity)]
    column.__signature__ = Signature(places)  # type: ignore[attr-defined]
    return column


def _values(array: Any) -> list[Any]:
    """A column's values, hashable: lists as tuples."""
    return [tuple(value) if isinstance(value, list) else value for value in array.to_pylist()]

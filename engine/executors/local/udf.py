"""Functions of the local engine that SQL cannot express: vectorised over Arrow arrays, and registered in DuckDB at
start.

    @arrow_function("sluice_jsonb", ["VARCHAR"], "VARCHAR")
    def normalised(texts: pa.Array) -> pa.Array: ...

A function receives one Arrow array (or chunked array) per argument and returns one of the same length. It need not
handle null arguments, because DuckDB does not call it for rows that have one, unless `sees_nulls` is set. An error is
raised as a `SqlError`, which reaches the client unchanged. Names begin with `sluice_`, so that they hide none of
DuckDB's functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any, Final

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from engine.common.error_codec import as_text
from wire.dataclass import dataclass
from wire.errors import SqlError

Vectorised = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ArrowFunction:
    """A vectorised function. parameters, returns: DuckDB's type names. volatile: computed again for every row, never
    folded.
    """

    name: str
    parameters: tuple[str, ...]
    returns: str
    compute: Vectorised
    sees_nulls: bool = False
    volatile: bool = False


FUNCTIONS: Final[dict[str, ArrowFunction]] = {}


def arrow_function(
    name: str, parameters: Sequence[str], returns: str, *, sees_nulls: bool = False, volatile: bool = False
) -> Callable[[Vectorised], Vectorised]:
    """Register a vectorised function for every local engine that starts afterwards."""

    def register(compute: Vectorised) -> Vectorised:
        assert name.startswith("sluice_"), name
        assert name not in FUNCTIONS, name
        FUNCTIONS[name] = ArrowFunction(name, tuple(parameters), returns, compute, sees_nulls, volatile)
        return compute

    return register


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Register all functions with a database."""
    for function in FUNCTIONS.values():
        connection.create_function(
            function.name,
            _as_duckdb_calls_it(function),
            list(function.parameters),
            function.returns,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL if function.sees_nulls else FunctionNullHandling.DEFAULT,
            side_effects=function.volatile,
        )


def _as_duckdb_calls_it(function: ArrowFunction) -> Vectorised:
    """Return a function's `compute` with its SqlErrors encoded as texts that `engine.executors.local.errors` decodes,
    because DuckDB keeps only the text of an exception, and with the signature in which DuckDB counts the parameters.
    """

    @functools.wraps(function.compute)
    def call(*arrays: Any) -> Any:
        try:
            return function.compute(*arrays)
        except SqlError as error:
            raise ValueError(as_text(error)) from error

    call.__signature__ = _signature(len(function.parameters))  # type: ignore[attr-defined]
    return call


@functools.cache
def _signature(parameters: int) -> Signature:
    return Signature([Parameter(f"column_{n}", Parameter.POSITIONAL_ONLY) for n in range(parameters)])

"""json and jsonb functions for the local engine: `json_documents` over columns.

A document has no columnar form, so each is read by itself, but only once for all equal calls of a batch. The calls are built
by `engine.sql.functions.jsons`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any, Final

import pyarrow as pa

from engine.local import json_documents as documents
from engine.local.udf import arrow_function
from wire.text_json import read_json

_ARROW: Final[dict[str, pa.DataType]] = {
    "VARCHAR": pa.utf8(),
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "VARCHAR[]": pa.list_(pa.utf8()),
    "STRUCT(f0 VARCHAR, f1 VARCHAR)[]": pa.list_(pa.struct([("f0", pa.utf8()), ("f1", pa.utf8())])),
}
_PAIRS: Final = "STRUCT(f0 VARCHAR, f1 VARCHAR)[]"


def _over(compute: Callable[..., Any], arity: int, returns: str) -> Callable[..., Any]:
    """`compute` over columns: null where an argument is, each different call made once."""

    def column(*arrays: Any) -> Any:
        known: dict[tuple[Any, ...], Any] = {}
        calls = list(zip(*(_values(array) for array in arrays), strict=True))
        for call in calls:
            if call not in known:
                known[call] = None if None in call else compute(*call)
        return pa.array([known[call] for call in calls], _ARROW[returns])

    # DuckDB counts a function's parameters by its signature.
    places = [Parameter(f"column_{n}", Parameter.POSITIONAL_ONLY) for n in range(arity)]
    column.__signature__ = Signature(places)  # type: ignore[attr-defined]
    return column


def _values(array: Any) -> list[Any]:
    """A column's values, hashable: lists as tuples."""
    return [tuple(value) if isinstance(value, list) else value for value in array.to_pylist()]


def _register(name: str, parameters: Sequence[str], returns: str, compute: Callable[..., Any]) -> None:
    arrow_function(f"sluice_{name}", parameters, returns, sees_nulls=True)(_over(compute, len(parameters), returns))


def _changing(compute: Callable[..., Any]) -> Callable[..., str]:
    """A function of a jsonb value as one of its text."""
    return lambda text, *rest: documents.write(compute(documents.read(text), *rest))


def _set(text: str, path: Sequence[str | None], new: str, create: bool) -> str:
    return documents.write(documents.replaced(documents.read(text), path, documents.read(new), create))


def _insert(text: str, path: Sequence[str | None], new: str, after: bool) -> str:
    return documents.write(documents.inserted(documents.read(text), path, documents.read(new), after))


def _pairs(text: str, function: str, binary: bool, as_text: bool) -> list[dict[str, str | None]]:
    found = documents.paired(text, function, binary)
    return [{"f0": key, "f1": documents.as_text(value) if as_text else value} for key, value in found]


def _texts(text: str, function: str, binary: bool, as_text: bool) -> list[str | None]:
    return [documents.as_text(item) if as_text else item for item in documents.listed(text, function, binary)]


def _keys(text: str, function: str, binary: bool) -> list[str]:
    return [key for key, _ in documents.paired(text, function, binary)]


_V, _B, _I, _L = "VARCHAR", "BOOLEAN", "INTEGER", "VARCHAR[]"
_register("json", [_V], _V, read_json)
_register("jsonb", [_V], _V, documents.normalized)
_register("json_typeof", [_V], _V, documents.kind)
_register("json_member", [_V, _V], _V, documents.member)
_register("json_element", [_V, _I], _V, documents.element)
_register("jsonb_element", [_V, _I], _V, documents.binary_element)
_register("json_path", [_V, _L], _V, documents.at_path)
_register("json_text", [_V], _V, documents.as_text)
_register("json_length", [_V, _B], _I, documents.array_length)
_register("json_elements", [_V, _V, _B, _B], _L, _texts)
_register("json_pairs", [_V, _V, _B, _B], _PAIRS, _pairs)
_register("json_keys", [_V, _V, _B], _L, _keys)
_register("json_stripped", [_V], _V, documents.compacted)
_register("jsonb_stripped", [_V], _V, _changing(documents.stripped))
_register("jsonb_pretty", [_V], _V, lambda text: documents.pretty(documents.read(text)))
_register("jsonb_contains", [_V, _V], _B, lambda a, b: documents.contains(documents.read(a), documents.read(b)))
_register("jsonb_exists", [_V, _V], _B, lambda text, key: documents.exists(documents.read(text), key))
_register(
    "jsonb_exists_any",
    [_V, _L],
    _B,
    lambda text, keys: any(documents.exists(documents.read(text), key) for key in keys if key is not None),
)
_register(
    "jsonb_exists_all",
    [_V, _L],
    _B,
    lambda text, keys: all(documents.exists(documents.read(text), key) for key in keys if key is not None),
)
_register(
    "jsonb_concat", [_V, _V], _V, lambda a, b: documents.write(documents.joined(documents.read(a), documents.read(b)))
)
_register("jsonb_without_key", [_V, _V], _V, _changing(lambda value, key: documents.without_keys(value, [key])))
_register("jsonb_without_keys", [_V, _L], _V, _changing(documents.without_keys))
_register("jsonb_without_index", [_V, _I], _V, _changing(documents.without_index))
_register("jsonb_without_path", [_V, _L], _V, _changing(documents.without_path))
_register("jsonb_set", [_V, _L, _V, _B], _V, _set)
_register("jsonb_insert", [_V, _L, _V, _B], _V, _insert)

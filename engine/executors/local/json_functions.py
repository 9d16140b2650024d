"""json and jsonb functions for the local engine: `json_documents` applied to columns.

A document has no columnar form, so each is read separately (`distinct_calls`). `engine.sql.functions.jsons` builds the
calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from engine.executors.local import json_documents as documents
from engine.executors.local.distinct_calls import register
from wire.errors import InvalidParameterValue, NullValueNotAllowed
from wire.types.json_input import read_json

_PAIRS: Final = "STRUCT(f0 VARCHAR, f1 VARCHAR)[]"


def _register(name: str, parameters: Sequence[str], returns: str, compute: Callable[..., Any]) -> None:
    register(f"sluice_{name}", parameters, returns, compute)


def _on_text(compute: Callable[..., Any]) -> Callable[..., str]:
    """Return a function of a jsonb's text from a function of its value."""
    return lambda text, *rest: documents.write(compute(documents.read(text), *rest))


def _set(text: str, path: Sequence[str | None], new: str, create: bool) -> str:
    return documents.write(documents.set_path(documents.read(text), path, documents.read(new), create))


def _insert(text: str, path: Sequence[str | None], new: str, after: bool) -> str:
    return documents.write(documents.insert_at_path(documents.read(text), path, documents.read(new), after))


def _pairs(text: str, function: str, binary: bool, as_text: bool) -> list[dict[str, str | None]]:
    found = documents.list_members(text, function, binary)
    return [{"f0": key, "f1": documents.as_text(value) if as_text else value} for key, value in found]


def _texts(text: str, function: str, binary: bool, as_text: bool) -> list[str | None]:
    return [documents.as_text(item) if as_text else item for item in documents.list_elements(text, function, binary)]


def _keys(text: str, function: str, binary: bool) -> list[str]:
    return [key for key, _ in documents.list_members(text, function, binary)]


def _set_lax(text: str, path: Sequence[str | None], new: str | None, create: bool, instead: str | None) -> str | None:
    """Compute jsonb_set_lax: jsonb_set, with a choice of treatments for a new value that is null."""
    if new is not None:
        return _set(text, path, new, create)
    if instead not in ("raise_exception", "use_json_null", "delete_key", "return_target"):
        words = 'null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"'
        raise InvalidParameterValue(words)
    if instead == "raise_exception":
        raise NullValueNotAllowed(
            "JSON value must not be null",
            detail='Exception was raised because null_value_treatment is "raise_exception".',
            hint="To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
        )
    if instead == "return_target":
        return text
    if instead == "use_json_null":
        return _set(text, path, "null", create)
    return documents.write(documents.without_path(documents.read(text), path))


def _lax(text: str | None, path: Any, new: str | None, create: bool | None, instead: str | None) -> str | None:
    return None if text is None or path is None or create is None else _set_lax(text, path, new, create, instead)


_V, _B, _I, _L = "VARCHAR", "BOOLEAN", "INTEGER", "VARCHAR[]"
_register("json", [_V], _V, read_json)
_register("jsonb", [_V], _V, documents.normalize)
_register("json_typeof", [_V], _V, documents.kind)
_register("json_member", [_V, _V], _V, documents.member)
_register("json_element", [_V, _I], _V, documents.element)
_register("jsonb_element", [_V, _I], _V, documents.binary_element)
_register("json_path", [_V, _L], _V, documents.at_path)
_register("json_text", [_V], _V, documents.as_text)
_register("json_length", [_V, _B], _I, documents.array_length)
_register("json_elements", [_V, _V, _B, _B], _L, _texts)
_register("json_pairs", [_V, _V, _B, _B], _PAIRS, _pairs)
_register("json_records", [_V, _V, _B], _L, documents.records)
_register("json_keys", [_V, _V, _B], _L, _keys)
_register("json_stripped", [_V], _V, documents.compact)
_register("jsonb_stripped", [_V], _V, _on_text(documents.strip_nulls))
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
    "jsonb_concat",
    [_V, _V],
    _V,
    lambda a, b: documents.write(documents.concatenate(documents.read(a), documents.read(b))),
)
_register("jsonb_without_key", [_V, _V], _V, _on_text(lambda value, key: documents.without_keys(value, [key])))
_register("jsonb_without_keys", [_V, _L], _V, _on_text(documents.without_keys))
_register("jsonb_without_index", [_V, _I], _V, _on_text(documents.without_index))
_register("jsonb_without_path", [_V, _L], _V, _on_text(documents.without_path))
_register("jsonb_set", [_V, _L, _V, _B], _V, _set)
_register("jsonb_insert", [_V, _L, _V, _B], _V, _insert)
register("sluice_jsonb_set_lax", [_V, _L, _V, _B, _V], _V, _lax, strict=False)
_register("json_object", [_L], _V, documents.object_of_list)
_register("json_object_of", [_L, _L], _V, documents.object_of_lists)
_register("jsonb_scalar", [_V, _V, _V], _V, documents.scalar)

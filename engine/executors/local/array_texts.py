"""The elements of arrays that are given as texts or as json, as lists of texts, for the local engine. Casts of the
elements follow (`engine.sql.functions.casts`).

Source: PostgreSQL 15, arrayfuncs.c (array_in), jsonfuncs.c (populate_array).
"""

from __future__ import annotations

from engine.executors.local import json_documents as documents
from engine.executors.local.distinct_calls import register
from wire.errors import FeatureNotSupported, InvalidTextRepresentation
from wire.types.arrays_input import read_array


def _items(text: str) -> list[str | None]:
    """Return the elements of an array literal of one dimension."""
    found = read_array(text, str)
    if any(isinstance(item, list) for item in found):
        raise FeatureNotSupported("not supported: a computed text of an array with several dimensions")
    return found


def _json_items(text: str, key: str, as_json: bool) -> list[str | None] | None:
    """Return the elements of a json array, or of an array literal in a json string. key: the document's member.
    as_json: whether strings stay json.
    """
    kind = documents.kind(text)
    if kind == "null":
        return None
    if kind == "string":
        return _items(documents.as_text(text) or "")
    if kind != "array":
        raise InvalidTextRepresentation("expected JSON array", hint=f'See the value of key "{key}".')
    items = documents.elements(text)
    if any(documents.kind(item) == "array" for item in items):
        raise FeatureNotSupported("not supported: an array of several dimensions from json")
    return [None if documents.kind(item) == "null" else item if as_json else documents.as_text(item) for item in items]


register("sluice_array_items", ["VARCHAR"], "VARCHAR[]", _items)
register("sluice_json_items", ["VARCHAR", "VARCHAR", "BOOLEAN"], "VARCHAR[]", _json_items)

"""The ids that jsonpath's keyvalue() assigns to objects: which document an object belongs to, and its offset in that
document's binary form.

Documents are numbered: 0 is the document that is searched, 1 holds the path's variables, and each pair that a
keyvalue() produces is a further document.

Source: PostgreSQL 15, jsonpath_exec.c (executeKeyValueMethod).
"""

from __future__ import annotations

from typing import Any, Final

from engine.executors.local.json_documents import Number
from engine.executors.local.jsonb_offsets import offsets

#: The id of an object is its offset in a document, plus the document's number times this.
_DOCUMENT: Final = 10_000_000_000


class ObjectIds:
    """The ids assigned in one search. documents: the number of documents when it begins."""

    def __init__(self, documents: int) -> None:
        self._documents = documents
        self._offsets: dict[int, tuple[Any, dict[int, int]]] = {}

    def id_of(self, item: Any, number: int, document: Any) -> Number:
        """Return the id of an object in the document of that number."""
        if id(document) not in self._offsets:
            self._offsets[id(document)] = document, offsets(document)
        return Number(self._offsets[id(document)][1][id(item)] + number * _DOCUMENT)

    def add_document(self) -> int:
        """Add a document and return its number."""
        self._documents += 1
        return self._documents - 1

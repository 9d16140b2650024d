"""The ids that a jsonpath's keyvalue() gives of objects: which document an object is in, and where in its binary form.

Documents are numbered: 0 is the one that is searched, 1 has the path's variables, and each pair that a keyvalue() makes is another.

Source: PostgreSQL 15, jsonpath_exec.c (executeKeyValueMethod).
"""

from __future__ import annotations

from typing import Any, Final

from engine.executors.local.json_documents import Number
from engine.executors.local.jsonb_offsets import offsets

#: Ids of objects are their places in a document, and this times the document's number.
_DOCUMENT: Final = 10_000_000_000


class ObjectIds:
    """The ids of one search. documents: how many there are when it begins."""

    def __init__(self, documents: int) -> None:
        self._documents = documents
        self._offsets: dict[int, tuple[Any, dict[int, int]]] = {}

    def id_of(self, item: Any, number: int, document: Any) -> Number:
        """The id of an object of the document of that number."""
        if id(document) not in self._offsets:
            self._offsets[id(document)] = document, offsets(document)
        return Number(self._offsets[id(document)][1][id(item)] + number * _DOCUMENT)

    def add_document(self) -> int:
        """The number of a further document."""
        self._documents += 1
        return self._documents - 1

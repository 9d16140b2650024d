"""The keys under which sessions cache plans: equal keys must have equal catalogs.

A plan over a catalog is reused while `SessionCatalog.cache_key` stays the same, and what binds a statement while
`definition_key` does. Each statement of a simulated client records what it sees under both keys, and compares it with
what earlier statements have seen under the same ones.
"""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping
from dataclasses import replace

from engine.catalog.model.objects import Table
from engine.catalog.snapshot import Snapshot
from engine.catalog.store.transaction import SessionCatalog
from engine.storage import tables
from simulated.history import Violation

_Seen = MutableMapping[Hashable, object]


class PlanKeys:
    """What statements of one process have seen, by the keys of their catalogs. Snapshots of one process are numbered
    together, whichever session reads them.
    """

    def __init__(self) -> None:
        self._files: _Seen = {}
        self._definitions: _Seen = {}
        #: Of the transaction whose catalog was looked at last.
        self._own: tuple[SessionCatalog, _Seen] | None = None

    def check(self, catalog: SessionCatalog, table: Table) -> None:
        """Check the keys of a statement's catalog. table: one that the statement reads, with its files. Raises
        Violation.
        """
        if (key := catalog.cache_key()) is not None:
            _require_same(self._files, (key, table.name), (table.columns, tuple(table.files)), "files")
        if (of := catalog.definition_key()) is not None:
            _, changed = of
            seen = self._definitions if not changed else self._own_definitions(catalog)
            _require_same(seen, of, _definitions(catalog.current()), "definitions")

    def _own_definitions(self, catalog: SessionCatalog) -> _Seen:
        """The definitions that a transaction has seen with its own changes, which no other one sees."""
        if self._own is None or self._own[0] is not catalog:
            self._own = (catalog, {})
        return self._own[1]


def _definitions(snapshot: Snapshot) -> object:
    relations = {
        key: (_without_content(found), found.statistics) if isinstance(found, Table) else found
        for key, found in snapshot.relations.items()
    }
    return relations, snapshot.schemas, snapshot.roles, snapshot.types, snapshot.rights


def _without_content(table: Table) -> Table:
    assert table.storage is not None, "a stored table"
    return replace(table, files=(), version=0, storage=tables.bare(table.storage))


def _require_same(seen: _Seen, key: Hashable, found: object, what: str) -> None:
    if seen.setdefault(key, found) != found:
        raise Violation(f"two catalogs of one key have different {what}: a cached plan would be used for both")

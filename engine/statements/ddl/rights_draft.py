"""Owners and privileges while one statement changes them, on any number of objects: later steps of the statement see
its earlier changes, and all changes are recorded at once.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.rights import Judge, ObjectRights
from engine.catalog.snapshot import RightsChange
from engine.catalog.store.transaction import SessionCatalog


class RightsDraft:
    """See the module's docstring. judge: judges by the state that includes the changes."""

    def __init__(self, catalog: SessionCatalog) -> None:
        snapshot = catalog.current()
        self._catalog = catalog
        self._before = snapshot.rights.objects
        self._changed: dict[int, ObjectRights] = dict(self._before)
        self._names: dict[int, str] = {}
        self.judge = Judge(replace(snapshot.rights, objects=self._changed), snapshot.roles)

    def of(self, oid: int) -> ObjectRights:
        return self.judge.rights.of(oid)

    def put(self, oid: int, name: str, rights: ObjectRights) -> None:
        self._changed[oid] = rights
        self._names[oid] = name

    def record(self) -> None:
        changes = [
            RightsChange(oid, name, self._changed[oid], before)
            for oid, name in self._names.items()
            if (before := self._before.get(oid)) != self._changed[oid]
        ]
        if changes:
            self._catalog.objects.put_rights(changes)

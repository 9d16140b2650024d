"""Claims of an open transaction on tables, which keep background compaction away from them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from engine.catalog.model.objects import Table
from engine.catalog.snapshot import TEMPORARY
from engine.catalog.store.uncommitted_files import location_of
from engine.catalog.store.visible_catalog import VisibleCatalog
from engine.storage.claims import Claim

#: The key of the claim on all tables.
_EVERYTHING: Final = ""


class CompactionClaims:
    """The claims of a session's transaction."""

    def __init__(self, visible: VisibleCatalog) -> None:
        self._visible = visible
        #: Claims by the locations of tables.
        self._claims: dict[str, Claim] = {}

    def __bool__(self) -> bool:
        return bool(self._claims)

    def claim(self, table: Table) -> None:
        """Keep background compaction away from a stored table that the open transaction, if there is one, is about to
        depend on. The caller claims the table before the statement reads it. May block on the disk.
        """
        location = location_of(table)
        is_shared = self._visible.in_transaction and table.schema != TEMPORARY
        if is_shared and location is not None and location not in self._claims:
            self._claims[location] = Claim(Path(table.path))

    @property
    def needs_snapshot(self) -> bool:
        """Whether `claim_snapshot` must be called before the next statement reads the catalog."""
        return _EVERYTHING not in self._claims and self._visible.will_freeze

    def claim_snapshot(self) -> None:
        """Keep background compaction away from all tables: the open transaction sees one state of them, and may change
        each later. May block on the disk.
        """
        self._claims[_EVERYTHING] = Claim(self._visible.store.tables)

    def release(self) -> None:
        claims, self._claims = self._claims, {}
        for claim in claims.values():
            claim.release()

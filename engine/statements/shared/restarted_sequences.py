"""Restarts sequences: ALTER SEQUENCE ... RESTART, TRUNCATE ... RESTART IDENTITY."""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.objects import Sequence, Table
from engine.catalog.store.transaction import SessionCatalog


def restart_sequence(sequence: Sequence, first: int, catalog: SessionCatalog) -> Sequence:
    """Return the sequence with a new counter, which starts at `first`. A rollback restores the old counter."""
    return replace(sequence, counter=catalog.objects.new_oid(), first=first)


def restart_owned(table: Table, catalog: SessionCatalog) -> None:
    """Restart the sequences that belong to a table, for TRUNCATE ... RESTART IDENTITY."""
    for relation in list(catalog.current().relations.values()):
        if isinstance(relation, Sequence) and relation.owner is not None and relation.owner[0] == table.oid:
            catalog.objects.put(restart_sequence(relation, relation.start, catalog), replacing=True)

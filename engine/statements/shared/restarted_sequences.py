"""Restarts sequences: ALTER SEQUENCE ... RESTART, TRUNCATE ... RESTART IDENTITY."""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.objects import Sequence, Table
from engine.catalog.store.transaction import SessionCatalog


def restart_sequence(sequence: Sequence, first: int, catalog: SessionCatalog) -> Sequence:
    """The sequence with a counter that begins anew: a rollback has the old one again."""
    return replace(sequence, counter=catalog.objects.new_oid(), first=first)


def restart_owned(table: Table, catalog: SessionCatalog) -> None:
    """TRUNCATE ... RESTART IDENTITY: the sequences that go with a table begin anew."""
    for relation in list(catalog.current().relations.values()):
        if isinstance(relation, Sequence) and relation.owner is not None and relation.owner[0] == table.oid:
            catalog.objects.put(restart_sequence(relation, relation.start, catalog), replacing=True)

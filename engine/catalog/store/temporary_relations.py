"""The temporary relations of a session. No other session sees them, and they are never in the catalog database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.catalog.model.objects import Schema, StoredRelation, Table
from engine.catalog.model.user_types import with_current_types
from engine.catalog.replay import with_statistics
from engine.catalog.snapshot import Analysis, AnyChange, Change, DataChange, Key, Snapshot
from engine.catalog.store.uncommitted_files import location_of
from engine.sql.parser.nodes.statements import OnCommit
from engine.storage import tables


class TemporaryRelations:
    """The temporary relations of one session. relations: never changed in place, so a savepoint is a reference. root:
    the folder of stored tables.
    """

    def __init__(self, root: Path) -> None:
        self.relations: dict[Key, StoredRelation] = {}
        self._root = root
        #: A state, the temporary relations, and that state with them: the same object is returned while neither
        #: changes.
        self._shown: tuple[Snapshot, dict[Key, StoredRelation], Snapshot] | None = None
        #: The ON COMMIT actions of temporary tables, by OID; entries of dropped tables are ignored.
        self._at_commit: dict[int, OnCommit] = {}

    def add_to(self, base: Snapshot) -> Snapshot:
        """Return a snapshot with the temporary relations, whose types are as in that snapshot."""
        temporary = self.relations
        if not temporary:
            return base
        if self._shown is None or self._shown[0] is not base or self._shown[1] is not temporary:
            own = {key: with_current_types(relation, base.types) for key, relation in temporary.items()}
            self._shown = (base, temporary, replace(base, relations={**base.relations, **own}))
        return self._shown[2]

    def record(self, change: AnyChange) -> None:
        """Apply a change to a temporary relation."""
        relations = self.relations = dict(self.relations)
        match change:
            case DataChange():
                present = relations[change.key]
                assert isinstance(present, Table)
                relations[change.key] = tables.with_changed_files(present, change.files)
            case Analysis():
                present = relations[change.key]
                assert isinstance(present, Table)
                relations[change.key] = with_statistics(present, change.statistics)
            case Change(after=None):
                del relations[change.key]
            case Change(after=relation) if relation is not None:
                assert not isinstance(relation, Schema), "a schema is not temporary"
                relations[change.key] = relation

    def plan_for_commit(self, table: Table, action: OnCommit) -> None:
        """Record the ON COMMIT action of a temporary table."""
        if action != "preserve":
            self._at_commit[table.oid] = action

    def due_at_commit(self) -> Sequence[tuple[Table, OnCommit]]:
        """Return the temporary tables whose rows or definition the next commit removes, each with its ON COMMIT action."""
        if not self._at_commit:
            return ()
        there = [table for table in self.relations.values() if isinstance(table, Table)]
        return [(table, self._at_commit[table.oid]) for table in there if table.oid in self._at_commit]

    def discard(self) -> None:
        """Drop the temporary relations, and remove the folders of tables."""
        temporary, self.relations = self.relations, {}
        self._at_commit.clear()
        for relation in temporary.values():
            if (location := location_of(relation)) is not None:
                tables.discard(self._root, location)

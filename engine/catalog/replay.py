"""Replay of a transaction's changes on a newer snapshot than the one that it read. COMMIT uses it, and so does each
statement of an open transaction, which sees its transaction's changes on the newest state.

Each change records the object as its statement saw it (`before`). If the object is different now, two transactions have
changed it, and the later one fails. Files of tables are added to the present ones, whichever transaction wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from engine.catalog.conflicts import ChangedByAnother, SchemaDropped
from engine.catalog.model.objects import StoredRelation, Table, View
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.model.user_types import with_current_types
from engine.catalog.snapshot import (
    DECLARED_OIDS,
    FIRST_OID,
    Analysis,
    AnyChange,
    Change,
    DataChange,
    DefaultsChange,
    Guard,
    Key,
    RightsChange,
    RoleChange,
    Snapshot,
    TypeChange,
    net_changes,
)
from engine.storage import tables
from engine.storage.tables import FileChange


def replay(base: Snapshot, changes: Iterable[AnyChange], moving: dict[str, Table] | None = None) -> Snapshot:
    """A snapshot with a transaction's changes, not committed. Raises SerializationFailure when something else now
    stands where the transaction saw what it changed. May block where a table's files were never asked for before.

    moving: where the base has earlier changes of the same transaction, as their replay has left it; it is changed.
    """
    snapshot = base
    moving = {} if moving is None else moving
    gone = False
    for change in changes:
        snapshot = _apply_change(snapshot, change, moving)
        gone = gone or (isinstance(change, TypeChange) and change.after is None)
    if gone:
        _require_types(snapshot)
    return replace(snapshot, version=base.version + 1)


def after_commit(base: Snapshot, changes: Sequence[AnyChange]) -> Snapshot:
    """Return the snapshot after a commit: as `replay`, and the files of the tables are the catalog's from now on."""
    snapshot = replay(base, changes)
    _require_whole(snapshot, [change for change in changes if isinstance(change, Change)])
    changed = net_changes(changes)
    keys = {change.key for change in changes if isinstance(change, DataChange | Change)} if changed else set()
    relations = dict(snapshot.relations) if changed else snapshot.relations
    rights = snapshot.rights
    if any(isinstance(change, Change | TypeChange) and change.after is None for change in changes):
        rights = rights.restrict_to(partial(_oids_with_rights, snapshot))
    for key in keys:
        table = snapshot.relations.get(key)
        storage = table.storage if isinstance(table, Table) else None
        if isinstance(table, Table) and storage is not None and storage.location in changed:
            files = FileChange(storage.added, storage.removed)
            # Files that were added and taken away again are no decision (`rows.steps`): the table is as it was, here and for
            # whoever reads it from the database.
            number = snapshot.version if changed[storage.location] else storage.changed
            decided = tables.with_commit(table, storage.version, number, files)
            relations[table.schema, table.name] = decided  # type: ignore[index]
    return replace(snapshot, relations=relations, rights=rights)


def _oids_with_rights(snapshot: Snapshot) -> set[int]:
    """Return the OIDs of what there is, and of what a topology declares, which no row of the catalog says."""
    return snapshot.oids() | {oid for oid in snapshot.rights.objects if oid >= DECLARED_OIDS}


def _require_whole(snapshot: Snapshot, changes: Sequence[Change]) -> None:
    """Nothing that was dropped is named by what another transaction has made meanwhile, and nothing that was made names what
    another has dropped. Not to be asked in the middle of a statement, which may remove a relation before it puts it elsewhere.
    Raises ChangedByAnother."""
    if not changes:
        return
    present = {relation.oid: relation for relation in snapshot.relations.values()}
    for schema, name in (change.key for change in changes):
        if (
            not name
            and schema not in snapshot.schemas
            and any(key[0] == schema for key in (*snapshot.relations, *snapshot.types))
        ):
            raise ChangedByAnother(schema)
    made = {change.key for change in changes if change.after is not None and change.key in snapshot.relations}
    for key in made:
        if _dangles(snapshot.relations[key], present):
            raise ChangedByAnother(key[1])
    lost: dict[int, tuple[str, set[int]]] = {}
    for change in changes:
        if isinstance(before := change.before, (Table, View)):
            columns = _lost(before, present.get(before.oid))
            if columns or before.oid not in present:
                lost[before.oid] = (before.name, columns)
    for key, relation in snapshot.relations.items() if lost else ():
        if key not in made:
            _require_not_lost(relation, lost)


def _require_types(snapshot: Snapshot) -> None:
    """No relation has a type that is not there: another transaction may have made it. Raises SerializationFailure."""
    for relation in snapshot.relations.values():
        try:
            with_current_types(relation, snapshot.types)
        except KeyError:
            raise ChangedByAnother(relation.name) from None


def _apply_change(snapshot: Snapshot, change: AnyChange, moving: dict[str, Table]) -> Snapshot:
    match change:
        case Guard():
            _require_unchanged(snapshot, change)
            return snapshot
        case DataChange():
            return _with_files(snapshot, change)
        case Analysis():
            return _with_statistics(snapshot, change)
        case RoleChange():
            return snapshot.with_role(change)
        case TypeChange():
            return snapshot.with_type(change)
        case RightsChange():
            return snapshot.with_rights(change)
        case DefaultsChange():
            return snapshot.with_defaults(change)
        case _:
            return _with_definition(snapshot, change, moving)


def _with_definition(snapshot: Snapshot, change: Change, moving: dict[str, Table]) -> Snapshot:
    """moving: stored tables that were removed by an earlier change, by their location, as they stood then: one that is
    put again under another name has the files that it has now, not those that the transaction saw."""
    schema, name = change.key
    present = snapshot.relations.get(change.key) if name else snapshot.schemas.get(schema)
    after = change.after
    if isinstance(present, Table) and present.storage is not None and isinstance(change.before, Table):
        _require_same_definition(present, change.before)
        moving[present.storage.location] = present
        if isinstance(after, Table):
            after = _redefine(present, change.before, after)
    elif present != change.before:
        raise ChangedByAnother(name or schema)
    elif isinstance(after, Table) and after.storage is not None and after.storage.location in moving:
        after = _with_files_of(moving[after.storage.location], after)
    if name and schema not in snapshot.schemas:
        raise SchemaDropped(schema)
    return snapshot.with_change(replace(change, after=after))


def _with_statistics(snapshot: Snapshot, change: Analysis) -> Snapshot:
    present = snapshot.relations.get(change.key)
    if not isinstance(present, Table) or present.oid != change.before.oid:
        return snapshot
    return snapshot.with_change(Change(change.key, with_statistics(present, change.statistics)))


def _require_unchanged(snapshot: Snapshot, guard: Guard) -> None:
    present = _find_present(snapshot, guard.key, guard.before)
    if (guard.whole and not _same_files(present, guard.before)) or tables.missing_paths(present, guard.paths):
        raise ChangedByAnother(guard.before.name)


def _find_present(snapshot: Snapshot, key: Key, before: Table) -> Table:
    """The stored table that is there now, defined as it was."""
    present = snapshot.relations.get(key)
    if not isinstance(present, Table) or present.storage is None:
        raise ChangedByAnother(before.name)
    _require_same_definition(present, before)
    return present


def _with_files(snapshot: Snapshot, change: DataChange) -> Snapshot:
    present = _find_present(snapshot, change.key, change.before)
    if (change.whole and not _same_files(present, change.before)) or tables.missing_paths(
        present, change.files.removed
    ):
        raise ChangedByAnother(present.name)
    changed = snapshot.with_change(Change(change.key, tables.with_changed_files(present, change.files)))
    return replace(changed, definitions=snapshot.definitions)


def _named_by(relation: StoredRelation) -> Sequence[int]:
    """OIDs of the relations that a view reads, or that foreign keys of a table name."""
    view = _view_of(relation)
    keys = relation.constraints if isinstance(relation, Table) else ()
    return (
        *(view.depends if view is not None else ()),
        *(k.references.table for k in keys if k.references is not None),
    )


def _view_of(relation: StoredRelation) -> View | None:
    query = relation.query if isinstance(relation, Table) else relation
    return query if isinstance(query, View) else None


def _dangles(relation: StoredRelation, present: Mapping[int, StoredRelation]) -> bool:
    """Whether it names a relation or a column that is not there. What a topology declares is not stored."""
    if any(FIRST_OID <= oid < DECLARED_OIDS and oid not in present for oid in _named_by(relation)):
        return True
    view = _view_of(relation)
    for seen in view.sees if view is not None else ():
        table = present.get(seen.oid)
        if isinstance(table, Table) and not {column.number for column in table.columns}.issuperset(seen.used):
            return True
    return False


def _lost(before: Table | View, now: StoredRelation | None) -> set[int]:
    """Numbers of the columns that a table has no more, or not with that type."""
    if not isinstance(before, Table) or not isinstance(now, Table):
        return set()
    kept = {(column.number, column.type) for column in now.columns}
    return {column.number for column in before.columns if (column.number, column.type) not in kept}


def _require_not_lost(relation: StoredRelation, lost: Mapping[int, tuple[str, set[int]]]) -> None:
    """lost: names of relations and what they have lost of columns, by OID; nothing where they are gone. Raises ChangedByAnother."""
    view = _view_of(relation)
    for oid in _named_by(relation):
        if oid in lost:
            name, columns = lost[oid]
            if not columns or (view is not None and any(view.reads_column(oid, number) for number in columns)):
                raise ChangedByAnother(name)


def _require_same_definition(present: Table, before: Table) -> None:
    if before.storage is None or tables.definition(present) != tables.definition(before):
        raise ChangedByAnother(present.name)


def _same_files(present: Table, before: Table) -> bool:
    """Whether no commit has changed the table's files since; what this transaction did with them does not count."""
    assert present.storage is not None
    assert before.storage is not None
    return present.storage.changed == before.storage.changed


def _redefine(present: Table, before: Table, after: Table) -> Table:
    """A stored table's new definition with the files that it has now. A definition may tell something of the rows (NOT NULL,
    a check) that was found out before: nobody may have changed them since."""
    if not _same_files(present, before):
        raise ChangedByAnother(present.name)
    assert present.storage is not None
    if after.storage is None or after.storage.location != present.storage.location:
        return after
    return _with_files_of(present, after)


def _with_files_of(present: Table, after: Table) -> Table:
    return replace(after, storage=present.storage, version=present.version, files=(), statistics=present.statistics)


def with_statistics(table: Table, statistics: TableStatistics) -> Table:
    """The table with these, and with what is known of other columns."""
    return replace(table, statistics=statistics.after(table.statistics))

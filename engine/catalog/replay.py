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
    """Return a snapshot with a transaction's changes, which are not committed. Raises SerializationFailure if an object
    is no longer as the transaction saw it when it changed it. May block if a table's files were never read before.

    moving: if the base has earlier changes of the same transaction, the dictionary that their replay has filled; this
    call updates it.
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
    """Return the snapshot after a commit: as `replay`, and the files of the changed tables are recorded as the
    catalog's.
    """
    snapshot = replay(base, changes)
    _require_whole(snapshot, [change for change in changes if isinstance(change, Change)])
    changed = net_changes(changes)
    keys = {change.key for change in changes if isinstance(change, DataChange | Change)} if changed else set()
    relations: dict[Key, StoredRelation] = {}
    rights = snapshot.rights
    if any(isinstance(change, Change | TypeChange) and change.after is None for change in changes):
        rights = rights.restrict_to(partial(_oids_with_rights, snapshot))
    for key in keys:
        table = snapshot.relations.get(key)
        storage = table.storage if isinstance(table, Table) else None
        if isinstance(table, Table) and storage is not None and storage.location in changed:
            files = FileChange(storage.added, storage.removed)
            # Files that were added and removed again make no decision (`rows.steps`): the table is unchanged, here and
            # for members that read it from the database.
            number = snapshot.version if changed[storage.location] else storage.changed
            relations[key] = tables.with_commit(table, storage.version, number, files)
    if relations:
        # The replay of changed files has made a new dictionary, which nobody else has.
        present = snapshot.relations
        assert isinstance(present, dict) and present is not base.relations  # noqa: PT018
        present.update(relations)
    return replace(snapshot, rights=rights)


def _oids_with_rights(snapshot: Snapshot) -> set[int]:
    """Return the OIDs of existing objects, including tables that a topology declares, which have no row in the catalog."""
    return snapshot.oids() | {oid for oid in snapshot.rights.objects if oid >= DECLARED_OIDS}


def _require_whole(snapshot: Snapshot, changes: Sequence[Change]) -> None:
    """Check references between the transactions' changes: objects that another transaction has made do not refer to
    dropped ones, and objects that this one has made do not refer to objects that another has dropped. Raises
    ChangedByAnother.

    The check is not valid in the middle of a statement, which may remove a relation before it puts it elsewhere.
    """
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
    """Check that no relation refers to a dropped type: another transaction may have made such a relation. Raises
    SerializationFailure.
    """
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
    """Apply a change of a definition.

    moving: stored tables that an earlier change removed, by their location, as they were then. A table that is put
    again under another name gets its current files, not those that the transaction saw.
    """
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
    present = find_present(snapshot, guard.before)
    if (guard.whole and not _same_files(present, guard.before)) or tables.missing_paths(present, guard.paths):
        raise ChangedByAnother(guard.before.name)


def find_present(snapshot: Snapshot, before: Table) -> Table:
    """Return a stored table as it is now. before: as a statement saw it. Raises ChangedByAnother if its definition has
    changed since.
    """
    present = snapshot.relations.get((before.schema, before.name))
    if not isinstance(present, Table) or present.storage is None:
        raise ChangedByAnother(before.name)
    _require_same_definition(present, before)
    return present


def _with_files(snapshot: Snapshot, change: DataChange) -> Snapshot:
    present = find_present(snapshot, change.before)
    if (change.whole and not _same_files(present, change.before)) or tables.missing_paths(
        present, change.files.removed
    ):
        raise ChangedByAnother(present.name)
    return replace(
        snapshot, relations={**snapshot.relations, change.key: tables.with_changed_files(present, change.files)}
    )


def _named_by(relation: StoredRelation) -> Sequence[int]:
    """Return the OIDs of the relations that a view reads, or that a table's foreign keys reference."""
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
    """Return whether a relation refers to a relation or a column that does not exist. Tables that a topology declares
    are not stored, and are not checked.
    """
    if any(FIRST_OID <= oid < DECLARED_OIDS and oid not in present for oid in _named_by(relation)):
        return True
    view = _view_of(relation)
    for seen in view.sees if view is not None else ():
        table = present.get(seen.oid)
        if isinstance(table, Table) and not {column.number for column in table.columns}.issuperset(seen.used):
            return True
    return False


def _lost(before: Table | View, now: StoredRelation | None) -> set[int]:
    """Return the numbers of the columns that a table no longer has, or has with another type."""
    if not isinstance(before, Table) or not isinstance(now, Table):
        return set()
    kept = {(column.number, column.type) for column in now.columns}
    return {column.number for column in before.columns if (column.number, column.type) not in kept}


def _require_not_lost(relation: StoredRelation, lost: Mapping[int, tuple[str, set[int]]]) -> None:
    """Raise ChangedByAnother if a relation refers to a lost object. lost: names of relations and the columns that they
    have lost, by OID; no columns if the relation is gone.
    """
    view = _view_of(relation)
    for oid in _named_by(relation):
        if oid in lost:
            name, columns = lost[oid]
            if not columns or (view is not None and any(view.reads_column(oid, number) for number in columns)):
                raise ChangedByAnother(name)


def _require_same_definition(present: Table, before: Table) -> None:
    if before.storage is None or not tables.same_definition(present, before):
        raise ChangedByAnother(present.name)


def _same_files(present: Table, before: Table) -> bool:
    """Return whether no commit has changed the table's files since. Changes of this transaction do not count."""
    assert present.storage is not None
    assert before.storage is not None
    return present.storage.changed == before.storage.changed


def _redefine(present: Table, before: Table, after: Table) -> Table:
    """Return a stored table's new definition with its current files. A definition may state facts about the rows (NOT
    NULL, a check) that were verified before, so no other transaction may have changed them since.
    """
    if not _same_files(present, before):
        raise ChangedByAnother(present.name)
    assert present.storage is not None
    if after.storage is None or after.storage.location != present.storage.location:
        return after
    return _with_files_of(present, after)


def _with_files_of(present: Table, after: Table) -> Table:
    return replace(after, storage=present.storage, version=present.version, files=(), statistics=present.statistics)


def with_statistics(table: Table, statistics: TableStatistics) -> Table:
    """Return the table with these statistics, plus the earlier ones of other columns."""
    return replace(table, statistics=statistics.after(table.statistics))

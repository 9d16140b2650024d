"""Incremental refresh of a catalog snapshot: only rows that were written since it was read are read again.

Every write of catalog rows notes their keys in the table `touched`, with the next *stamp*, in the same transaction.
Writes are commits, and settlements, which move a table's files without a commit. A member whose snapshot has stamp s
asks for the keys with later stamps, reads the rows with these keys, and keeps everything else. A commit of another
member thus costs it only the reading of what that commit changed.

Three more numbers in `meta`, beside the version:

- `stamp`: the stamp of the latest note.
- `floor`: notes up to this stamp may have been removed. A member whose snapshot is older reads everything. Notes are
  kept for thousands of stamps.
- `noted`: the version of the latest commit that has left notes. A member of an earlier release, which shares the
  catalog during a rolling upgrade, leaves none: `noted` is then behind the version, everything is read, and the next
  commit raises the floor.

Some changes are not worth rules of their own: if one role or schema was touched, all roles or schemas are read, and if
a type was touched, everything is read, since columns of any table may have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from engine.catalog.model.objects import StoredRelation, Table
from engine.catalog.model.rights import Rights
from engine.catalog.model.statistics import by_relation
from engine.catalog.model.user_types import type_of
from engine.catalog.snapshot import Key, Snapshot
from engine.catalog.store import rows
from engine.catalog.store.rows import Content, Step
from wire.dataclass import dataclass

#: The kind of a key, and its one or two texts: schema and name of a relation; location of files; OID of statistics; key
#: of privileges.
Touch = tuple[str, str, str]
Question = Literal["marks", "touched", "schemas", "relation", "storage", "decisions", "statistics", "roles", "rights"]
#: Up to this many touched keys are read one by one, plus one for this many relations; with more, all rows are read.
_KEYS_LEAST: Final = 64
_RELATIONS_OF_A_KEY: Final = 8
#: Notes of at least this many stamps are kept; old notes are removed at every n-th stamp.
_STAMPS_KEPT: Final = 8_192
_STAMPS_OF_A_ROUND: Final = 1_024


class Reader(Protocol):
    """Runs one of the questions in a database, within a transaction that sees one state."""

    def __call__(self, question: Question, values: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]: ...


@dataclass(frozen=True, slots=True)
class Marks:
    """The numbers of `meta` that this module uses."""

    version: int
    stamp: int
    floor: int
    noted: int

    @staticmethod
    def of(found: Iterable[tuple[Any, ...]]) -> Marks:
        """Return the marks of rows (key, value)."""
        told = dict(found)
        return Marks(told["version"], told["stamp"], told["floor"], told["noted"])

    def is_of(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot is the database's current state."""
        return snapshot.version == self.version and snapshot.stamp == self.stamp and self.noted == self.version

    def after_commit(self, version: int) -> Marks:
        """Return the marks after a commit that leaves notes with the next stamp."""
        stamp = self.stamp + 1
        floor = self._floor_at(stamp) if self.noted == self.version else stamp
        return Marks(version, stamp, floor, version)

    def after_settlement(self) -> Marks:
        """Return the marks after a settlement, which is not a commit but leaves notes with the next stamp."""
        return replace(self, stamp=self.stamp + 1, floor=self._floor_at(self.stamp + 1))

    def after_fill(self, version: int) -> Marks:
        """Return the marks after all rows were replaced."""
        return Marks(version, self.stamp + 1, self.stamp + 1, version)

    def _floor_at(self, stamp: int) -> int:
        return max(self.floor, stamp - _STAMPS_KEPT) if stamp % _STAMPS_OF_A_ROUND == 0 else self.floor

    def values(self) -> Iterable[tuple[int, str]]:
        """Return the marks as rows (value, key) of `meta`."""
        return (self.version, "version"), (self.stamp, "stamp"), (self.floor, "floor"), (self.noted, "noted")


def touch_of_files(location: str) -> Touch:
    """Return the key of a table's files."""
    return "files", location, ""


def touches(steps: Iterable[Step]) -> Sequence[Touch]:
    """Return the keys of the rows that a commit writes and deletes, each once."""
    return tuple(dict.fromkeys(touch for step in steps if (touch := _touch(step)) is not None))


def _touch(step: Step) -> Touch | None:
    first = str(step.values[0])
    match step.kind:
        case "put relation" | "drop relation":
            return "relation", first, str(step.values[1])
        case "put storage" | "drop storage" | "drop decisions":
            return touch_of_files(first)
        case "decide":
            return touch_of_files(str(step.values[1]))
        case "put statistics" | "drop statistics":
            return "statistics", first, ""
        case "put rights" | "drop rights":
            return "rights", first, ""
        case "put schema" | "drop schema":
            return "schemas", "", ""
        case "put role" | "drop role":
            return "roles", "", ""
        case "put type" | "drop type":
            return "types", "", ""
        case "put dropped" | "drop counter":
            return None


class Difference:
    """Updates snapshots of one database. May be used from several threads.

    root: the folder of stored tables.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        #: The keys of tables by their locations. Each must be checked against the snapshot in question.
        self._places: dict[str, Key] = {}

    def advance(self, known: Snapshot, read: Reader, whole: Callable[[int], Snapshot]) -> Snapshot:
        """Return the database's current state. known: a state that was read from it before. whole: reads everything; it
        receives the stamp.
        """
        marks = Marks.of(read("marks"))
        if not marks.floor <= known.stamp <= marks.stamp or marks.noted != marks.version:
            return whole(marks.stamp)
        if known.stamp == marks.stamp:
            return known
        touched = [(kind, first, second) for kind, first, second in read("touched", (known.stamp,))]
        few = _KEYS_LEAST + len(known.relations) // _RELATIONS_OF_A_KEY
        if len(touched) > few or any(kind == "types" for kind, _, _ in touched):
            return whole(marks.stamp)
        by_kind: dict[str, list[Key]] = {}
        for kind, first, second in touched:
            by_kind.setdefault(kind, []).append((first, second))
        snapshot = replace(known, version=marks.version, stamp=marks.stamp)
        if by_kind.keys() - {"files"}:
            snapshot = snapshot.with_new_definitions()
        if "schemas" in by_kind:
            snapshot = replace(snapshot, schemas=rows.read_schemas(read("schemas")))
        if "roles" in by_kind:
            snapshot = replace(snapshot, roles=rows.read_roles(read("roles")))
        if "rights" in by_kind:
            snapshot = replace(snapshot, rights=_rights(known.rights, [key for key, _ in by_kind["rights"]], read))
        keys = self._relations(known, by_kind)
        return replace(snapshot, relations=self._read_relations(known, keys, read)) if keys else snapshot

    def _relations(self, known: Snapshot, by_kind: Mapping[str, Sequence[Key]]) -> Sequence[Key]:
        """Return the relations with touched keys."""
        keys = dict.fromkeys(by_kind.get("relation", ()))
        for location, _ in by_kind.get("files", ()):
            if (place := self._place(known, location)) is not None:
                keys[place] = None
        analysed = {int(oid) for oid, _ in by_kind.get("statistics", ())}
        if analysed:
            keys |= dict.fromkeys(key for key, relation in known.relations.items() if relation.oid in analysed)
        return tuple(keys)

    def _place(self, known: Snapshot, location: str) -> Key | None:
        """Return the key of the table with this location in a snapshot; None if there is no such table: a table that
        was created since is touched itself.
        """
        place = self._places.get(location)
        if place is not None and _location(known.relations.get(place)) == location:
            return place
        found = next((key for key, relation in known.relations.items() if _location(relation) == location), None)
        if found is not None:
            self._places[location] = found
        else:
            self._places.pop(location, None)
        return found

    def _read_relations(self, known: Snapshot, keys: Iterable[Key], read: Reader) -> Mapping[Key, StoredRelation]:
        relations, find = dict(known.relations), type_of(known.types)
        for key in keys:
            found = next(iter(read("relation", key)), None)
            if found is None:
                relations.pop(key, None)
                continue
            relation = rows.relation(*found, find=find)
            content, location = Content({}, {}), _location(relation)
            if location is not None:
                content = Content.of(read("storage", (location,)), read("decisions", (location,)))
            analysed = by_relation(read("statistics", (relation.oid,))) if isinstance(relation, Table) else {}
            relations[key] = rows.with_content(relation, content, analysed, self._root)
        return relations


def _location(relation: StoredRelation | None) -> str | None:
    return relation.storage.location if isinstance(relation, Table) and relation.storage is not None else None


def _rights(known: Rights, keys: Iterable[str], read: Reader) -> Rights:
    """Return the privileges with the current entries of these keys."""
    touched = set(keys)
    now = rows.read_rights(row for key in sorted(touched) for row in read("rights", (key,)))
    objects = {oid: said for oid, said in known.objects.items() if str(oid) not in touched}
    defaults = {of: said for of, said in known.defaults.items() if rows.default_key(of) not in touched}
    return Rights({**objects, **now.objects}, {**defaults, **now.defaults})

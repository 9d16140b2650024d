"""The history of commits and its invariants: a model of snapshot isolation.

The history records a commit at the moment when the catalog database makes it, whatever happens to the client that
requested it. The model knows the rows of each file, but no decisions, logs or pinned versions. It checks these
invariants:

- A file that a transaction removes exists until then, and a file that it adds does not. Otherwise an update was lost or
  done twice.
- A transaction that depends on a whole table (it checks a key, moves the table, or adds a column) commits only if the
  table is unchanged since the transaction first used it. A transaction that has locked rows, or refers to a row by a
  foreign key, commits only if the files that contained these rows still exist.
- A transaction that is reported as committed has committed: its commit contains all of its rows and nothing else. A
  transaction that is reported as failed has not committed, and another one has changed since it began what it depends
  on.
- The clients of a member commit in the order of their requests, also where one commit of the catalog database contains
  many of them. Clients that have only appended rows to one table may be moved to the first of them: their rows are then
  in one file, in the order of their requests, and no other client's rows are in it.

- A transaction that has claimed a table before it read it does not fail because of a compaction that has looked for
  claims afterwards.
- A sequence gives no value twice, and no OID is assigned twice.

A commit says what it changes, but not whose changes they are. So it is matched with the transactions by the changes
themselves, or by the rows of its file; the opinion of the code under test is not used.

A reader sees all rows of one version and no others, and this version is not older than the last commit that was
acknowledged before the reader began. So the loss of an acknowledged row is detected by the next reader, or at the end
of a run, when the catalog is opened again after a last power failure.

Considered and rejected: searching for cycles of dependencies in what clients saw (Adya; Elle). That method is for
databases whose order of commits is hidden. Here the order is known, and each read can be compared with the one state
that it may have seen.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import pyarrow.parquet as pq

from engine.catalog.model.objects import Table
from engine.catalog.snapshot import AnyChange, Change, DataChange
from engine.storage.kept_rows import KeptRows
from engine.storage.tables import FileChange

#: The files of each table, by its folder.
State = Mapping[str, frozenset[str]]
_NOTHING: Final[frozenset[str]] = frozenset()
#: The base of a table that the transaction itself created: no other transaction sees it.
OWN: Final = -1
#: The place of a claim on all tables.
EVERYTHING: Final = ""


class Violation(Exception):
    """An invariant is violated."""


@dataclass(frozen=True)
class WrittenFile:
    """A file as it was written. checksum: of its bytes. numbers: of its rows."""

    checksum: int
    numbers: tuple[int, ...]

    def has_only(self, numbers: Iterable[int]) -> bool:
        """Return whether it has no other rows than these."""
        return set(numbers).issuperset(self.numbers)


class Request(NamedTuple):
    """A client's request to commit. queue: the member's queue. number: increases with each request. newest: the
    catalog's version at that time. changes: of the transaction.
    """

    queue: object
    number: int
    newest: int
    changes: Sequence[AnyChange | KeptRows]


@dataclass
class Transaction:
    """A transaction of a client, with the changes that it intends.

    bases: the versions in which it first changed each table, by folder.
    kept: numbers of rows that are in no file yet, by folder.
    guarded: files that must exist when it commits, by folder.
    defines: whether it changes a definition.
    names: of the tables that it creates, drops, or gives another name.
    version: the version of its commit, once the catalog database has made it.
    repeatable: whether all its statements must see the same version.
    request: set when its client asks to commit.
    claims: the tables that it has claimed before it read them, by folder, and at which step.
    gives_way_since: of a compaction: the step at which it has looked for claims.
    """

    bases: dict[str, int] = field(default_factory=dict)
    added: dict[str, set[str]] = field(default_factory=dict)
    removed: dict[str, set[str]] = field(default_factory=dict)
    kept: dict[str, list[int]] = field(default_factory=dict)
    guarded: dict[str, set[str]] = field(default_factory=dict)
    defines: bool = False
    names: set[str] = field(default_factory=set)
    version: int | None = None
    repeatable: bool = False
    #: The version that its latest statement saw, and that its first one did.
    first: int | None = None
    began: int | None = None
    request: Request | None = None
    claims: dict[str, int] = field(default_factory=dict)
    gives_way_since: int | None = None

    @property
    def has_changes(self) -> bool:
        return self.defines or any(any(each.values()) for each in (self.added, self.removed, self.kept))

    @property
    def only_keeps_rows(self) -> bool:
        """Whether it has only appended rows that its commit writes."""
        return any(self.kept.values()) and not (self.added or self.removed or self.bases or self.guarded)

    def depends(self) -> set[str]:
        """The folders, and the names, of the tables that it depends on."""
        return {*self.bases, *self.added, *self.removed, *self.kept, *self.guarded, *self.names}

    def intent(self) -> Transaction:
        """Return a copy of the changes that it intends so far."""
        return Transaction(
            bases=dict(self.bases),
            added=_copy(self.added),
            removed=_copy(self.removed),
            kept=_copy(self.kept),
            guarded=_copy(self.guarded),
            defines=self.defines,
            names=set(self.names),
        )

    def roll_back(self, to: Transaction, contents: Mapping[tuple[str, str], WrittenFile]) -> Transaction:
        """Take back the changes since a savepoint. Returns the files and rows that must not be left of them. to: the intent
        at the savepoint. contents: of all files.

        Rows that were kept at the savepoint may have been written since, into files that have no other rows.
        """
        added, kept = _copy(to.added), _copy(to.kept)
        for location, numbers in to.kept.items():
            files = {path for path in self.added.get(location, ()) if contents[location, path].has_only(numbers)}
            if files:
                added.setdefault(location, set()).update(files)
                del kept[location]
        gone = Transaction(
            added={location: paths - added.get(location, set()) for location, paths in self.added.items()},
            kept={location: _without(numbers, kept.get(location, ())) for location, numbers in self.kept.items()},
        )
        self.added, self.kept = added, kept
        self.bases, self.removed, self.guarded = to.bases, to.removed, to.guarded
        self.defines, self.names = to.defines, to.names
        return gone


@dataclass(frozen=True)
class Touched:
    """A commit's changes to a table. defined: whether it has changed the definition. removed: the files that it has
    removed. gives_way_since: as of its transaction.
    """

    defined: bool
    removed: frozenset[str]
    gives_way_since: int | None = None


class History:
    """The history of one run; see the module's docstring. version, state: those with which the history begins.
    contents: its files.
    """

    def __init__(self, version: int, state: State, contents: Mapping[tuple[str, str], WrittenFile]) -> None:
        self._states: dict[int, State] = {version: state}
        self.newest = version
        #: The newest version whose commit was acknowledged to a client.
        self.told = version
        #: What was found while a transaction of the catalog was made: who commits may take it for an error of the database's.
        self.found: Violation | None = None
        #: By folder and path.
        self.contents = dict(contents)
        #: What each version has touched, by folder.
        self._touched: dict[int, dict[str, Touched]] = {}
        #: The values of the sequence, and the OIDs, that were given.
        self._numbers: set[int] = set()
        self._oids: set[int] = set()
        #: The last request of each queue that has committed, of those that may not be moved before others.
        self._last_numbers: dict[object, int] = {}

    def at(self, version: int) -> State:
        """Return the state at a version. Raises Violation if the version never existed."""
        if (state := self._states.get(version)) is None:
            raise Violation(f"version {version} of the catalog was never made: the newest is {self.newest}")
        return state

    def commit(self, version: int, changes: Sequence[AnyChange], transactions: Sequence[Transaction]) -> None:
        """Record that the catalog database has made a version with these transactions."""
        if version != self.newest + 1:
            raise Violation(f"version {version} of the catalog was made after {self.newest}")
        for transaction in transactions:
            if transaction.version is not None:
                raise Violation("a transaction commits twice")
            for location in transaction.bases:
                self._require_unchanged(location, transaction)
            self._require_guarded(transaction, self._states[self.newest])
            self._note_order(transaction)
            transaction.version = version
        self._apply(version, changes, [transaction.gives_way_since for transaction in transactions])

    def _apply(self, version: int, changes: Sequence[AnyChange], given_way: Sequence[int | None]) -> None:
        state, dropped = dict(self._states[self.newest]), dict[str, frozenset[str]]()
        touched = self._touched[version] = {}
        for change in changes:
            if isinstance(change, DataChange):
                location = change.location
                state[location] = _apply_change(state.get(location, _NOTHING), change.files)
                before = touched.get(location, Touched(defined=False, removed=_NOTHING))
                removed = before.removed.union(change.files.removed)
                touched[location] = Touched(before.defined, removed, given_way[0] if len(given_way) == 1 else None)
            elif isinstance(change, Change):
                touched[change.key[1]] = Touched(defined=True, removed=_NOTHING)
                if (folder := _folder(change.before)) is not None:
                    touched[folder] = Touched(defined=True, removed=_NOTHING)
                _define(state, change, dropped)
        self._states[version] = state
        self.newest = version

    def _require_unchanged(self, location: str, transaction: Transaction) -> None:
        """Check that other transactions have not changed a table, on all of whose rows a change depends, since its
        transaction saw them.
        """
        base = transaction.bases[location]
        if base != OWN and self.at(base).get(location) != self._states[self.newest].get(location):
            raise Violation(f"it depends on a whole table, which others have changed since version {base}")

    def _require_guarded(self, transaction: Transaction, state: State) -> None:
        for location, paths in transaction.guarded.items():
            if paths - state.get(location, _NOTHING) - transaction.added.get(location, set()):
                raise Violation("it depends on rows that another transaction has taken away")

    def _note_order(self, transaction: Transaction) -> None:
        request = transaction.request
        if request is None:
            return
        if request.number < self._last_numbers.get(request.queue, 0):
            raise Violation("a transaction commits after one whose client has asked later")
        if not transaction.only_keeps_rows:
            self._last_numbers[request.queue] = request.number

    def note_written(self, transactions: Iterable[Transaction], files: Mapping[tuple[str, str], WrittenFile]) -> None:
        """Record that rows that these transactions have kept were written to files, by folder and path."""
        kept: dict[str, list[int]] = {}
        for transaction in sorted(transactions, key=lambda each: each.request.number if each.request else 0):
            for location, numbers in transaction.kept.items():
                kept.setdefault(location, []).extend(numbers)
        written: dict[str, list[int]] = {}
        for (location, _), file in files.items():
            written.setdefault(location, []).extend(file.numbers)
        if sorted(kept) != sorted(written) or any(sorted(kept[each]) != sorted(written[each]) for each in kept):
            raise Violation("a file has other rows than the transactions that it is of have kept")
        if kept != written:
            raise Violation("rows lie in another order than they came in")
        self.contents.update(files)

    def note_commit(self, transaction: Transaction) -> None:
        """Record that a client has received the report that its transaction has committed."""
        if not transaction.has_changes:
            self._require_was_guarded(transaction)
            return
        if transaction.version is None:
            raise Violation("a client was told of a commit that has not taken place")
        before, after = self.at(transaction.version - 1), self.at(transaction.version)
        for location in transaction.added.keys() | transaction.removed.keys():
            came = after.get(location, _NOTHING) - before.get(location, _NOTHING)
            went = before.get(location, _NOTHING) - after.get(location, _NOTHING)
            added, removed = transaction.added.get(location, set()), transaction.removed.get(location, set())
            if came != added - removed or went != removed - added:
                raise Violation(f"a transaction of +{len(added)} -{len(removed)} files made +{len(came)} -{len(went)}")
        self.told = max(self.told, transaction.version)

    def _require_was_guarded(self, transaction: Transaction) -> None:
        """Check that rows that a transaction has locked but not changed existed in some state since its client asked to
        commit.
        """
        if not transaction.guarded or transaction.request is None:
            return
        for version in range(transaction.request.newest, self.newest + 1):
            with suppress(Violation):
                self._require_guarded(transaction, self.at(version))
                return
        raise Violation("a client was told of a commit that depends on rows which were taken away before")

    def note_failure(self, transaction: Transaction, *, conflict: bool = False, claims_count: bool = False) -> None:
        """Record that a client has received the report that its transaction has not committed. conflict: whether the
        reason is another transaction's commit. claims_count: whether every compaction has seen its claims.
        """
        if transaction.version is not None:
            raise Violation("a client was told that its transaction failed, which has committed")
        if not conflict:
            return
        conflicts = list(self._conflicts(transaction))
        if not conflicts:
            raise Violation("a transaction failed of a conflict, and no other has changed what it depends on")
        if claims_count and all(_had_to_give_way(transaction, *found) for found in conflicts):
            raise Violation("a transaction failed of compactions that had to give way to it")

    def _conflicts(self, transaction: Transaction) -> Iterator[tuple[str, Touched]]:
        """Yield the changes, by folder or name, that a transaction may conflict with."""
        assert transaction.began is not None, "it has made a statement"
        since = [self._touched.get(version, {}) for version in range(transaction.began + 1, self.newest + 1)]
        for location in transaction.depends():
            needed = transaction.removed.get(location, set()) | transaction.guarded.get(location, set())
            for each in (touched[location] for touched in since if location in touched):
                if each.defined or needed & each.removed or location in transaction.bases:
                    yield location, each

    def note_reading(self, transaction: Transaction, version: int, location: str, paths: Iterable[str]) -> None:
        """Record that a statement of the transaction reads these files of a table, at a version of the catalog."""
        if transaction.repeatable and version != (transaction.first or version):
            raise Violation(f"a repeatable transaction sees version {version} after {transaction.first}")
        transaction.first = version
        if transaction.began is None:
            transaction.began = version
        committed = self.at(version).get(location, _NOTHING)
        expected = (committed | transaction.added.get(location, set())) - transaction.removed.get(location, set())
        found = list(paths)
        if len(found) != len(set(found)) or set(found) != expected:
            lacks, extra = len(expected - set(found)), len(set(found) - expected)
            raise Violation(f"a reader of version {version} lacks {lacks} files and has {extra} that are not its own")

    # -- what is given once --------------------------------------------------------------------------------------

    def note_numbers(self, values: Iterable[int]) -> None:
        """Record the values that a sequence has given to a client."""
        _note_once(self._numbers, values, "a sequence has given a value twice")

    def note_oid(self, oid: int) -> None:
        """Record the OID of a new object."""
        _note_once(self._oids, [oid], "an OID was assigned twice")


def _note_once(given: set[int], values: Iterable[int], violated: str) -> None:
    for value in values:
        if value in given:
            raise Violation(violated)
        given.add(value)


def _had_to_give_way(transaction: Transaction, location: str, touched: Touched) -> bool:
    """Return whether a change is a compaction's that has looked for claims when the transaction had claimed the table."""
    claimed = [transaction.claims[place] for place in (location, EVERYTHING) if place in transaction.claims]
    return touched.gives_way_since is not None and bool(claimed) and min(claimed) < touched.gives_way_since


Values = TypeVar("Values", set[str], list[int])


def _copy(by_folder: Mapping[str, Values]) -> dict[str, Values]:
    return {folder: values.copy() for folder, values in by_folder.items()}


def _without(numbers: Iterable[int], others: Iterable[int]) -> list[int]:
    excluded = set(others)
    return [number for number in numbers if number not in excluded]


def read_file(path: Path) -> WrittenFile:
    """Read a complete file."""
    # `read_table` takes five times as long, for what it prepares to read many files.
    with pq.ParquetFile(path) as file:
        numbers = file.read(columns=["a"]).column("a").to_pylist()
    return WrittenFile(zlib.crc32(path.read_bytes()), tuple(numbers))


def _apply_change(files: frozenset[str], change: FileChange) -> frozenset[str]:
    added, removed = {file.path for file in change.added}, set(change.removed)
    if not removed <= files | added:
        raise Violation("a commit takes a file away that another has taken away: an update is lost")
    if added & files:
        raise Violation("a commit adds a file that is there")
    return (files | added) - removed


def _define(state: dict[str, frozenset[str]], change: Change, dropped: dict[str, frozenset[str]]) -> None:
    """dropped: the files of tables that earlier changes have removed, which may be put again under another name."""
    before, after = _folder(change.before), _folder(change.after)
    if before is not None and before != after:
        dropped[before] = state.pop(before)
    if after is not None:
        state.setdefault(after, dropped.get(after, _NOTHING))


def _folder(relation: object) -> str | None:
    return relation.storage.location if isinstance(relation, Table) and relation.storage is not None else None

"""The history of commits and its invariants: a model of snapshot isolation.

The history records a commit at the moment when the catalog database makes it, whatever happens to the client that requested it.
The model knows the rows of each file and nothing of decisions, logs and pinned versions. It checks these invariants:

- A file that a transaction removes exists until then, and a file that it adds does not. Otherwise an update was lost or done
  twice.
- A transaction that depends on a whole table (it checks a key, moves the table, or adds a column) commits only if the table is
  unchanged since the transaction first used it.
- A transaction that is reported as committed has committed: its commit contains all of its rows and nothing else. A transaction
  that is reported as failed has not committed.

A reader sees all rows of one version and no others, and this version is not older than the last commit that was acknowledged
before the reader began. So the loss of an acknowledged row is detected by the next reader, or at the end of a run, when the
catalog is opened again after a last power failure.

Considered and rejected: searching for cycles of dependencies in what clients saw (Adya; Elle). That method is for databases whose
order of commits is hidden. Here the order is known, and each read can be compared with the one state that it may have seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.catalog.model.objects import Table
from engine.catalog.snapshot import AnyChange, Change, DataChange
from engine.storage.tables import FileChange

#: The files of each table, by its folder.
State = Mapping[str, frozenset[str]]
_NOTHING: Final[frozenset[str]] = frozenset()
#: The base of a table that the transaction itself created: no other transaction sees it.
OWN: Final = -1


class Violation(Exception):
    """An invariant is violated."""


@dataclass(frozen=True)
class WrittenFile:
    """A file as it was written. checksum: of its bytes. numbers: of its rows."""

    checksum: int
    numbers: tuple[int, ...]


@dataclass
class Transaction:
    """A transaction of a client, with the changes that it intends. bases: the versions in which it first changed each table, by
    folder. version: that of its commit, once the catalog database has made it. repeatable: all its statements must see the same
    version."""

    bases: dict[str, int] = field(default_factory=dict)
    added: dict[str, set[str]] = field(default_factory=dict)
    removed: dict[str, set[str]] = field(default_factory=dict)
    version: int | None = None
    repeatable: bool = False
    #: The version that its first statement saw.
    first: int | None = None

    @property
    def has_changes(self) -> bool:
        return any(self.added.values()) or any(self.removed.values())


class History:
    """See the module's docstring. version, state: those with which the history begins. contents: its files."""

    def __init__(self, version: int, state: State, contents: Mapping[tuple[str, str], WrittenFile]) -> None:
        self._states: dict[int, State] = {version: state}
        self.newest = version
        #: The newest version whose commit was acknowledged to a client.
        self.told = version
        #: By folder and path.
        self.contents = dict(contents)

    def at(self, version: int) -> State:
        """Return the state at a version. Raises Violation if the version never existed."""
        if (state := self._states.get(version)) is None:
            raise Violation(f"version {version} of the catalog was never made: the newest is {self.newest}")
        return state

    def commit(self, version: int, changes: Sequence[AnyChange], transaction: Transaction | None) -> None:
        """The catalog database has made a version."""
        if version != self.newest + 1:
            raise Violation(f"version {version} of the catalog was made after {self.newest}")
        state = dict(self._states[self.newest])
        for change in changes:
            if isinstance(change, DataChange) and change.whole:
                self._require_unchanged(change.location, transaction)
            elif isinstance(change, Change) and (before := _folder(change.before)) is not None:
                self._require_unchanged(before, transaction)
        for change in changes:
            if isinstance(change, DataChange):
                state[change.location] = _apply_change(state.get(change.location, _NOTHING), change.files)
            elif isinstance(change, Change):
                _define(state, change)
        self._states[version] = state
        self.newest = version
        if transaction is not None:
            transaction.version = version

    def _require_unchanged(self, location: str, transaction: Transaction | None) -> None:
        """A change depends on all rows of a table: other transactions have not changed them since its transaction saw them."""
        base = transaction.bases.get(location, OWN) if transaction is not None else OWN
        if base == OWN:
            return
        if self.at(base).get(location) != self._states[self.newest].get(location):
            raise Violation(f"it depends on a whole table, which others have changed since version {base}")

    def note_commit(self, transaction: Transaction) -> None:
        """A client is told that its transaction has committed."""
        if not transaction.has_changes:
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

    def note_failure(self, transaction: Transaction) -> None:
        """A client is told that its transaction has not committed."""
        if transaction.version is not None:
            raise Violation("a client was told that its transaction failed, which has committed")

    def note_reading(self, transaction: Transaction, version: int, location: str, paths: Iterable[str]) -> None:
        """A statement of the transaction has these files of a table, at a version of the catalog."""
        if transaction.repeatable and version != (transaction.first or version):
            raise Violation(f"a repeatable transaction sees version {version} after {transaction.first}")
        transaction.first = version
        committed = self.at(version).get(location, _NOTHING)
        expected = (committed | transaction.added.get(location, set())) - transaction.removed.get(location, set())
        found = list(paths)
        if len(found) != len(set(found)) or set(found) != expected:
            lacks, extra = len(expected - set(found)), len(set(found) - expected)
            raise Violation(f"a reader of version {version} lacks {lacks} files and has {extra} that are not its own")


def _apply_change(files: frozenset[str], change: FileChange) -> frozenset[str]:
    added, removed = {file.path for file in change.added}, set(change.removed)
    if not removed <= files | added:
        raise Violation("a commit takes a file away that another has taken away: an update is lost")
    if added & files:
        raise Violation("a commit adds a file that is there")
    return (files | added) - removed


def _define(state: dict[str, frozenset[str]], change: Change) -> None:
    before, after = _folder(change.before), _folder(change.after)
    if before is not None and before != after:
        del state[before]
    if after is not None:
        state.setdefault(after, _NOTHING)


def _folder(relation: object) -> str | None:
    return relation.storage.location if isinstance(relation, Table) and relation.storage is not None else None

"""Commits against a model of snapshot isolation: sessions on two members that insert, delete, set savepoints, roll back
and commit in any order, with publication to Delta's log at any moment.

The model knows the rows of each file, but no catalogs, decisions or logs. It predicts what each session sees, at READ
COMMITTED and REPEATABLE READ, and exactly which transactions get 40001: those that remove a file which another commit
has removed. After each step every session sees what the model predicts, and at the end so does a catalog that is opened
anew.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.storage_ground import created, delete, insert, table, values

from engine.catalog.model.objects import DataFile
from engine.catalog.snapshot import Snapshot
from engine.catalog.store.commit_group import commit_together
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from wire.errors import SerializationFailure

_TABLES = ("t", "u")
_SESSIONS = 3
#: A table and a value; each value is in a file of its own.
_Row = tuple[str, int]


@dataclass
class _Session:
    """One client, and what the model knows of its transaction. frozen: what it sees for good, at REPEATABLE READ."""

    store: CatalogStore
    repeatable: bool = False
    frozen: frozenset[_Row] | None = None
    added: set[_Row] = field(default_factory=set)
    removed: set[_Row] = field(default_factory=set)
    points: list[tuple[Any, set[_Row], set[_Row]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.catalog = SessionCatalog(self.store, lambda: self.repeatable)

    @property
    def open(self) -> bool:
        return self.catalog.in_transaction

    def end(self) -> None:
        self.frozen, self.added, self.removed, self.points = None, set(), set(), []

    def sees(self, committed: set[_Row]) -> set[_Row]:
        base = committed if self.frozen is None else self.frozen
        return (set(base) - self.removed) | self.added


_WHO = st.integers(0, _SESSIONS - 1)


class Commits(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-commits-"))
        self.stores = [CatalogStore(self.folder / "catalog.sqlite") for _ in range(2)]
        setup = SessionCatalog(self.stores[0])
        for name in _TABLES:
            created(setup, name)
        self.sessions = [_Session(self.stores[i % 2]) for i in range(_SESSIONS)]
        self.committed: set[_Row] = set()
        self.files: dict[_Row, DataFile] = {}
        self.count = 0
        # Two rows, and two transactions that are under way: where few rows are fought for, conflicts are frequent.
        for _ in range(2):
            self.insert(0, "t")
        for who, repeatable in enumerate((False, True)):
            self.begin(who, repeatable)

    def _session(self, who: int) -> _Session:
        """Where a statement begins: commits of other members are looked for, and a repeatable transaction settles on a state."""
        session = self.sessions[who]
        session.store.refresh()
        if session.open and session.repeatable and session.frozen is None:
            session.frozen = frozenset(self.committed)
        return session

    def _conflicts(self, session: _Session) -> bool:
        return not session.removed <= self.committed

    def _is_told(self, session: _Session) -> bool:
        """Whether the statement that begins fails, since a commit is in the transaction's way; it is over then."""
        if session.frozen is not None or not self._conflicts(session):
            return False
        with pytest.raises(SerializationFailure):
            session.catalog.current()
        session.catalog.rollback()
        session.end()
        return True

    def _apply(self, session: _Session) -> None:
        self.committed = (self.committed - session.removed) | session.added
        session.end()

    @rule(who=_WHO, repeatable=st.booleans())
    def begin(self, who: int, repeatable: bool) -> None:
        session = self.sessions[who]
        if not session.open:
            session.repeatable = repeatable
            session.catalog.begin()

    @rule(who=_WHO, name=st.sampled_from(_TABLES))
    def insert(self, who: int, name: str) -> None:
        session = self._session(who)
        if self._is_told(session):
            return
        self.count += 1
        row = (name, self.count)
        (self.files[row],) = insert(session.catalog, self.count, name=name)
        session.added.add(row)
        if not session.open:
            self._apply(session)

    @rule(who=_WHO, choice=st.integers(0, 1))
    def delete(self, who: int, choice: int) -> None:
        session = self._session(who)
        if self._is_told(session) or not (rows := sorted(session.sees(self.committed))):
            return
        row = rows[choice % len(rows)]
        delete(session.catalog, self.files[row], name=row[0])
        if row in session.added:
            session.added.remove(row)
        else:
            session.removed.add(row)
        if not session.open:
            self._apply(session)

    @rule(who=_WHO, other=_WHO, repeatable=st.booleans())
    def two_want_one_row(self, who: int, other: int, repeatable: bool) -> None:
        """The first in a transaction, before the other, so that it is in the way of the one that commits last."""
        self.begin(who, repeatable)
        self.delete(who, 0)
        self.delete(other, 0)

    @rule(who=_WHO)
    def savepoint(self, who: int) -> None:
        session = self.sessions[who]
        if session.open:
            session.points.append((session.catalog.savepoint(), set(session.added), set(session.removed)))

    @rule(who=_WHO, keep=st.booleans())
    def rollback_to(self, who: int, keep: bool) -> None:
        session = self.sessions[who]
        if session.points:
            token, session.added, session.removed = session.points.pop()
            session.catalog.rollback_to(token)
            if keep:
                session.points.append((session.catalog.savepoint(), set(session.added), set(session.removed)))

    @rule(who=_WHO)
    def rollback(self, who: int) -> None:
        session = self.sessions[who]
        if session.open:
            session.catalog.rollback()
            session.end()

    @rule(who=_WHO)
    def commit(self, who: int) -> None:
        session = self.sessions[who]
        if not session.open:
            return
        if self._conflicts(session):
            with pytest.raises(SerializationFailure):
                session.catalog.commit()
            assert not session.open
            session.end()
        else:
            session.catalog.commit()
            self._apply(session)

    @rule(member=st.integers(0, 1))
    def commit_all_together(self, member: int) -> None:
        """All transactions of a member are a group: each ends as if they had committed one after the other."""
        store = self.stores[member]
        ending = [session for session in self.sessions if session.store is store and session.open]
        outcomes = commit_together(store, [session.catalog for session in ending])
        for session, outcome in zip(ending, outcomes, strict=True):
            assert not session.open
            if self._conflicts(session):
                assert isinstance(outcome, SerializationFailure)
                session.end()
            else:
                assert isinstance(outcome, Snapshot)
                self._apply(session)

    @rule(member=st.integers(0, 1))
    def publish(self, member: int) -> None:
        self.stores[member].publish()

    @precondition(lambda self: hasattr(self, "sessions"))
    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        for who in range(_SESSIONS):
            session = self._session(who)
            if self._is_told(session):
                continue
            seen = {(name, value) for name in _TABLES for value in values(session.catalog, name)}
            assert seen == session.sees(self.committed)

    def teardown(self) -> None:
        if not hasattr(self, "stores"):
            return
        for session in self.sessions:
            if session.open:
                session.catalog.rollback()
        for store in self.stores:
            store.publish()
            store.close()
        anew = CatalogStore(self.folder / "catalog.sqlite")
        found = SessionCatalog(anew)
        held = {name: sorted(values(found, name)) for name in _TABLES}
        assert held == {name: sorted(v for n, v in self.committed if n == name) for name in _TABLES}
        # What was rolled back or lost a conflict has left no file; what was removed by a commit waits for VACUUM.
        assert all(set(table(found, name).files) <= _on_disk(self.folder) for name in _TABLES)
        anew.close()
        shutil.rmtree(self.folder)


def _on_disk(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*.parquet")}


TestCommits = Commits.TestCase
TestCommits.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)

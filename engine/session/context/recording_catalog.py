"""The catalog as the binder sees it. It records the questions of a binding, which decide how long the bound statement
stays valid.

Each question is recorded with its answer. A statement over system relations alone, which every definition would
invalidate if it depended on the catalog's version, is valid as long as the same questions have the same answers
(`answers_alike`): creating tables does not change what `pg_class` is, nor which OID a name has. Rows are not answers:
they are looked up anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, TypeVarTuple

from engine.catalog.authority import Authority
from engine.catalog.model.objects import Relation, StoredRelation, SystemTable, Table
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.remote_file_ref import remote_file_ref
from engine.catalog.store.store import CatalogStore
from engine.lakes.foreign_files import DataRoots, refresh
from engine.pg_catalog import SYSTEM, SystemCatalog, SystemContext
from engine.session.context.catalog_names import CatalogNames
from engine.statements.shared.foreign_table import table_of_path
from wire.errors import SqlError
from wire.types import pg_types as t

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
#: A method of `CatalogNames`, and its arguments.
Question = tuple[Callable[..., Any], tuple[Any, ...]]


def _oid_of_path(path: str) -> int:
    """Return the OID by which engines know a path's table. It exceeds 32 bits, so it is none of the catalog's own OIDs."""
    return 1 << 62 | int.from_bytes(hashlib.blake2b(path.encode(), digest_size=7).digest())


@dataclass(slots=True)
class RecordingCatalog:
    """A snapshot whose files are looked up now, and that records what it is asked for.

    - reads: the user relations that were found
    - volatile: something was asked for that changes without a commit
    - authority: the privileges by which names are resolved
    - roots: the folders where files of foreign tables may be
    - answers: the answers to questions about names, except for the user relations, which are in `reads`
    - rows: the system relations that were found: a statement sees one state of each
    - role: returns the OID of a role by its name
    - names: resolves the names
    """

    context: SystemContext
    system: SystemCatalog
    store: CatalogStore
    authority: Authority
    roots: DataRoots
    role: Callable[[str], int | None]
    reads: dict[int, Relation] = field(default_factory=dict)
    volatile: bool = False
    answers: dict[Question, Any] = field(default_factory=dict)
    rows: dict[int, SystemTable] = field(default_factory=dict)
    names: CatalogNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = CatalogNames(self.context, self.system, self.authority, self.role)

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        place = self._ask(CatalogNames.system_schema, schema, name, tuple(search_path))
        system = None if place is None else self.system.find((place,), name, self.context)
        if system is not None:
            self.volatile = self.volatile or self.system.is_volatile(system)
            return self.rows.setdefault(system.oid, system) if isinstance(system, SystemTable) else system
        self.names.require_usage(schema)
        return self._record_read(self.context.snapshot.resolve(schema, name, search_path))

    def answers_alike(self, answers: Mapping[Question, Any]) -> bool:
        """Return whether all questions about another statement's names have the same answers here. Rows of relations
        are not compared.
        """
        try:
            return all(question(self.names, *arguments) == answer for (question, arguments), answer in answers.items())
        except SqlError:
            return False

    def _ask(self, question: Callable[[CatalogNames, *Ts], T], *arguments: *Ts) -> T:
        answer = self.answers[question, arguments] = question(self.names, *arguments)
        return answer

    def of_now(self, table: SystemTable) -> Relation | None:
        """Return the current state of a system relation that a plan has read: the same object if only commits change
        it.
        """
        if (table.schema, table.name) in SYSTEM and not self.system.is_volatile(table):
            return table
        return self.resolve(table.schema, table.name, (table.schema,))

    def read_again(self, table: Table | SystemTable) -> SystemTable:
        """Return a system relation that a plan has read in an earlier state of the catalog, with the rows of this
        state.
        """
        found = self.system.find((table.schema,), table.name, self.context)
        assert isinstance(found, SystemTable), "as it was when the plan was made"
        return found

    def has_rows(self, table: Table | SystemTable) -> bool:
        """Return whether the rows of a system relation in this state are known, so that `read_again` returns at once."""
        return self.system.has_rows((table.schema, table.name), self.context)

    def by_oid(self, oid: int) -> Relation | None:
        found = (relation for relation in self.context.snapshot.relations.values() if relation.oid == oid)
        return self._record_read(next(found, None))

    def _record_read(self, found: StoredRelation | None) -> Relation | None:
        if isinstance(found, NumberSequence):
            self.volatile = True
            if found.oid not in self.rows:
                self.rows[found.oid] = self.system.counter(found, self.store.read_sequence(found))
            return self.rows[found.oid]
        if isinstance(found, Table):
            # A statement that names a table twice sees the same files twice.
            known = self.reads.get(found.oid)
            found = known if isinstance(known, Table) else self._as_now(found)
        if found is not None:
            self.reads[found.oid] = found
        return found

    def _as_now(self, table: Table) -> Table:
        """Return the table with its current files. Raises InsufficientPrivilege if links lead from a foreign table's
        path to files that this member may not read: the path may contain a wildcard, or a folder or a file that has
        become a link. Tables of logs have a rule of their own (`engine.lakes`).
        """
        now = refresh(table)
        if not now.has_log:
            self.roots.require(file for file in now.files if remote_file_ref(file) is None)
        return now

    def file(self, path: str, notify: Callable[[str], None]) -> Table:
        """Make the foreign table that a path in FROM stands for, with the columns that its files have now. May block.

        Raises InsufficientPrivilege, before any file is accessed, if the role may not read files.
        """
        self.authority.require_file(path)
        oid = _oid_of_path(path)
        known = self.reads.get(oid)
        if not isinstance(known, Table):
            known = self.reads[oid] = table_of_path(path, oid, self.roots, notify)
        return known

    def oid_of(self, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
        return self._ask(CatalogNames.oid_of, schema, name, tuple(search_path))

    def schema_oid(self, name: str) -> int | None:
        return self._ask(CatalogNames.schema_oid, name)

    def has_schema(self, name: str) -> bool:
        return self._ask(CatalogNames.has_schema, name)

    def role_oid(self, name: str) -> int | None:
        """Return the OID of a role."""
        return self._ask(CatalogNames.role_oid, name)

    def owner(self, oid: int) -> int:
        """Return the OID of the role that owns a relation."""
        return self._ask(CatalogNames.owner, oid)

    def type_named(self, schema: str | None, name: str, search_path: Sequence[str]) -> t.PgType | None:
        """Find a user-defined type by name."""
        return self._ask(CatalogNames.type_named, schema, name, tuple(search_path))

    def type_names(self, search_path: Sequence[str]) -> dict[int, str]:
        """Return the names of user-defined types and of their array types by OID, qualified as the search path
        requires.
        """
        return self._ask(CatalogNames.type_names, tuple(search_path))

    def type_by_oid(self, oid: int) -> t.PgType | None:
        """Find a type by OID."""
        return t.BY_OID.get(oid) or self._ask(CatalogNames.type_by_oid, oid)

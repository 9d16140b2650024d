"""Privileges that a statement needs on relations and columns, collected while it is bound and checked before it runs.

A `Requirement` is about one item of FROM, or the table that a statement changes. It travels with the bound statement and is checked
when that runs (`engine.catalog.authority`), so that a REVOKE also affects statements that were prepared or planned before.

Columns are noted where names are resolved, because PostgreSQL checks the columns that the text names, not those that the plan
still reads: `count(*)` needs a privilege on any one column, `t.*` on all. Expressions that the statement does not name (CHECK
constraints) are not noted. Relations that a view names are read with the privileges of the view's owner.

Source: PostgreSQL 15, parse_relation.c (markVarForSelectPriv, markRTEForSelectPriv), execMain.c (ExecCheckRTEPerms).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Final

from engine.catalog.model import acl
from engine.catalog.model.objects import TEMPORARY, SystemTable, Table, TableColumn, View
from engine.catalog.model.roles import FIRST_ROLE
from engine.plan_ir.expr import ColumnRef
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.catalog.model.objects import Relation
    from engine.plan_ir.expr import Column, Expr

#: Schemas whose relations everybody may read, except closed ones. The schema of relations in memory is "".
_OPEN: Final = ("pg_catalog", "information_schema", "sluice", TEMPORARY, "")
#: The number that stands for every system column.
_SYSTEM_COLUMN: Final = -1
#: The kind of a requirement about a file of the server's machine, whose path is its name.
FILE: Final = "file"


@dataclass(frozen=True, slots=True)
class Requirement:
    """The privileges that a statement needs on one relation.

    relation: its OID. kind: its kind as messages name it. rights: bits of `engine.catalog.model.acl`. read, inserted,
    updated: numbers of columns. whom: the role whose privileges are checked; None is the role that runs the statement.
    """

    relation: int
    name: str
    kind: str
    rights: int
    read: frozenset[int] = frozenset()
    inserted: frozenset[int] = frozenset()
    updated: frozenset[int] = frozenset()
    whom: int | None = None


@dataclass(slots=True, eq=False)
class Access:
    """A `Requirement` while it is collected. below: for a view that is changed, the access of its base relation, which
    needs the same rights.
    """

    relation: Relation
    rights: int
    whom: int | None
    read: set[int] = field(default_factory=set)
    inserted: set[int] = field(default_factory=set)
    updated: set[int] = field(default_factory=set)
    below: Access | None = None

    def select(self, columns: Iterable[TableColumn]) -> None:
        self.rights |= acl.SELECT
        self.read.update(column.number for column in columns)

    def insert(self, columns: Iterable[TableColumn]) -> None:
        self.rights |= acl.INSERT
        self.inserted.update(column.number for column in columns)

    def update(self, columns: Iterable[TableColumn]) -> None:
        self.rights |= acl.UPDATE
        self.updated.update(column.number for column in columns)

    def to_requirement(self) -> Requirement:
        r = self.relation
        return Requirement(
            r.oid, r.name, _kind(r), self.rights, frozenset(self.read), frozenset(self.inserted), frozenset(self.updated), self.whom
        )  # fmt: skip


class Accesses:
    """The accesses of one statement. owner_of: returns the owner of a view, by its OID."""

    def __init__(self, owner_of: Callable[[int], int] = lambda _oid: FIRST_ROLE) -> None:
        self._owner_of = owner_of
        self._found: list[Access] = []
        self._columns: dict[int, tuple[Access, int]] = {}
        self._values: dict[int, tuple[Expr, Access, int]] = {}
        self._targets: dict[int, Access] = {}
        self._files: list[Requirement] = []
        self._whom: int | None = None
        self._silent = False
        self._defining = False

    def read(self, relation: Relation) -> Access:
        """Register an item of FROM."""
        access = Access(relation, acl.SELECT, self._whom)
        if relation.schema not in _OPEN or _is_closed(relation):
            self._found.append(access)
        return access

    def read_file(self, path: str) -> None:
        """Register a file of the server's machine, as an item of FROM."""
        self._files.append(Requirement(0, path, FILE, 0, whom=self._whom))

    def target(self, table: Table | View, rights: int = 0) -> Access:
        """Register the table or view that the statement changes; further rights are added as they are found."""
        access = self._targets.get(table.oid)
        if access is None:
            access = self._targets[table.oid] = Access(table, 0, self._whom)
            if table.schema not in _OPEN:
                self._found.append(access)
        access.rights |= rights
        return access

    def offer(self, table: Table, columns: Sequence[Column]) -> None:
        """Register columns that form a row of the table that the statement changes."""
        if (access := self._targets.get(table.oid)) is not None:
            self.columns_of(access, columns)

    def columns_of(self, access: Access, columns: Sequence[Column]) -> None:
        """Register these columns as the relation's, in its order."""
        for column, declared in zip(columns, access.relation.columns, strict=True):
            self._columns[column.id] = access, declared.number

    def offer_system_columns(self, access: Access, exprs: Iterable[Expr]) -> None:
        """Register the expressions of the relation's system columns, like `offer_values`. They need a privilege on the
        whole relation, because they have no lists of their own.
        """
        for expr in exprs:
            if isinstance(expr, ColumnRef):
                self._columns[expr.column.id] = access, _SYSTEM_COLUMN
            else:
                self._values[id(expr)] = expr, access, _SYSTEM_COLUMN

    def offer_values(self, access: Access, values: Sequence[Expr]) -> None:
        """Register the expressions of a view's columns, in their order. They are recognised by identity, so each must be the
        view's alone."""
        for value, declared in zip(values, access.relation.columns, strict=True):
            self._values[id(value)] = value, access, declared.number

    def note(self, expr: Expr) -> None:
        """Note the columns that an expression names."""
        if self._silent:
            return
        for part in expr.walk():
            if (offered := self._values.get(id(part))) is not None:
                self._read(*offered[1:])
            elif isinstance(part, ColumnRef) and (known := self._columns.get(part.column.id)) is not None:
                self._read(*known)

    def _read(self, access: Access, number: int) -> None:
        access.rights |= 0 if self._defining else acl.SELECT
        access.read.add(number)

    def lock(self, relations: Sequence[Relation]) -> None:
        """Require UPDATE on these relations, for FOR UPDATE and similar clauses."""
        oids = {relation.oid for relation in relations}
        for access in self._found:
            if access.relation.oid in oids:
                access.rights |= acl.UPDATE

    @contextmanager
    def without_noting(self) -> Iterator[None]:
        """Note no columns while parts are bound that the statement does not name."""
        kept, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = kept

    @contextmanager
    def within(self, view: View) -> Iterator[None]:
        """Register accesses as the view's owner while its definition is bound. A temporary view is the session's own. A
        view with security_invoker reads as the role that runs the statement, also where another view reads it.
        """
        kept = self._whom, self._silent
        if view.has_option("security_invoker"):
            self._whom = None
        elif view.schema != TEMPORARY:
            self._whom = self._owner_of(view.oid)
        self._silent = False
        try:
            yield
        finally:
            self._whom, self._silent = kept

    @contextmanager
    def within_definition(self, view: View) -> Iterator[None]:
        """Bind the definition of a view that is changed. The columns that it reads need SELECT only if the statement
        itself reads them.
        """
        kept, self._defining = self._defining, True
        try:
            with self.within(view):
                yield
        finally:
            self._defining = kept

    def to_requirements(self) -> tuple[Requirement, ...]:
        for access in self._found:
            if access.below is not None:
                access.below.rights |= access.rights
        return (*(access.to_requirement() for access in self._found if access.rights), *self._files)


def _is_closed(relation: Relation) -> bool:
    match relation:
        case View(is_closed=is_closed):
            return is_closed
        case SystemTable(closed=closed):
            return bool(closed)
        case _:
            return False


def _kind(relation: Relation) -> str:
    match relation:
        case View():
            return "view"
        case SystemTable(closed=closed):
            return closed or "sequence"
        case Table(storage=None):
            return "foreign table"
        case Table(query=None):
            return "table"
        case _:
            return "materialized view"

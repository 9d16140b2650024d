"""Checks of privileges and ownership: the only place that raises `permission denied` and `must be owner`.

An `Authority` is a role and a catalog snapshot, made when a statement runs. A superuser passes without any look-up,
except for relations that views read with the privileges of their owners.

Source: PostgreSQL 15, execMain.c (ExecCheckRTEPerms), aclchk.c (aclcheck_error), namespace.c, tablecmds.c.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.catalog.model import acl
from engine.catalog.model.acl import Kind
from engine.catalog.model.objects import DATABASE, Relation, Sequence, StoredRelation, Table
from engine.catalog.model.rights import DATABASE_OID, Judge, Rights
from engine.catalog.model.roles import READ_SERVER_FILES, Role, Roles, anybody
from engine.catalog.model.user_types import UserType
from engine.catalog.snapshot import TEMPORARY, Snapshot
from engine.plan_ir.requirements import FILE, Requirement
from wire.dataclass import dataclass
from wire.errors import InsufficientPrivilege
from wire.types import pg_types as t


class SchemaDenied(InsufficientPrivilege):
    """The role lacks the privilege on a schema."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Checks the privileges of one role. role: the role whose privileges count. judge: for the catalog snapshot that
    the statement sees.
    """

    role: Role
    judge: Judge

    # -- statements over rows ------------------------------------------------------------------------------------

    def require(self, requirements: Iterable[Requirement]) -> None:
        """Raise InsufficientPrivilege for the first requirement that is not met."""
        superuser = self.role.superuser
        for needed in requirements:
            if needed.whom is None and superuser:
                continue
            whom = self.role.oid if needed.whom is None else needed.whom
            if not self._is_met(needed, whom):
                raise file_denied(needed.name) if needed.kind == FILE else permission_denied(needed.kind, needed.name)

    def has_rights_of(self, role: int) -> bool:
        """Return whether the role has the privileges of another one. role: an OID, of a predefined role."""
        return self.role.superuser or self.judge.has_rights_of(self.role.oid, role)

    def require_file(self, path: str) -> None:
        """Raise InsufficientPrivilege if the role may not let the server read files."""
        if not self.has_rights_of(READ_SERVER_FILES):
            raise file_denied(path)

    def _is_met(self, needed: Requirement, whom: int) -> bool:
        if needed.kind == FILE:
            return self.judge.has_rights_of(whom, READ_SERVER_FILES)
        kind: Kind = "s" if needed.kind == "sequence" else "r"
        left = needed.rights & ~self.judge.may(whom, needed.relation, kind, needed.rights)
        if left & ~(acl.SELECT | acl.INSERT | acl.UPDATE):
            return False
        asked = ((acl.SELECT, needed.read), (acl.INSERT, needed.inserted), (acl.UPDATE, needed.updated))
        return all(self._by_columns(whom, needed.relation, right, columns) for right, columns in asked if left & right)

    def _by_columns(self, whom: int, relation: int, right: int, columns: frozenset[int]) -> bool:
        if not columns:
            return self.judge.may_any_column(whom, relation, right)
        return self.judge.may_columns(whom, relation, columns, right)

    def may_read(self, relation: StoredRelation | Relation) -> bool:
        """Return whether the role has SELECT on the whole relation."""
        letter: Kind = "s" if isinstance(relation, Sequence) else "r"
        return relation.schema == TEMPORARY or self.may(relation.oid, letter, acl.SELECT)

    def may_read_or_use(self, sequence: Sequence) -> bool:
        """Return whether the role has SELECT or USAGE on a sequence."""
        return self.may_read(sequence) or self.may(sequence.oid, "s", acl.USAGE)

    def readable_columns(self, table: Table) -> frozenset[int]:
        """Return the numbers of the columns that the role may SELECT, by a privilege on the table or on the column."""
        numbers = (column.number for column in table.columns)
        if self.may_read(table):
            return frozenset(numbers)
        return frozenset(n for n in numbers if self.judge.may_column(self.role.oid, table.oid, n, acl.SELECT))

    # -- objects -------------------------------------------------------------------------------------------------

    def owns(self, relation: StoredRelation | Relation | UserType) -> bool:
        return relation.schema == TEMPORARY or self.judge.owns(self.role, relation.oid)

    def require_owner(self, relation: StoredRelation | Relation | UserType, kind: str) -> None:
        """Raise InsufficientPrivilege unless the role owns the object. kind: the object's kind in messages."""
        if not self.owns(relation):
            raise InsufficientPrivilege(f"must be owner of {kind} {relation.name}")

    def require_schema_owner(self, oid: int, name: str) -> None:
        if not self.judge.owns(self.role, oid):
            raise InsufficientPrivilege(f"must be owner of schema {name}")

    def may(self, oid: int, kind: Kind, rights: int) -> bool:
        """Return whether the role has all of these rights."""
        return self.role.superuser or self.judge.may(self.role.oid, oid, kind, rights) == rights

    def require_relation(self, relation: StoredRelation | Relation, kind: str, rights: int) -> None:
        letter: Kind = "s" if isinstance(relation, Sequence) else "r"
        if relation.schema != TEMPORARY and not self.may(relation.oid, letter, rights):
            raise permission_denied(kind, relation.name)

    def require_type(self, typ: t.PgType) -> None:
        """Require USAGE on a type, or on the element type of an array."""
        used = t.element_of(typ) if typ.is_array else typ
        if not self.may(used.oid, "T", acl.USAGE):
            raise permission_denied("type", used.sql_name)

    def require_any(self, relation: StoredRelation, kind: str, rights: int) -> None:
        """Require one of these rights on a table or a view."""
        own = relation.schema == TEMPORARY or self.role.superuser
        if not own and not self.judge.may(self.role.oid, relation.oid, "r", rights):
            raise permission_denied(kind, relation.name)

    def require_references(self, relation: StoredRelation, kind: str, columns: Iterable[int]) -> None:
        """Require REFERENCES on a table, or on each of these columns."""
        if relation.schema == TEMPORARY or self.may(relation.oid, "r", acl.REFERENCES):
            return
        if not self.judge.may_columns(self.role.oid, relation.oid, columns, acl.REFERENCES):
            raise permission_denied(kind, relation.name)

    def require_sequence(self, sequence: Sequence, *either: int) -> None:
        """Require one of these rights on a sequence. The sequence of an identity column needs none: it is used on
        behalf of its table's owner.
        """
        if sequence.internal or sequence.schema == TEMPORARY:
            return
        if not any(self.may(sequence.oid, "s", right) for right in either):
            raise permission_denied("sequence", sequence.name)

    # -- creation of objects -------------------------------------------------------------------------------------

    def may_use(self, snapshot: Snapshot, schema: str) -> bool:
        """Return whether the role may look up names in a schema. Every role may use the schemas of the system."""
        there = snapshot.schemas.get(schema)
        return there is None or self.may(there.oid, "n", acl.USAGE)

    def require_usage(self, snapshot: Snapshot, schema: str) -> None:
        """Raise SchemaDenied if the role may not use a schema."""
        if not self.may_use(snapshot, schema):
            raise SchemaDenied(f"permission denied for schema {schema}")

    def require_creation(self, snapshot: Snapshot, schema: str) -> None:
        """Raise InsufficientPrivilege if the role may not create objects in a schema."""
        if schema == TEMPORARY:
            if not self.may(DATABASE_OID, "d", acl.TEMPORARY):
                raise InsufficientPrivilege(f'permission denied to create temporary tables in database "{DATABASE}"')
            return
        there = snapshot.schemas.get(schema)
        if there is not None and not self.may(there.oid, "n", acl.CREATE):
            raise SchemaDenied(f"permission denied for schema {schema}")

    def require_new_schemas(self) -> None:
        if not self.may(DATABASE_OID, "d", acl.CREATE):
            raise permission_denied("database", DATABASE)


def permission_denied(kind: str, name: str) -> InsufficientPrivilege:
    return InsufficientPrivilege(f"permission denied for {kind} {name}")


def file_denied(path: str) -> InsufficientPrivilege:
    return InsufficientPrivilege(
        f'permission denied for file "{path}"',
        hint="A superuser may have the server read files, or a member of pg_read_server_files.",
    )


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal to a session, in the words of messages: the verb, its object, the participle."""

    verb: str
    thing: str
    done: str


CANCEL: Final = Signal("cancel", "query", "canceled")
TERMINATE: Final = Signal("terminate", "process", "terminated")


def signal_denied(signal: Signal, *, superuser: bool) -> InsufficientPrivilege:
    """Return the error for a signal that the role may not send. superuser: whether the session is a superuser's
    (signalfuncs.c: pg_cancel_backend, pg_terminate_backend).
    """
    if superuser:
        return InsufficientPrivilege(f"must be a superuser to {signal.verb} superuser {signal.thing}")
    return InsufficientPrivilege(
        f"must be a member of the role whose {signal.thing} is being {signal.done} or member of pg_signal_backend"
    )


#: An authority with all privileges, for the server itself.
UNBOUNDED: Final = Authority(anybody("sluice"), Judge(Rights(), Roles()))

"""Parse nodes of statements about owners and privileges: GRANT and REVOKE ... ON, OWNER TO, ALTER DEFAULT PRIVILEGES,
REASSIGN and DROP OWNED.
"""

from __future__ import annotations

from typing import Literal

from engine.sql.parser.nodes.statements import QualifiedName, RoleName, Statement
from wire.dataclass import dataclass

#: What GRANT may be about. table: also what stands without a word, and sequences.
GrantKind = Literal["table", "sequence", "schema", "database", "function", "type", "domain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Privilege:
    """name: as written, in lower case. columns: of a privilege on columns, else empty."""

    name: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantPrivileges(Statement):
    """privileges: none are ALL; all_columns: those of ALL (columns). names: the objects, or the schemas of `ON ALL ... IN SCHEMA`
    (in_schemas). option: WITH GRANT OPTION, or GRANT OPTION FOR. defaults: part of ALTER DEFAULT PRIVILEGES, without names."""

    kind: GrantKind
    privileges: tuple[Privilege, ...]
    names: tuple[QualifiedName, ...]
    grantees: tuple[RoleName, ...]
    all_columns: tuple[str, ...] = ()
    in_schemas: bool = False
    revoke: bool = False
    option: bool = False
    cascade: bool = False
    grantor: RoleName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDefaultPrivileges(Statement):
    """roles: whose objects; none are the current role's. schemas: none are all."""

    roles: tuple[RoleName, ...]
    schemas: tuple[str, ...]
    action: GrantPrivileges


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterOwner(Statement):
    """OWNER TO of a relation, a type, a schema or the database. kind: the words of ALTER."""

    kind: str
    name: QualifiedName
    owner: RoleName
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignOwned(Statement):
    roles: tuple[RoleName, ...]
    to: RoleName


@dataclass(frozen=True, slots=True, kw_only=True)
class DropOwned(Statement):
    roles: tuple[RoleName, ...]
    cascade: bool = False


PrivilegeStatement = GrantPrivileges | AlterDefaultPrivileges | AlterOwner | ReassignOwned | DropOwned

"""Parse nodes of statements about owners and privileges: GRANT and REVOKE ... ON, OWNER TO, ALTER DEFAULT PRIVILEGES,
REASSIGN and DROP OWNED.
"""

from __future__ import annotations

from typing import Literal

from engine.sql.parser.nodes.statements import QualifiedName, RoleName, Statement
from wire.dataclass import dataclass

#: The kinds of objects of GRANT. table: also for objects without a keyword, and for sequences.
GrantKind = Literal["table", "sequence", "schema", "database", "function", "type", "domain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Privilege:
    """A privilege. name: as written, in lower case. columns: the columns of a column privilege, else empty."""

    name: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantPrivileges(Statement):
    """GRANT or REVOKE of privileges on objects.

    privileges: empty for ALL. all_columns: the columns of ALL (columns). names: the objects, or the schemas of `ON ALL
        ... IN SCHEMA` (in_schemas); empty as a part of ALTER DEFAULT PRIVILEGES.
    option: WITH GRANT OPTION, or GRANT OPTION FOR.
    """

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
    """ALTER DEFAULT PRIVILEGES. roles: the owners of future objects; empty for the current role. schemas: empty for
    all.
    """

    roles: tuple[RoleName, ...]
    schemas: tuple[str, ...]
    action: GrantPrivileges


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterOwner(Statement):
    """OWNER TO of a relation, a type, a schema or the database. kind: the keyword after ALTER."""

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

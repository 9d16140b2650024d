"""Parse nodes of statements about roles: CREATE, ALTER and DROP ROLE, GRANT and REVOKE of membership."""

from __future__ import annotations

from engine.sql.parser.nodes.statements import RoleName, Statement
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOptions:
    """The options that were given; None for the others. password: "" with `password_said` is PASSWORD NULL."""

    superuser: bool | None = None
    inherit: bool | None = None
    createrole: bool | None = None
    createdb: bool | None = None
    login: bool | None = None
    replication: bool | None = None
    bypassrls: bool | None = None
    connection_limit: int | None = None
    password: str | None = None
    password_said: bool = False
    valid_until: str | None = None
    in_roles: tuple[RoleName, ...] = ()
    members: tuple[RoleName, ...] = ()
    admins: tuple[RoleName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRole(Statement):
    name: str
    options: RoleOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterRole(Statement):
    role: RoleName
    options: RoleOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRole(Statement):
    name: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterRoleSetting(Statement):
    """SET name TO value. value: None is RESET (or TO DEFAULT), and with the name "all" RESET ALL. role: None is ALL.
    database: empty if none is named.
    """

    role: RoleName | None
    database: str = ""
    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRole(Statement):
    roles: tuple[RoleName, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRole(Statement):
    """GRANT roles TO members, or REVOKE roles FROM members. admin: WITH ADMIN OPTION, or ADMIN OPTION FOR. grantor:
    None is the current role. group: whether it was written as ALTER GROUP.
    """

    roles: tuple[str, ...]
    members: tuple[RoleName, ...]
    revoke: bool = False
    admin: bool = False
    grantor: RoleName | None = None
    group: bool = False


#: Statements that `engine.statements.ddl.role` executes.
RoleStatement = CreateRole | AlterRole | RenameRole | AlterRoleSetting | DropRole | GrantRole

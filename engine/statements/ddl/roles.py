"""Dispatch table of the statements about roles and privileges: the function and the command tag of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.sql.parser.nodes import privileges as p
from engine.sql.parser.nodes import roles as r
from engine.sql.parser.nodes.statements import Statement
from engine.statements.ddl.default_privileges import alter_default_privileges
from engine.statements.ddl.grant import grant
from engine.statements.ddl.owned import drop_owned, reassign_owned
from engine.statements.ddl.owner import alter_owner
from engine.statements.ddl.role import alter_role, create_role, drop_roles, rename_role
from engine.statements.ddl.role_ground import RoleGround
from engine.statements.ddl.role_membership import grant_roles
from engine.statements.ddl.role_setting import alter_setting

_DOERS: Final[dict[type[Statement], tuple[Callable[[Any, RoleGround], None], str]]] = {
    r.CreateRole: (create_role, "CREATE ROLE"),
    r.AlterRole: (alter_role, "ALTER ROLE"),
    r.RenameRole: (rename_role, "ALTER ROLE"),
    r.AlterRoleSetting: (alter_setting, "ALTER ROLE"),
    r.DropRole: (drop_roles, "DROP ROLE"),
    p.GrantPrivileges: (grant, "GRANT"),
    p.AlterDefaultPrivileges: (alter_default_privileges, "ALTER DEFAULT PRIVILEGES"),
    p.AlterOwner: (alter_owner, "ALTER"),
    p.ReassignOwned: (reassign_owned, "REASSIGN OWNED"),
    p.DropOwned: (drop_owned, "DROP OWNED"),
}
ROLE_STATEMENTS: Final = (*_DOERS, r.GrantRole)


def tag(statement: Statement) -> str:
    """Return a statement's command tag."""
    if isinstance(statement, r.GrantRole):
        if statement.group:
            return "ALTER ROLE"
        return "REVOKE ROLE" if statement.revoke else "GRANT ROLE"
    if isinstance(statement, p.GrantPrivileges):
        return "REVOKE" if statement.revoke else "GRANT"
    if isinstance(statement, p.AlterOwner):
        return f"ALTER {statement.kind.upper()}"
    return _DOERS[type(statement)][1]


def change_roles(statement: Statement, ground: RoleGround) -> str:
    """Run one of `ROLE_STATEMENTS`, and return its tag. Blocks on the catalog database. Raises SqlError."""
    if isinstance(statement, r.GrantRole):
        grant_roles(statement, ground)
    else:
        _DOERS[type(statement)][0](statement, ground)
    return tag(statement)

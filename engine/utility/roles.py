"""Which function carries out which statement about roles and privileges, and its command tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.sql import privilege_statements as p
from engine.sql import role_statements as r
from engine.sql.statements import Statement
from engine.utility.default_privileges import alter_default_privileges
from engine.utility.grant import grant
from engine.utility.owned import drop_owned, reassign_owned
from engine.utility.owner import alter_owner
from engine.utility.role import alter_role, create_role, drop_roles, rename_role
from engine.utility.role_ground import RoleGround
from engine.utility.role_membership import grant_roles
from engine.utility.role_setting import alter_setting

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
    """The command that a statement is called by."""
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
    """Carry out one of `ROLE_STATEMENTS`; its tag. Blocks on the catalog database. Raises SqlError."""
    if isinstance(statement, r.GrantRole):
        grant_roles(statement, ground)
    else:
        _DOERS[type(statement)][0](statement, ground)
    return tag(statement)

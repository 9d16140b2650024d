"""ALTER DEFAULT PRIVILEGES: the privileges that objects get which a role creates from now on (aclchk.c:
ExecAlterDefaultPrivilegesStmt, SetDefaultACL).

The default privileges of a schema are added to the global ones, so a privilege that is granted globally cannot be
revoked for a schema.
"""

from __future__ import annotations

from engine.catalog.model import acl
from engine.catalog.model.acl import Kind
from engine.catalog.model.rights import DefaultKey
from engine.catalog.model.roles import Role
from engine.sql.parser.nodes.privileges import AlterDefaultPrivileges, GrantKind
from engine.statements.ddl.grant import Wanted, wanted_of
from engine.statements.ddl.owner import require_member
from engine.statements.ddl.role_ground import RoleGround
from wire.errors import InvalidGrantOperation, InvalidSchemaName

_LETTERS: dict[GrantKind, Kind] = {"table": "r", "sequence": "s", "schema": "n", "function": "f", "type": "T"}


def alter_default_privileges(statement: AlterDefaultPrivileges, ground: RoleGround) -> None:
    """Run ALTER DEFAULT PRIVILEGES. Raises InsufficientPrivilege, InvalidSchemaName, InvalidGrantOperation,
    UndefinedObject.
    """
    wanted = wanted_of(statement.action, ground, relation=False)
    letter = _LETTERS[statement.action.kind]
    owners = [ground.meant(name) for name in statement.roles] or [ground.current]
    for owner in owners:
        require_member(owner, ground)
        if not statement.schemas:
            _set(owner, 0, letter, wanted, ground)
        for name in statement.schemas:
            schema = ground.catalog.current().schemas.get(name)
            if schema is None:
                raise InvalidSchemaName(f'schema "{name}" does not exist')
            if letter == "n":
                raise InvalidGrantOperation("cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS")
            _set(owner, schema.oid, letter, wanted, ground)


def _set(owner: Role, schema: int, letter: Kind, wanted: Wanted, ground: RoleGround) -> None:
    key = DefaultKey(owner.oid, schema, letter)
    nothing_said = () if schema else acl.default_acl(letter, owner.oid)
    before = ground.catalog.current().rights.defaults.get(key)
    rights = acl.ALL[letter] if wanted.everything else wanted.rights
    after = acl.apply_grant(
        nothing_said if before is None else before, wanted.grantees, rights, owner.oid, owner.oid, ground.roles.has_rights_of,
        adds=wanted.adds, option=wanted.option, cascade=wanted.cascade,
    )  # fmt: skip
    said = None if acl.same(after, nothing_said) else acl.in_order(after)
    if said != before:
        ground.catalog.objects.put_defaults(key, said)

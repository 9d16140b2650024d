"""ALTER ROLE ... SET: the settings with which sessions begin, those of one role or all, in every database or in the
only one (user.c: AlterRoleSet; guc.c: validate_option_array_item).
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.objects import DATABASE
from engine.catalog.model.roles import FIRST_ROLE, Role
from engine.settings.session_settings import SessionSettings
from engine.sql.parser.nodes.roles import AlterRoleSetting
from engine.statements.ddl.role_ground import RoleGround
from wire.errors import FeatureNotSupported, InsufficientPrivilege, UndefinedObject

Settings = tuple[tuple[str, str], ...]


def alter_setting(statement: AlterRoleSetting, ground: RoleGround) -> None:
    """Run ALTER ROLE ... SET. Raises InsufficientPrivilege, UndefinedObject, InvalidParameterValue,
    CantChangeRuntimeParam.
    """
    role = _find_altered_role(statement, ground)
    if statement.database and statement.database != DATABASE:
        raise UndefinedObject(f'database "{statement.database}" does not exist', sqlstate="3D000")
    if statement.name in ("role", "session_authorization"):
        raise FeatureNotSupported(f"not supported: ALTER ROLE ... SET {statement.name}")
    everybody = statement.role is None
    match everybody, bool(statement.database):
        case True, True:
            ground.catalog.objects.put_role(replace(role, all_here=_change_settings(role.all_here, statement, ground)))
        case True, False:
            ground.catalog.objects.put_role(
                replace(role, all_settings=_change_settings(role.all_settings, statement, ground))
            )
        case False, True:
            ground.catalog.objects.put_role(replace(role, here=_change_settings(role.here, statement, ground)))
        case _:
            ground.catalog.objects.put_role(replace(role, settings=_change_settings(role.settings, statement, ground)))


def _find_altered_role(statement: AlterRoleSetting, ground: RoleGround) -> Role:
    """Find the role; for ALL it is the first role, which keeps the settings of all roles."""
    if statement.role is None:
        if not ground.current.superuser:
            raise InsufficientPrivilege("must be superuser to alter settings globally")
        first = ground.roles.with_oid(FIRST_ROLE)
        if first is None:
            raise FeatureNotSupported(
                "not supported: ALTER ROLE ALL while there is no role", hint="CREATE ROLE makes one."
            )
        return first
    role = ground.find_role(statement.role)
    if role.superuser and not ground.current.superuser:
        raise InsufficientPrivilege("must be superuser to alter superusers")
    if not ground.may_create and role.oid != ground.current.oid:
        raise InsufficientPrivilege("permission denied")
    return role


def _change_settings(settings: Settings, statement: AlterRoleSetting, ground: RoleGround) -> Settings:
    probe = SessionSettings()
    probe.privileged = lambda: ground.current.superuser
    if statement.name == "all":
        # RESET ALL keeps the settings that the current role may not change: a role cannot lift its own limits
        # (GUCArrayReset).
        return tuple(pair for pair in settings if not probe.changeable(pair[0]))
    probe.set(statement.name, statement.value)
    name = probe.canonical_name(statement.name)
    kept = tuple(pair for pair in settings if pair[0].lower() != name.lower())
    # The value is kept as it was written; the release that reads it decides its meaning.
    return kept if statement.value is None else (*kept, (name, statement.value))

"""CREATE, ALTER and DROP ROLE, and the privileges that they need (user.c: CreateRole, AlterRole, AlterRoleSet,
DropRole, RenameRole).

Creating the first role also creates a role for the current user, if that is another one, and makes it a superuser. So
there is a superuser from the first moment (`engine.catalog.model.roles`). The verifier that a role keeps of its
password is computed here, before anything is written anywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, cast

from engine.catalog.model.roles import FIRST_ROLE, FOREVER, PREDEFINED, RESERVED, Role, Roles
from engine.sql.parser.nodes.roles import AlterRole, CreateRole, DropRole, RenameRole, RoleOptions
from engine.sql.parser.nodes.statements import RoleName
from engine.statements.ddl.owned import require_free
from engine.statements.ddl.role_ground import RoleGround
from engine.statements.ddl.role_membership import add_members
from engine.statements.shared.names import required_by_system
from wire import verifiers
from wire.errors import (
    DuplicateObject,
    FeatureNotSupported,
    InsufficientPrivilege,
    InvalidParameterValue,
    Notice,
    ObjectInUse,
    ReservedName,
)
from wire.types import pg_types as t
from wire.types.input import parse_text
from wire.types.text_settings import InputSettings

_FLAGS: Final = ("superuser", "inherit", "createrole", "createdb", "login", "replication", "bypassrls")
_SECRET_BYTES: Final = 16


def create_role(statement: CreateRole, ground: RoleGround) -> None:
    """Run CREATE ROLE. Raises InsufficientPrivilege, DuplicateObject, ReservedName, InvalidParameterValue,
    UndefinedObject.
    """
    _check_creator(statement.options, ground.current)
    _check_name(statement.name)
    if not ground.roles:
        _create_first(statement, ground)
        if statement.name == ground.session.name:
            return
    if ground.roles.find_role(statement.name) is not None:
        raise DuplicateObject(f'role "{statement.name}" already exists')
    role = Role(ground.catalog.objects.new_oid(), statement.name)
    ground.catalog.objects.put_role(_with_options(role, statement.options, ground))
    _join(role.oid, statement.options, ground)


def _create_first(statement: CreateRole, ground: RoleGround) -> None:
    """Create the role of the current user as a superuser, whatever the statement says of it."""
    name = ground.session.name
    role = Role(FIRST_ROLE, name, secret=secrets.token_hex(_SECRET_BYTES))
    if statement.name == name:
        role = _with_options(role, statement.options, ground)
    ground.catalog.objects.put_role(
        replace(role, superuser=True, createrole=True, createdb=True, login=True, replication=True, bypassrls=True)
    )
    ground.notify(Notice(f'role "{name}" is a superuser, as there was no role before'))


def _check_creator(options: RoleOptions, current: Role) -> None:
    if current.superuser:
        return
    for said, what in (
        (options.superuser, "superusers"), (options.replication, "replication users"), (options.bypassrls, "bypassrls users")
    ):  # fmt: skip
        if said:
            raise InsufficientPrivilege(f"must be superuser to create {what}")
    if not current.createrole:
        raise InsufficientPrivilege("permission denied to create role")


def _check_name(name: str) -> None:
    if name.startswith("pg_"):
        raise ReservedName(f'role name "{name}" is reserved', detail='Role names starting with "pg_" are reserved.')
    if name in RESERVED:
        raise ReservedName(f'role name "{name}" is reserved')


def _with_options(role: Role, options: RoleOptions, ground: RoleGround) -> Role:
    said: dict[str, Any] = {name: value for name in _FLAGS if (value := getattr(options, name)) is not None}
    if options.connection_limit is not None:
        if options.connection_limit < -1:
            raise InvalidParameterValue(f"invalid connection limit: {options.connection_limit}")
        said["connection_limit"] = options.connection_limit
    if options.valid_until is not None:
        said["valid_until"] = _moment(options.valid_until, ground.input)
    if options.password_said:
        said["password"] = _make_verifier(options.password, role.name, ground)
    return replace(role, **said)


def _moment(text: str, settings: InputSettings) -> int:
    micros: int = parse_text(t.TIMESTAMPTZ, text, settings=settings)
    return min(micros, FOREVER)


def _make_verifier(password: str | None, name: str, ground: RoleGround) -> str | None:
    if password == "":
        ground.notify(Notice("empty string is not a valid password, clearing password"))
    if not password:
        return None
    encryption = cast("verifiers.Encryption", ground.settings.get("password_encryption"))
    return verifiers.make_verifier(password, name, encryption)


def _join(oid: int, options: RoleOptions, ground: RoleGround) -> None:
    """Apply IN ROLE, ROLE and ADMIN to a new role."""
    role = ground.roles.with_oid(oid)
    assert role is not None
    itself = RoleName(name=role.name)
    for name in options.in_roles:
        add_members(ground.find_role(name), [itself], ground.current, ground, admin=False)
    for names, admin in ((options.admins, True), (options.members, False)):
        add_members(ground.find_role(itself), names, ground.current, ground, admin=admin)


def alter_role(statement: AlterRole, ground: RoleGround) -> None:
    """Run ALTER ROLE. Raises InsufficientPrivilege, InvalidParameterValue, UndefinedObject."""
    role, options = ground.find_role(statement.role), statement.options
    if role.name in PREDEFINED:
        raise ReservedName(f'role name "{role.name}" is reserved', detail="Cannot alter reserved roles.")
    _check_alteration(role, options, ground)
    if role.oid == FIRST_ROLE and options.superuser is False:
        raise FeatureNotSupported(f'role "{role.name}" must stay a superuser', detail="It is the first role.")
    ground.catalog.objects.put_role(_with_options(role, options, ground))
    current = ground.find_role(statement.role)
    _join(current.oid, replace(options, in_roles=(), admins=()), ground)


def _check_alteration(role: Role, options: RoleOptions, ground: RoleGround) -> None:
    if ground.current.superuser:
        return
    if role.superuser or options.superuser is not None:
        raise InsufficientPrivilege("must be superuser to alter superuser roles or change superuser attribute")
    if role.replication or options.replication is not None:
        raise InsufficientPrivilege("must be superuser to alter replication roles or change replication attribute")
    if options.bypassrls is not None:
        raise InsufficientPrivilege("must be superuser to change bypassrls attribute")
    own = RoleOptions(password=options.password, password_said=True)
    if not ground.may_create and (options != own or role.oid != ground.current.oid):
        raise InsufficientPrivilege("permission denied")


def rename_role(statement: RenameRole, ground: RoleGround) -> None:
    """Rename a role. Raises InsufficientPrivilege, DuplicateObject, ReservedName, FeatureNotSupported, UndefinedObject."""
    role = ground.find_role(RoleName(name=statement.name))
    for who, what in ((ground.session, "session"), (ground.current, "current")):
        if role.oid == who.oid:
            raise FeatureNotSupported(f"{what} user cannot be renamed")
    if role.name.startswith("pg_"):
        _check_name(role.name)
    _check_name(statement.to)
    if ground.roles.find_role(statement.to) is not None:
        raise DuplicateObject(f'role "{statement.to}" already exists')
    if role.superuser and not ground.current.superuser:
        raise InsufficientPrivilege("must be superuser to rename superusers")
    if not ground.may_create:
        raise InsufficientPrivilege("permission denied to rename role")
    password = role.password
    if password is not None and verifiers.is_md5(password):
        ground.notify(Notice("MD5 password cleared because of role rename"))
        password = None
    ground.catalog.objects.remove_role(role)
    ground.catalog.objects.put_role(replace(role, name=statement.to, password=password))


def drop_roles(statement: DropRole, ground: RoleGround) -> None:
    """Run DROP ROLE. Raises InsufficientPrivilege, UndefinedObject, ObjectInUse, DependentObjectsStillExist,
    InvalidParameterValue.
    """
    if not ground.may_create:
        raise InsufficientPrivilege("permission denied to drop role")
    for name in statement.roles:
        if name.special:
            raise InvalidParameterValue("cannot use special role specifier in DROP ROLE")
        role = ground.roles.find_role(name.name)
        if role is None and statement.if_exists:
            ground.notify(Notice(f'role "{name.name}" does not exist, skipping'))
        else:
            _drop(role or ground.find_role(name), ground)


def _drop(role: Role, ground: RoleGround) -> None:
    for who, what in ((ground.current, "current"), (ground.session, "session")):
        if role.oid == who.oid:
            raise ObjectInUse(f"{what} user cannot be dropped")
    if role.superuser and not ground.current.superuser:
        raise InsufficientPrivilege("must be superuser to drop superusers")
    if role.oid == FIRST_ROLE or role.name in PREDEFINED:
        raise required_by_system(f"role {role.name}")
    require_free(role, ground)
    for member in _members(role, ground.roles):
        left = tuple(m for m in member.member_of if m.role != role.oid)
        ground.catalog.objects.put_role(replace(member, member_of=left))
    ground.catalog.objects.remove_role(ground.find_role(RoleName(name=role.name)))


def _members(role: Role, roles: Roles) -> Iterable[Role]:
    return [member for member in roles if member.membership(role.oid) is not None]

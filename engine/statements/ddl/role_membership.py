"""GRANT and REVOKE of roles (user.c: GrantRole, AddRoleMems, DelRoleMems)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.catalog.model.roles import DATABASE_OWNER, Membership, Role
from engine.sql.parser.nodes.roles import GrantRole
from engine.sql.parser.nodes.statements import RoleName
from engine.statements.ddl.role_ground import RoleGround
from wire.errors import InsufficientPrivilege, InvalidGrantOperation, Notice


def grant_roles(statement: GrantRole, ground: RoleGround) -> None:
    """Run GRANT or REVOKE of roles. Raises InsufficientPrivilege, UndefinedObject, InvalidGrantOperation."""
    grantor = ground.find_role(statement.grantor) if statement.grantor is not None else ground.current
    members = [RoleName(name=ground.find_role(member).name) for member in statement.members]
    for name in statement.roles:
        role = ground.find_role(RoleName(name=name))
        if statement.group and role.superuser and not ground.current.superuser:
            raise InsufficientPrivilege("must be superuser to alter superuser roles or change superuser attribute")
        if statement.revoke:
            _check(role, grantor, ground)
            for member in members:
                _leave(ground.find_role(member), role, statement.admin, ground)
        else:
            add_members(role, members, grantor, ground, admin=statement.admin)


def add_members(role: Role, members: Sequence[RoleName], grantor: Role, ground: RoleGround, *, admin: bool) -> None:
    """Make roles members of a role. Raises InsufficientPrivilege, UndefinedObject, InvalidGrantOperation."""
    if not members:
        return
    _check(role, grantor, ground)
    if role.oid == DATABASE_OWNER:
        raise InvalidGrantOperation(f'role "{role.name}" cannot have explicit members')
    for name in members:
        # Read the role again: an earlier part of the statement may have changed it.
        _enter(ground.find_role(name), Membership(role.oid, admin, grantor.oid), role, ground)


def _check(role: Role, grantor: Role, ground: RoleGround) -> None:
    current = ground.current
    if role.superuser and not current.superuser:
        raise InsufficientPrivilege("must be superuser to alter superusers")
    if not ground.may_create and not _is_admin(role, ground):
        raise InsufficientPrivilege(f'must have admin option on role "{role.name}"')
    if grantor.oid != current.oid and not current.superuser:
        raise InsufficientPrivilege("must be superuser to set grantor")


def _is_admin(role: Role, ground: RoleGround) -> bool:
    """Return whether the current role may add members to `role` (acl.c, is_admin_of_role)."""
    mine = ground.roles.all_of(ground.current)
    owners = (other for other in ground.roles if other.oid in mine)
    return any((m := other.membership(role.oid)) is not None and m.admin for other in owners)


def _enter(member: Role, joined: Membership, role: Role, ground: RoleGround) -> None:
    if member.oid == DATABASE_OWNER:
        raise InvalidGrantOperation(f'role "{member.name}" cannot be a member of any role')
    if member.oid in ground.roles.all_of(role):
        raise InvalidGrantOperation(f'role "{role.name}" is a member of role "{member.name}"')
    there = member.membership(role.oid)
    if there is not None and (there.admin or not joined.admin):
        ground.notify(Notice(f'role "{member.name}" is already a member of role "{role.name}"'))
        return
    others = tuple(m for m in member.member_of if m.role != role.oid)
    ground.catalog.objects.put_role(replace(member, member_of=(*others, joined)))


def _leave(member: Role, role: Role, admin_only: bool, ground: RoleGround) -> None:
    """End a membership. admin_only: the role stays a member, and only loses the admin option."""
    there = member.membership(role.oid)
    if there is None:
        ground.notify(
            Notice(f'role "{member.name}" is not a member of role "{role.name}"', "WARNING", sqlstate="01000")
        )
        return
    kept = tuple(m for m in member.member_of if m.role != role.oid)
    if admin_only:
        kept = tuple(replace(m, admin=False) if m.role == role.oid else m for m in member.member_of)
    ground.catalog.objects.put_role(replace(member, member_of=kept))

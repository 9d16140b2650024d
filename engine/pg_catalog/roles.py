"""Roles as relations: pg_authid, which has the password verifiers and is readable by superusers only, and the relations
that every role may read: pg_roles, pg_user, pg_group, pg_auth_members, pg_db_role_setting.

While no role was created, the relations show one role besides those of the system: the current user, who owns
everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.model.roles import PREDEFINED, Role, anybody
from engine.pg_catalog.declared import Row, SystemContext, postgres

_HIDDEN: Final = "********"


def roles_by_oid(context: SystemContext) -> Sequence[Role]:
    """Return every existing role, by OID."""
    roles = context.snapshot.roles
    return sorted(roles or (anybody(context.user), *PREDEFINED.values()), key=lambda role: role.oid)


def _settings(role: Role) -> list[str] | None:
    return [f"{name}={value}" for name, value in role.settings] or None


def _pg_authid(context: SystemContext) -> Iterator[Row]:
    for r in roles_by_oid(context):
        yield (
            r.oid, r.name, r.superuser, r.inherit, r.createrole, r.createdb, r.login, r.replication, r.bypassrls,
            r.connection_limit, r.password, r.valid_until,
        )  # fmt: skip


def _pg_roles(context: SystemContext) -> Iterator[Row]:
    for r in roles_by_oid(context):
        yield (
            r.name, r.superuser, r.inherit, r.createrole, r.createdb, r.login, r.replication, r.connection_limit, _HIDDEN,
            r.valid_until, r.bypassrls, _settings(r), r.oid,
        )  # fmt: skip


def _users(context: SystemContext, *, passwords: bool) -> Iterator[Row]:
    for r in roles_by_oid(context):
        if r.login:
            password = r.password if passwords else _HIDDEN
            yield (
                r.name, r.oid, r.createdb, r.superuser, r.replication, r.bypassrls, password, r.valid_until, _settings(r)
            )  # fmt: skip


def _pg_user(context: SystemContext) -> Iterator[Row]:
    return _users(context, passwords=False)


def _pg_shadow(context: SystemContext) -> Iterator[Row]:
    return _users(context, passwords=True)


def _pg_group(context: SystemContext) -> Iterator[Row]:
    roles = roles_by_oid(context)
    for r in roles:
        if not r.login:
            yield r.name, r.oid, [member.oid for member in roles if member.membership(r.oid) is not None]


def _pg_auth_members(context: SystemContext) -> Iterator[Row]:
    for member in roles_by_oid(context):
        for m in member.member_of:
            yield m.role, member.oid, m.grantor, m.admin


def _pg_db_role_setting(context: SystemContext) -> Iterator[Row]:
    for role in roles_by_oid(context):
        said = (
            (0, role.oid, role.settings),
            (DATABASE_OID, role.oid, role.here),
            (0, 0, role.all_settings),
            (DATABASE_OID, 0, role.all_here),
        )
        for database, of, settings in said:
            if settings:
                yield database, of, [f"{name}={value}" for name, value in settings]


_USER: Final = (
    "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, "
    "valuntil timestamptz, useconfig text[]"
)
#: The rows depend on the current role, so they are not kept for other sessions.
SYSTEM: Final = (
    postgres("pg_authid", _pg_authid, volatile=True, closed="table"),
    postgres("pg_roles", _pg_roles, volatile=True),
    postgres("pg_user", _pg_user, volatile=True),
    postgres("pg_shadow", _pg_shadow, volatile=True, closed="view"),
    postgres("pg_group", _pg_group, volatile=True),
    postgres("pg_auth_members", _pg_auth_members, volatile=True),
    postgres("pg_db_role_setting", _pg_db_role_setting, volatile=True),
)

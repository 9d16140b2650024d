"""Roles and their attributes, as values. A catalog snapshot has all of them (`Roles`); a change makes a new `Roles`.

While no role exists, every client that is let in may do everything, under any name. The user who creates the first role
becomes a role as well: the owner of the objects that existed before (OID 10, as the role that initdb makes), so that
users do not lock themselves out. From then on a name that is no role is `anybody`. The rules of authentication decide
whether such a client is let in at all (`server.auth.gate`); one that is let in is trusted, which for a role means
superuser.

A role stores its password as a verifier (`wire.verifiers`). Memberships are stored with the member role, settings with
their role.

Source: PostgreSQL 15, 22 "Database Roles"; acl.c (roles_is_member_of, has_privs_of_role), user.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from wire.dataclass import dataclass

#: The role of the user who created the first role. As in PostgreSQL it cannot be dropped.
FIRST_ROLE: Final = 10
#: The predefined roles (pg_authid.dat), which grant privileges that are not on objects. The owner of the database is
#: the only member of DATABASE_OWNER.
DATABASE_OWNER: Final = 6171
READ_ALL_DATA: Final = 6181
WRITE_ALL_DATA: Final = 6182
READ_ALL_SETTINGS: Final = 3374
READ_ALL_STATS: Final = 3375
SIGNAL_BACKEND: Final = 4200
READ_SERVER_FILES: Final = 4569
WRITE_SERVER_FILES: Final = 4570
CHECKPOINT: Final = 4544
#: Names that have a special meaning where a role is named.
RESERVED: Final = ("public", "none")
FOREVER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Membership:
    """The membership of a role in another one. role, grantor: OIDs. admin: whether the member may grant the membership (ADMIN
    OPTION)."""

    role: int
    admin: bool = False
    grantor: int = FIRST_ROLE


@dataclass(frozen=True, slots=True)
class Role:
    """A role.

    login: whether it may connect.
    inherit: whether it has the privileges of the roles that it is a member of without SET ROLE.
    connection_limit: -1 is none.
    password: its verifier; None is none.
    valid_until: the password's expiry, microseconds since 1970; None is never, and FOREVER is never, set explicitly.
    settings: name and value, in the order in which they were set. here: those for this database, which take precedence.
    all_settings, all_here: of the first role: the settings of all roles, over which a role's own take precedence.
    secret: of the first role: the secret from which verifiers of roles that do not exist are made, in hexadecimal
        digits.
    """

    oid: int
    name: str
    superuser: bool = False
    inherit: bool = True
    createrole: bool = False
    createdb: bool = False
    login: bool = False
    replication: bool = False
    bypassrls: bool = False
    connection_limit: int = -1
    password: str | None = field(default=None, repr=False)
    valid_until: int | None = None
    member_of: tuple[Membership, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    here: tuple[tuple[str, str], ...] = ()
    all_settings: tuple[tuple[str, str], ...] = ()
    all_here: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    secret: str = field(default="", repr=False)

    def membership(self, role: int) -> Membership | None:
        return next((m for m in self.member_of if m.role == role), None)


def anybody(name: str) -> Role:
    """Return the superuser role of a user who was admitted under a name that is not a role."""
    return Role(FIRST_ROLE, name, superuser=True, createrole=True, createdb=True, login=True)


_MONITORING: Final = (3374, 3375, 3377)
PREDEFINED: Final[Mapping[str, Role]] = {
    role.name: role
    for role in (
        Role(DATABASE_OWNER, "pg_database_owner"),
        Role(READ_ALL_DATA, "pg_read_all_data"),
        Role(WRITE_ALL_DATA, "pg_write_all_data"),
        Role(3373, "pg_monitor", member_of=tuple(Membership(oid) for oid in _MONITORING)),
        Role(READ_ALL_SETTINGS, "pg_read_all_settings"),
        Role(READ_ALL_STATS, "pg_read_all_stats"),
        Role(3377, "pg_stat_scan_tables"),
        Role(READ_SERVER_FILES, "pg_read_server_files"),
        Role(WRITE_SERVER_FILES, "pg_write_server_files"),
        Role(4571, "pg_execute_server_program"),
        Role(SIGNAL_BACKEND, "pg_signal_backend"),
        Role(CHECKPOINT, "pg_checkpoint"),
    )
}


@dataclass(frozen=True, slots=True)
class Roles:
    """All roles by name. The predefined roles exist as soon as the first role was created; they are not stored."""

    by_name: Mapping[str, Role] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def __iter__(self) -> Iterator[Role]:
        yield from self.by_name.values()
        if self.by_name:
            yield from PREDEFINED.values()

    def find_role(self, name: str) -> Role | None:
        return self.by_name.get(name) or PREDEFINED.get(name)

    def of(self, name: str) -> Role:
        """Return the role of a session's user."""
        return self.by_name.get(name) or anybody(name)

    def with_oid(self, oid: int) -> Role | None:
        return next((role for role in (*self.by_name.values(), *PREDEFINED.values()) if role.oid == oid), None)

    def all_of(self, role: Role, *, inherited: bool = False) -> set[int]:
        """Return the OIDs of a role and of all roles that it is a member of, directly or not. inherited: only those
        whose privileges it has without SET ROLE.
        """
        found: set[int] = set()
        pending = [role]
        while pending:
            at = pending.pop()
            if at.oid in found:
                continue
            found.add(at.oid)
            if at.inherit or not inherited:
                pending += filter(None, (self.with_oid(m.role) for m in at.member_of))
        return found

    def rights_of(self, oid: int) -> set[int]:
        """Return the OIDs of the roles whose privileges a role has without SET ROLE, itself included."""
        role = self.with_oid(oid)
        if role is None:
            return {oid}
        return {each.oid for each in self} if role.superuser else self.all_of(role, inherited=True)

    def rights_in_order(self, role: Role) -> list[int]:
        """Return `rights_of` in order: the role, the roles that it is a member of, then theirs (roles_is_member_of)."""
        found = [role.oid]
        for oid in found:
            at = role if oid == role.oid else self.with_oid(oid)
            if at is not None and at.inherit:
                found += [m.role for m in at.member_of if m.role not in found]
        return found

    def has_rights_of(self, role: int, of: int) -> bool:
        """Return whether one role has the privileges of another; both are OIDs (has_privs_of_role)."""
        return role == of or of in self.rights_of(role)

    def is_member(self, role: Role, of: Role) -> bool:
        """Return whether `role` may become `of` with SET ROLE; a superuser may become any role."""
        return role.superuser or of.oid in self.all_of(role)

    def belongs(self, name: str, to: str) -> bool:
        """Return whether a user is a member of a role; superusers only if they were made members (is_member of hba.c)."""
        role, of = self.find_role(name), self.find_role(to)
        return role is not None and of is not None and of.oid in self.all_of(role)

    def may_see(self, role: Role, of: Role) -> bool:
        """Return whether `role` may see the activity of sessions of `of`: it has the privileges of that role, or of
        pg_read_all_stats (pgstatfuncs.c, HAS_PGSTAT_PERMISSIONS).
        """
        if role.superuser or role.name == of.name:
            return True
        return not {READ_ALL_STATS, of.oid}.isdisjoint(self.all_of(role, inherited=True))

    def may_see_all(self, role: Role) -> bool:
        return role.superuser or READ_ALL_STATS in self.all_of(role, inherited=True)

    def may_signal(self, role: Role, of: Role) -> bool:
        """Return whether `role` may cancel statements of sessions of `of`, and terminate the sessions (signalfuncs.c,
        pg_signal_backend).
        """
        if role.superuser or of.superuser:
            return role.superuser
        return not {SIGNAL_BACKEND, of.oid}.isdisjoint(self.all_of(role, inherited=True))

    def settings_of(self, role: Role) -> dict[str, str]:
        """Return the settings with which a role's sessions begin, by name."""
        first = self.with_oid(FIRST_ROLE)
        everybody = (first.all_settings, first.all_here) if first is not None else ()
        return {name: value for said in (*everybody, role.settings, role.here) for name, value in said}

    @property
    def secret(self) -> bytes:
        """The secret of the first role (`Role.secret`)."""
        return next((bytes.fromhex(role.secret) for role in self if role.secret), b"no role yet")

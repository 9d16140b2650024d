"""Roles: who may do what, as values. A snapshot of the catalog has all of them (`Roles`), a change makes new ones.

While there is no role, everybody who is let in may do everything, under whatever name. Who creates the first role becomes one as
well: the owner of what there was before (OID 10, as the role that initdb makes), so that nobody is locked out by his own doing.
After that a name that is no role is `anybody`: whether such a client is let in at all is for the rules of authentication to say
(`server.gate`); one that is, is trusted, which among roles means a superuser.

What a role keeps of its password is a verifier (`wire.verifiers`). Memberships are with the member, settings with their role.

Source: PostgreSQL 15, 22 "Database Roles"; acl.c (roles_is_member_of, has_privs_of_role), user.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

#: The role of who created the first one. As in PostgreSQL it cannot be dropped.
FIRST_ROLE: Final = 10
#: Names that mean something else where a role is named.
RESERVED: Final = ("public", "none")
FOREVER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Membership:
    """Of the role that has it, in another. role, grantor: OIDs. admin: whether it may let others in."""

    role: int
    admin: bool = False
    grantor: int = FIRST_ROLE


@dataclass(frozen=True, slots=True)
class Role:
    """login: whether it may connect. inherit: whether it may do what its roles may without SET ROLE.
    connection_limit: -1 is none. password: what it keeps of it; None is none. valid_until: of the password, microseconds since
    1970; None is for ever, and FOREVER is too, said. settings: name and value, in the order they were given.
    secret: of the first role: what verifiers of roles that do not exist are made with, in hexadecimal digits."""

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
    comment: str | None = None
    secret: str = field(default="", repr=False)

    def membership(self, role: int) -> Membership | None:
        return next((m for m in self.member_of if m.role == role), None)


def anybody(name: str) -> Role:
    """Who has been let in and is no role."""
    return Role(FIRST_ROLE, name, superuser=True, createrole=True, createdb=True, login=True)


@dataclass(frozen=True, slots=True)
class Roles:
    """All roles by name."""

    by_name: Mapping[str, Role] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def __iter__(self) -> Iterator[Role]:
        return iter(self.by_name.values())

    def named(self, name: str) -> Role | None:
        return self.by_name.get(name)

    def of(self, name: str) -> Role:
        """Who a session's user is."""
        return self.by_name.get(name) or anybody(name)

    def with_oid(self, oid: int) -> Role | None:
        return next((role for role in self if role.oid == oid), None)

    def all_of(self, role: Role, *, inherited: bool = False) -> set[int]:
        """The OIDs of a role and of all roles that it is a member of, directly or not. inherited: only those whose rights it has
        without SET ROLE."""
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

    def is_member(self, role: Role, of: Role) -> bool:
        """Whether `role` may become `of`; a superuser may become anybody."""
        return role.superuser or of.oid in self.all_of(role)

    def belongs(self, name: str, to: str) -> bool:
        """Whether a user is of a role, superusers only where they were put into it (is_member of hba.c)."""
        role, of = self.named(name), self.named(to)
        return role is not None and of is not None and of.oid in self.all_of(role)

    @property
    def secret(self) -> bytes:
        """See `Role.secret`."""
        return next((bytes.fromhex(role.secret) for role in self if role.secret), b"no role yet")

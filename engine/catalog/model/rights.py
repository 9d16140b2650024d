"""Owners and privileges of everything in a catalog snapshot, by OID: the owner of an object, its access control list,
those of its columns, and the default privileges of future objects.

They are stored beside the objects and not in them, because they are the same for all kinds of objects, outlive renaming
and rewriting, and change without a change of the object: an INSERT does not conflict with a GRANT. An object without an
entry belongs to the first role, with the default list of its kind; sessions that work only as that role create no
entries.

`Judge` says what a role may do. It is asked before every statement of a role that is not a superuser, so each question
reads only one object's list.

Source: PostgreSQL 15, aclchk.c (pg_class_aclmask, pg_attribute_aclcheck_all, pg_namespace_aclmask,
get_user_default_acl).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from engine.catalog.model import acl
from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.roles import DATABASE_OWNER, FIRST_ROLE, READ_ALL_DATA, WRITE_ALL_DATA, Role, Roles
from wire.dataclass import dataclass

#: The OID of the only database (as in pg_database). It is above 16384 because pgAdmin hides databases below that as
#: system databases.
DATABASE_OID: Final = 0x7FFF_FFFF
#: The schema `public`. PUBLIC may use it but not create objects in it, as since PostgreSQL 15.
PUBLIC_SCHEMA: Final = 2200
_PUBLIC_SCHEMA_RIGHTS: Final = (
    acl.Item(DATABASE_OWNER, DATABASE_OWNER, acl.ALL["n"]),
    acl.Item(acl.PUBLIC, DATABASE_OWNER, acl.USAGE),
)


@dataclass(frozen=True, slots=True)
class ObjectRights:
    """The owner and the lists of one object. acl: None is the default. columns: the lists of columns that have one, by
    their numbers.
    """

    owner: int = FIRST_ROLE
    acl: Acl | None = None
    columns: tuple[tuple[int, Acl], ...] = ()

    def column(self, number: int) -> Acl:
        return next((found for n, found in self.columns if n == number), ())

    def with_column(self, number: int, changed: Acl) -> ObjectRights:
        others = tuple((n, there) for n, there in self.columns if n != number)
        own = ((number, changed),) if changed else ()
        return ObjectRights(self.owner, self.acl, tuple(sorted((*others, *own))))

    @property
    def roles(self) -> frozenset[int]:
        """The roles that the lists name, except the owner."""
        found = acl.named_roles(self.acl, self.owner)
        for _, column in self.columns:
            found |= acl.named_roles(column, self.owner)
        return found


_NOTHING_SAID: Final = ObjectRights()


@dataclass(frozen=True, slots=True)
class DefaultKey:
    """The key of default privileges: a role, a schema (0: any), a kind of object."""

    role: int
    schema: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Rights:
    """All owners and privileges. objects: by OID. defaults: those of ALTER DEFAULT PRIVILEGES."""

    objects: Mapping[int, ObjectRights] = field(default_factory=dict)
    defaults: Mapping[DefaultKey, Acl] = field(default_factory=dict)

    def of(self, oid: int) -> ObjectRights:
        return self.objects.get(oid, _PUBLIC if oid == PUBLIC_SCHEMA else _NOTHING_SAID)

    def with_object(self, oid: int, rights: ObjectRights) -> Rights:
        return replace(self, objects={**self.objects, oid: rights})

    def with_default(self, of: DefaultKey, said: Acl | None) -> Rights:
        others = {key: there for key, there in self.defaults.items() if key != of}
        return replace(self, defaults=others if said is None else {**others, of: said})

    def restrict_to(self, there: Callable[[], set[int]]) -> Rights:
        """Drop the entries of objects that no longer exist. there: returns the OIDs of the existing objects."""
        if not self.objects or self.objects.keys() <= (oids := there()):
            return self
        return replace(self, objects={oid: rights for oid, rights in self.objects.items() if oid in oids})

    def list_of(self, oid: int, kind: Kind) -> Acl:
        """Return the object's list: its own, or the default of its kind."""
        own = self.of(oid)
        return own.acl if own.acl is not None else acl.default_acl(kind, own.owner)

    def of_new(self, owner: int, schema: int, kind: Kind, roles: Roles) -> Acl | None:
        """Return the list of a new object; None is the default. As in PostgreSQL, None is also the result if the
        default privileges leave no rights at all.
        """
        everywhere = self.defaults.get(DefaultKey(owner, 0, kind))
        here = self.defaults.get(DefaultKey(owner, schema, kind)) if schema else None
        if everywhere is None and here is None:
            return None
        plain = acl.default_acl(kind, owner)
        found = acl.merge(plain if everywhere is None else everywhere, here or (), owner, roles.has_rights_of)
        return None if not found or acl.same(found, plain) else acl.in_order(found)


#: The privileges of the schema `public` while they were not changed.
_PUBLIC: Final = ObjectRights(DATABASE_OWNER, _PUBLIC_SCHEMA_RIGHTS)


@dataclass(frozen=True)
class Judge:
    """Decides what roles may do in one catalog snapshot."""

    rights: Rights
    roles: Roles

    @cached_property
    def _with_rights_of(self) -> dict[int, frozenset[int]]:
        return {}

    def has_rights_of(self, role: int, of: int) -> bool:
        return role == of or of in self._rights_of(role)

    def _rights_of(self, role: int) -> frozenset[int]:
        found = self._with_rights_of.get(role)
        if found is None:
            found = frozenset(self.roles.rights_of(role))
            if self.rights.of(DATABASE_OID).owner in found:
                found |= {DATABASE_OWNER}
            self._with_rights_of[role] = found
        return found

    def is_superuser(self, role: int) -> bool:
        return role == FIRST_ROLE or ((found := self.roles.with_oid(role)) is not None and found.superuser)

    def owns(self, role: Role, oid: int) -> bool:
        return role.superuser or self.has_rights_of(role.oid, self.rights.of(oid).owner)

    def may(self, role: int, oid: int, kind: Kind, wanted: int) -> int:
        """Return those of `wanted` that a role has on an object as a whole."""
        if self.is_superuser(role):
            return wanted
        found = acl.mask(self.rights.list_of(oid, kind), role, wanted, self.has_rights_of)
        return found | (self._by_predefined(role, kind, wanted & ~found) if wanted & ~found else 0)

    def may_give(self, role: int, oid: int, kind: Kind, wanted: int) -> int:
        """Return those of `wanted` that a role may grant."""
        if self.is_superuser(role):
            return wanted
        own = self.rights.of(oid)
        return acl.options(self.rights.list_of(oid, kind), role, own.owner, wanted, self.has_rights_of)

    def _by_predefined(self, role: int, kind: Kind, wanted: int) -> int:
        """Return the rights that pg_read_all_data and pg_write_all_data give."""
        reads = {"r": acl.SELECT, "s": acl.SELECT, "n": acl.USAGE}.get(kind, 0)
        writes = {"r": acl.INSERT | acl.UPDATE | acl.DELETE, "s": acl.UPDATE, "n": acl.USAGE}.get(kind, 0)
        found = 0
        if wanted & reads and self.has_rights_of(role, READ_ALL_DATA):
            found |= wanted & reads
        if wanted & writes and self.has_rights_of(role, WRITE_ALL_DATA):
            found |= wanted & writes
        return found

    def may_column(self, role: int, oid: int, number: int, wanted: int) -> int:
        """Return those of `wanted` that a role has by the column's own list."""
        return acl.mask(self.rights.of(oid).column(number), role, wanted, self.has_rights_of)

    def may_columns(self, role: int, oid: int, numbers: Iterable[int], wanted: int) -> bool:
        """Return whether a role has these rights on each of the columns, by the columns' own lists."""
        return all(self.may_column(role, oid, number, wanted) == wanted for number in numbers)

    def may_any_column(self, role: int, oid: int, wanted: int) -> bool:
        own = self.rights.of(oid)
        return any(self.may_column(role, oid, number, wanted) == wanted for number, _ in own.columns)

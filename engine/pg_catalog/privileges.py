"""Privileges as relations of Sluice's own: those of the current role (`own_privileges`) and of each role
(`role_privileges`), which has_..._privilege read; the grants (`granted`); and what acldefault and aclexplode need to
know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.model import acl
from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.objects import Sequence, Table
from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.model.roles import READ_ALL_DATA, Role
from engine.catalog.snapshot import SLUICE, TEMPORARY
from engine.pg_catalog.acl_text import AclText
from engine.pg_catalog.declared import Row, SystemContext, SystemRelation, postgres
from engine.pg_catalog.namespaces import system_schemas
from engine.pg_catalog.relations import keys
from engine.pg_catalog.roles import roles_by_oid
from engine.sql.functions import privilege_words as words


def _of_own_role(context: SystemContext) -> Iterator[Row]:
    return _of_role(context, context.authority.role)


def _of_everybody(context: SystemContext) -> Iterator[Row]:
    for role in _roles(context):
        for row in _of_role(context, role):
            yield role.oid, role.name, *row


def _of_role(context: SystemContext, role: Role) -> Iterator[Row]:
    yield from _relations_of(context, role)
    yield from _others_of(context, role)


def _relations_of(context: SystemContext, role: Role) -> Iterator[Row]:
    judge, superuser, everything = context.authority.judge, role.superuser, acl.ALL["r"] | acl.ALL["s"]
    reads_closed = judge.has_rights_of(role.oid, READ_ALL_DATA)
    for system in context.system.values():
        rights = everything if superuser else 0 if system.closed and not reads_closed else acl.SELECT
        yield "r", system.oid, 0, None, rights, everything if superuser else 0
    for relation in context.snapshot.relations.values():
        kind: Kind = "s" if isinstance(relation, Sequence) else "r"
        if superuser or relation.schema == TEMPORARY:
            rights = options = everything
        else:
            rights = judge.may(role.oid, relation.oid, kind, acl.ALL[kind])
            options = judge.may_give(role.oid, relation.oid, kind, acl.ALL[kind])
        yield "r", relation.oid, 0, None, rights, options
        own_rights = judge.rights.of(relation.oid)
        owned = superuser or relation.schema == TEMPORARY or judge.has_rights_of(role.oid, own_rights.owner)
        for index in keys(relation.constraints if isinstance(relation, Table) else ()):
            own = everything if owned else 0
            yield "r", index.oid, 0, None, own, own
        names = {} if isinstance(relation, Sequence) else {c.number: c.name for c in relation.columns}
        for number, said in own_rights.columns:
            may = acl.mask(said, role.oid, acl.ALL["c"], judge.has_rights_of)
            give = acl.options(said, role.oid, own_rights.owner, acl.ALL["c"], judge.has_rights_of)
            yield "r", relation.oid, number, names.get(number), may, give


def _others_of(context: SystemContext, role: Role) -> Iterator[Row]:
    judge, superuser = context.authority.judge, role.superuser
    for name, oid in system_schemas().items():
        yield "n", oid, 0, name, acl.ALL["n"] if superuser or name == TEMPORARY else acl.USAGE, acl.ALL["n"] * superuser
    for schema in context.snapshot.schemas.values():
        may = acl.ALL["n"] if superuser else judge.may(role.oid, schema.oid, "n", acl.ALL["n"])
        give = acl.ALL["n"] if superuser else judge.may_give(role.oid, schema.oid, "n", acl.ALL["n"])
        yield "n", schema.oid, 0, schema.name, may, give
    for typ in context.snapshot.types.values():
        may = acl.USAGE if superuser else judge.may(role.oid, typ.oid, "T", acl.USAGE)
        give = acl.USAGE if superuser else judge.may_give(role.oid, typ.oid, "T", acl.USAGE)
        yield "T", typ.oid, 0, None, may, give
        yield "T", typ.array, 0, None, may, give
    may = acl.ALL["d"] if superuser else judge.may(role.oid, DATABASE_OID, "d", acl.ALL["d"])
    give = acl.ALL["d"] if superuser else judge.may_give(role.oid, DATABASE_OID, "d", acl.ALL["d"])
    yield "d", DATABASE_OID, 0, context.database, may, give
    yield "S", 0, 0, None, int(superuser), int(superuser)
    every = words.ROLE_USAGE | words.ROLE_MEMBER | words.ROLE_ADMIN
    for other in _roles(context):
        yield "R", other.oid, 0, other.name, every if superuser else words.of_role(judge, role, other.oid), 0


def _roles(context: SystemContext) -> Iterator[Role]:
    """Yield all roles, and the current user, who may not be one of them."""
    roles, asking = roles_by_oid(context), context.authority.role
    yield from roles
    if all(role.oid != asking.oid for role in roles):
        yield asking


def _granted_items(context: SystemContext) -> Iterator[Row]:
    rights = context.snapshot.rights
    for relation in context.snapshot.relations.values():
        if relation.schema != TEMPORARY:
            kind: Kind = "s" if isinstance(relation, Sequence) else "r"
            yield from _items(kind, relation.oid, 0, rights.list_of(relation.oid, kind))
            for number, said in rights.of(relation.oid).columns:
                yield from _items("c", relation.oid, number, said)
    for schema in context.snapshot.schemas.values():
        yield from _items("n", schema.oid, 0, rights.list_of(schema.oid, "n"))
    for typ in context.snapshot.types.values():
        yield from _items("T", typ.oid, 0, rights.list_of(typ.oid, "T"))
    yield from _items("d", DATABASE_OID, 0, rights.list_of(DATABASE_OID, "d"))


def _items(kind: Kind, oid: int, number: int, said: Acl) -> Iterator[Row]:
    for item in said:
        for word in acl.words(item.rights):
            grantable = bool(item.options & acl.BY_WORD[word]) or item.grantee == item.grantor
            yield kind, oid, number, item.grantor, item.grantee, word, grantable


def _pg_default_acl(context: SystemContext) -> Iterator[Row]:
    """Yield pg_default_acl. Its rows are not named by any other, so their OIDs are consecutive numbers."""
    shown = AclText(context.snapshot.roles, context.user)
    for number, (of, said) in enumerate(context.snapshot.rights.defaults.items(), 1):
        yield number, of.role, of.schema, "S" if of.kind == "s" else of.kind, shown(said)


def _role_names(context: SystemContext) -> Iterator[Row]:
    return AclText(context.snapshot.roles, context.user).roles()


def _default_acls(context: SystemContext) -> Iterator[Row]:
    """Yield acldefault()'s result for each role and each kind of object that it may own."""
    shown = AclText(context.snapshot.roles, context.user)
    for role, _name in shown.roles():
        for kind in acl.ALL:
            yield kind, role, shown(acl.default_acl(kind, role))


SYSTEM: Final = (
    postgres("pg_default_acl", _pg_default_acl),
    SystemRelation(
        15_950,
        "own_privileges",
        "kind char, oid oid, number int2, name name, rights int4, options int4",
        _of_own_role,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_952,
        "role_privileges",
        "role oid, rolename name, kind char, oid oid, number int2, name name, rights int4, options int4",
        _of_everybody,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(15_953, "role_names", "oid oid, shown text", _role_names, volatile=True, schema=SLUICE),
    SystemRelation(
        15_954, "default_acls", "kind char, owner oid, acl aclitem[]", _default_acls, volatile=True, schema=SLUICE
    ),
    SystemRelation(
        15_951,
        "granted",
        "kind char, oid oid, number int2, grantor oid, grantee oid, privilege_type varchar, is_grantable bool",
        _granted_items,
        schema=SLUICE,
    ),
)

"""Privileges as relations of Sluice's own: what the current role may do (`own_privileges`, which has_..._privilege reads), and who
was granted what (`granted`, which information_schema's views of privileges read).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine import privilege_words as words
from engine.catalog import acl
from engine.catalog.acl import Acl, Kind
from engine.catalog.objects import Sequence, Table
from engine.catalog.rights import DATABASE_OID
from engine.catalog.roles import Role
from engine.catalog.snapshot import SLUICE, TEMPORARY
from engine.catalog.system.acl_text import AclText
from engine.catalog.system.declared import Row, SystemContext, SystemRelation, postgres
from engine.catalog.system.relations import keys, system_schemas


def _own(context: SystemContext) -> Iterator[Row]:
    yield from _own_relations(context)
    yield from _own_others(context)


def _own_relations(context: SystemContext) -> Iterator[Row]:
    authority, everything = context.authority, acl.ALL["r"] | acl.ALL["s"]
    role, judge, superuser = authority.role, authority.judge, authority.role.superuser
    for system in context.system.values():
        rights = everything if superuser else 0 if system.closed else acl.SELECT
        yield "r", system.oid, 0, None, rights, everything if superuser else 0
    for relation in context.snapshot.relations.values():
        kind: Kind = "s" if isinstance(relation, Sequence) else "r"
        if superuser or relation.schema == TEMPORARY:
            rights = options = everything
        else:
            rights = judge.may(role.oid, relation.oid, kind, acl.ALL[kind])
            options = judge.may_give(role.oid, relation.oid, kind, acl.ALL[kind])
        yield "r", relation.oid, 0, None, rights, options
        for index in keys(relation.constraints if isinstance(relation, Table) else ()):
            own = everything if authority.owns(relation) else 0
            yield "r", index.oid, 0, None, own, own
        own_rights = judge.rights.of(relation.oid)
        names = {} if isinstance(relation, Sequence) else {c.number: c.name for c in relation.columns}
        for number, said in own_rights.columns:
            may = acl.mask(said, role.oid, acl.ALL["c"], judge.has_rights_of)
            give = acl.options(said, role.oid, own_rights.owner, acl.ALL["c"], judge.has_rights_of)
            yield "r", relation.oid, number, names.get(number), may, give


def _own_others(context: SystemContext) -> Iterator[Row]:
    authority, superuser = context.authority, context.authority.role.superuser
    role, judge = authority.role, authority.judge
    for name, oid in system_schemas().items():
        yield "n", oid, 0, name, acl.ALL["n"] if superuser or name == TEMPORARY else acl.USAGE, acl.ALL["n"] * superuser
    for schema in context.snapshot.schemas.values():
        may = acl.ALL["n"] if superuser else judge.may(role.oid, schema.oid, "n", acl.ALL["n"])
        give = acl.ALL["n"] if superuser else judge.may_give(role.oid, schema.oid, "n", acl.ALL["n"])
        yield "n", schema.oid, 0, schema.name, may, give
    may = acl.ALL["d"] if superuser else judge.may(role.oid, DATABASE_OID, "d", acl.ALL["d"])
    give = acl.ALL["d"] if superuser else judge.may_give(role.oid, DATABASE_OID, "d", acl.ALL["d"])
    yield "d", DATABASE_OID, 0, context.database, may, give
    yield "S", 0, 0, None, int(superuser), int(superuser)
    every = words.ROLE_USAGE | words.ROLE_MEMBER | words.ROLE_ADMIN
    for other in (*context.snapshot.roles, *_unlisted(role, context)):
        yield "R", other.oid, 0, other.name, every if superuser else words.of_role(judge, role, other.oid), 0


def _unlisted(role: Role, context: SystemContext) -> tuple[Role, ...]:
    """Who asks, while there is no role."""
    return () if context.snapshot.roles.with_oid(role.oid) is not None else (role,)


def _granted(context: SystemContext) -> Iterator[Row]:
    rights = context.snapshot.rights
    for relation in context.snapshot.relations.values():
        if relation.schema != TEMPORARY:
            kind: Kind = "s" if isinstance(relation, Sequence) else "r"
            yield from _items(kind, relation.oid, 0, rights.list_of(relation.oid, kind))
            for number, said in rights.of(relation.oid).columns:
                yield from _items("c", relation.oid, number, said)
    for schema in context.snapshot.schemas.values():
        yield from _items("n", schema.oid, 0, rights.list_of(schema.oid, "n"))
    yield from _items("d", DATABASE_OID, 0, rights.list_of(DATABASE_OID, "d"))


def _items(kind: Kind, oid: int, number: int, said: Acl) -> Iterator[Row]:
    for item in said:
        for word in acl.words(item.rights):
            grantable = bool(item.options & acl.BY_WORD[word]) or item.grantee == item.grantor
            yield kind, oid, number, item.grantor, item.grantee, word, grantable


def _pg_default_acl(context: SystemContext) -> Iterator[Row]:
    """Its rows are nothing's name: they are numbered."""
    shown = AclText(context.snapshot.roles, context.user)
    for number, (of, said) in enumerate(context.snapshot.rights.defaults.items(), 1):
        yield number, of.role, of.schema, "S" if of.kind == "s" else of.kind, shown(said)


SYSTEM: Final = (
    postgres("pg_default_acl", _pg_default_acl),
    SystemRelation(
        15_950,
        "own_privileges",
        "kind char, oid oid, number int2, name name, rights int4, options int4",
        _own,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_951,
        "granted",
        "kind char, oid oid, number int2, grantor oid, grantee oid, privilege_type varchar, is_grantable bool",
        _granted,
        schema=SLUICE,
    ),
)

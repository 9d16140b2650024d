"""GRANT and REVOKE of privileges on relations, columns, sequences, types, schemas and the database.

The grantor is not always the current role: a superuser acts as the owner, and another role as the one with most grant
options among the roles whose privileges it has. Privileges that the grantor cannot grant are left out with a warning.
It is an error if the grantor has no grant option on the object and no privilege on it either.

Source: PostgreSQL 15, aclchk.c (ExecuteGrantStmt, ExecGrant_Relation, ExecGrant_Attribute, restrict_and_check_grant).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.catalog.authority import permission_denied
from engine.catalog.model import acl
from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.objects import DATABASE, StoredRelation
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.rights import DATABASE_OID, Judge
from engine.catalog.model.user_types import DomainType
from engine.catalog.snapshot import SLUICE, TEMPORARY
from engine.pg_catalog import PG_CATALOG, SystemCatalog
from engine.sql.parser.nodes.privileges import GrantKind, GrantPrivileges, Privilege
from engine.sql.parser.nodes.statements import QualifiedName, RoleName
from engine.statements.ddl.rights_draft import RightsDraft
from engine.statements.ddl.role_ground import RoleGround, type_of_users
from engine.statements.shared.dependencies import kind_of
from engine.statements.shared.names import key_named
from wire.dataclass import dataclass
from wire.errors import (
    FeatureNotSupported,
    InsufficientPrivilege,
    InvalidGrantOperation,
    InvalidSchemaName,
    Notice,
    SqlSyntaxError,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)

_LETTERS: Final[dict[GrantKind, Kind]] = {
    "table": "r", "sequence": "s", "schema": "n", "database": "d", "function": "f", "type": "T", "domain": "T"
}  # fmt: skip
#: The statement's keyword TABLE may also mean sequences; the kind is known once the names are resolved.
_RELATION: Final = acl.ALL["r"] | acl.ALL["s"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The privileges that a statement grants or revokes, with its roles looked up. rights: 0 with `everything` means
    ALL. columns: the privileges on each named column.
    """

    adds: bool
    option: bool
    cascade: bool
    grantees: tuple[int, ...]
    rights: int
    everything: bool
    columns: tuple[tuple[str, int], ...]


_Change = Callable[[Wanted, RightsDraft], None]


def grant(statement: GrantPrivileges, ground: RoleGround) -> None:
    """Run GRANT or REVOKE. Raises InsufficientPrivilege, InvalidGrantOperation, DependentObjectsStillExist, and the
    errors of names that do not exist.
    """
    if statement.grantor is not None and ground.meant(statement.grantor).oid != ground.current.oid:
        raise FeatureNotSupported("grantor must be current user")
    match statement.kind:
        case "schema":
            targets: list[_Change] = [_schema(name, ground) for name in statement.names]
        case "database":
            targets = [_database(name, ground) for name in statement.names]
        case "type" | "domain":
            targets = [_type(name, statement.kind, ground) for name in statement.names]
        case "function":
            _require_schemas(statement.names, ground)
            targets = []
        case _:
            found = list(_relations(statement, ground))
            targets = [_on_relation(relation, statement, ground) for relation in found]
    wanted = wanted_of(statement, ground, relation=statement.kind == "table")
    draft = RightsDraft(ground.catalog)
    for change in targets:
        change(wanted, draft)
    draft.record()


def wanted_of(statement: GrantPrivileges, ground: RoleGround, *, relation: bool) -> Wanted:
    """Read the privileges that a statement names. relation: whether the named tables may also be sequences."""
    letter = _LETTERS[statement.kind]
    possible, kind = (_RELATION, "relation") if relation else (acl.ALL[letter], statement.kind)
    rights, columns = 0, [(name, acl.ALL["c"]) for name in statement.all_columns]
    for said in statement.privileges:
        right = _right(said)
        if said.columns:
            if statement.kind != "table":
                raise InvalidGrantOperation("column privileges are only valid for relations")
            _require_possible(right, acl.ALL["c"], "column")
            columns += [(name, right) for name in said.columns]
        else:
            _require_possible(right, possible, kind)
            rights |= right
    everything = not statement.privileges and not statement.all_columns
    return Wanted(
        not statement.revoke, statement.option, statement.cascade, tuple(grantee(g, ground) for g in statement.grantees),
        rights, everything, tuple(columns),
    )  # fmt: skip


def grantee(name: RoleName, ground: RoleGround) -> int:
    """Return the OID of a grantee. Raises UndefinedObject."""
    return acl.PUBLIC if name.special == "public" else ground.meant(name).oid


def _right(said: Privilege) -> int:
    right = acl.BY_WORD.get(said.name.upper())
    if right is None:
        raise SqlSyntaxError(f'unrecognized privilege type "{said.name}"')
    return right


def _require_possible(right: int, possible: int, kind: str) -> None:
    if right & ~possible:
        raise InvalidGrantOperation(f"invalid privilege type {acl.words(right)[0]} for {kind}")


# -- names -----------------------------------------------------------------------------------------------------------


def _relations(statement: GrantPrivileges, ground: RoleGround) -> Iterator[StoredRelation]:
    if not statement.in_schemas:
        for name in statement.names:
            yield _relation(name, ground)
        return
    _require_schemas(statement.names, ground)
    schemas = {name.name for name in statement.names}
    for relation in list(ground.catalog.current().relations.values()):
        is_sequence = isinstance(relation, NumberSequence)
        if relation.schema in schemas and is_sequence == (statement.kind == "sequence"):
            yield relation


def _relation(name: QualifiedName, ground: RoleGround) -> StoredRelation:
    snapshot = ground.catalog.current()
    schemas = ground.search_path if name.schema is None else (name.schema,)
    if SystemCatalog.oid_of(schemas, name.name) is not None:
        raise FeatureNotSupported(
            f"not supported: privileges on {name}", hint="Everybody may read what is in it of his."
        )
    if name.schema is not None:
        ground.authority.require_usage(snapshot, name.schema)
    found = snapshot.resolve(name.schema, name.name, ground.search_path)
    if found is None:
        if any(key_named(snapshot, schema, name.name) is not None for schema in schemas):
            raise WrongObjectType(f'"{name.name}" is an index')
        raise UndefinedTable(f'relation "{name}" does not exist')
    return found


def _require_schemas(names: Sequence[QualifiedName], ground: RoleGround) -> None:
    for name in names:
        if name.name not in ground.catalog.current().schemas and name.name not in (PG_CATALOG, SLUICE):
            raise InvalidSchemaName(f'schema "{name.name}" does not exist')


# -- objects ---------------------------------------------------------------------------------------------------------


def _schema(name: QualifiedName, ground: RoleGround) -> _Change:
    _require_schemas([name], ground)
    schema = ground.catalog.current().schemas.get(name.name)
    if schema is None:
        raise FeatureNotSupported(f"not supported: privileges on schema {name.name}")
    return lambda wanted, draft: _change_object(ground, draft, schema.oid, "n", "schema", schema.name, wanted)


def _database(name: QualifiedName, ground: RoleGround) -> _Change:
    if name.name != DATABASE:
        raise UndefinedObject(f'database "{name.name}" does not exist', sqlstate="3D000")
    return lambda wanted, draft: _change_object(ground, draft, DATABASE_OID, "d", "database", DATABASE, wanted)


def _type(name: QualifiedName, kind: str, ground: RoleGround) -> _Change:
    typ = type_of_users(name, ground)
    if kind == "domain" and not isinstance(typ, DomainType):
        raise WrongObjectType(f'"{typ.name}" is not a domain')
    return lambda wanted, draft: _change_object(ground, draft, typ.oid, "T", "type", typ.name, wanted)


def _on_relation(relation: StoredRelation, statement: GrantPrivileges, ground: RoleGround) -> _Change:
    if statement.kind == "sequence" and not isinstance(relation, NumberSequence):
        raise WrongObjectType(f'"{relation.name}" is not a sequence')
    if relation.schema == TEMPORARY:
        raise FeatureNotSupported("not supported: privileges on temporary relations, which are their session's alone")
    return lambda wanted, draft: _change_relation(relation, wanted, ground, draft)


def _change_relation(relation: StoredRelation, wanted: Wanted, ground: RoleGround, draft: RightsDraft) -> None:
    letter: Kind = "s" if isinstance(relation, NumberSequence) else "r"
    if letter == "s":
        if wanted.rights & ~acl.ALL["s"]:
            message = f'sequence "{relation.name}" only supports USAGE, SELECT, and UPDATE privileges'
            ground.notify(Notice(message, "WARNING", sqlstate="0LP01"))
            wanted = replace(wanted, rights=wanted.rights & acl.ALL["s"])
    else:
        _require_possible(wanted.rights & ~acl.ALL["r"], 0, "table")
    columns = _rights_by_column(relation, wanted)
    if wanted.everything or wanted.rights:
        _change_object(ground, draft, relation.oid, letter, kind_of(relation), relation.name, wanted)
    for number, rights in columns.items():
        _change_column(relation, number, rights, wanted, ground, draft)


def _rights_by_column(relation: StoredRelation, wanted: Wanted) -> dict[int, int]:
    """Return the privileges by column number. Revoking a privilege on a whole relation also revokes it on its columns."""
    found: dict[int, int] = {}
    declared = () if isinstance(relation, NumberSequence) else relation.columns
    whole = acl.ALL["c"] if wanted.everything else wanted.rights & acl.ALL["c"]
    if whole and not wanted.adds:
        found = {column.number: whole for column in declared}
    for name, rights in wanted.columns:
        column = next((c for c in declared if c.name == name), None)
        if column is None:
            raise UndefinedColumn(f'column "{name}" of relation "{relation.name}" does not exist')
        found[column.number] = found.get(column.number, 0) | rights
    return found


def _change_object(
    ground: RoleGround, draft: RightsDraft, oid: int, letter: Kind, kind: str, name: str, wanted: Wanted
) -> None:
    """Change the privileges on one object."""
    judge = draft.judge
    own, before = judge.rights.of(oid), judge.rights.list_of(oid, letter)
    asked = acl.ALL[letter] if wanted.everything else wanted.rights
    grantor, may = _grantor(before, own.owner, asked, ground, judge)
    if not may and not _has_any(before, grantor, own.owner, acl.ALL[letter], judge):
        raise permission_denied(kind, name)
    rights = _grantable_rights(asked, may, wanted, f'"{name}"', ground, everything=wanted.everything)
    after = _after(before, rights, grantor, own.owner, wanted, judge)
    draft.put(oid, name, replace(own, acl=after))


def _change_column(
    relation: StoredRelation, number: int, asked: int, wanted: Wanted, ground: RoleGround, draft: RightsDraft
) -> None:
    assert not isinstance(relation, NumberSequence), "its columns have no privileges of their own"
    judge = draft.judge
    own, before = judge.rights.of(relation.oid), judge.rights.of(relation.oid).column(number)
    implicit = not any(relation_column == number for relation_column in _named_columns(relation, wanted))
    if implicit and not before:
        return
    whole = (*judge.rights.list_of(relation.oid, "r"), *before)
    column = next(c.name for c in relation.columns if c.number == number)
    grantor, may = _grantor(whole, own.owner, asked, ground, judge)
    if not may and not _has_any(whole, grantor, own.owner, acl.ALL["c"], judge):
        raise InsufficientPrivilege(f'permission denied for column "{column}" of relation "{relation.name}"')
    what = f'column "{column}" of relation "{relation.name}"'
    rights = _grantable_rights(asked, may, wanted, what, ground, everything=asked == acl.ALL["c"])
    after = _after(before, rights, grantor, own.owner, wanted, judge)
    draft.put(relation.oid, relation.name, own.with_column(number, after))


def _named_columns(relation: StoredRelation, wanted: Wanted) -> Iterator[int]:
    assert not isinstance(relation, NumberSequence)
    names = {name for name, _ in wanted.columns}
    return (column.number for column in relation.columns if column.name in names)


def _grantor(before: Acl, owner: int, asked: int, ground: RoleGround, judge: Judge) -> tuple[int, int]:
    if ground.current.superuser or ground.current.oid == owner:
        return owner, asked
    mine = ground.roles.rights_in_order(ground.current)
    return acl.best_grantor(before, mine, owner, asked)


def _has_any(before: Acl, role: int, owner: int, rights: int, judge: Judge) -> bool:
    may_do = acl.mask(before, role, rights, judge.has_rights_of)
    return bool(may_do or acl.options(before, role, owner, rights, judge.has_rights_of))


def _grantable_rights(asked: int, may: int, wanted: Wanted, what: str, ground: RoleGround, *, everything: bool) -> int:
    """Return those of the privileges in `asked` that the grantor may grant; warn about the others."""
    rights = asked & may
    said, code = ("were granted", "01007") if wanted.adds else ("could be revoked", "01006")
    if not rights:
        ground.notify(Notice(f"no privileges {said} for {what}", "WARNING", sqlstate=code))
    elif rights != asked and not everything:
        ground.notify(Notice(f"not all privileges {said} for {what}", "WARNING", sqlstate=code))
    return rights


def _after(before: Acl, rights: int, grantor: int, owner: int, wanted: Wanted, judge: Judge) -> Acl:
    return acl.apply_grant(
        before, wanted.grantees, rights, grantor, owner, judge.has_rights_of, adds=wanted.adds, option=wanted.option,
        cascade=wanted.cascade,
    )  # fmt: skip

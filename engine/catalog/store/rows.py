"""Catalog objects as rows of a catalog database of either kind: the columns, options and text of a relation are one
JSON body.

Reading returns the object; writing returns the steps of a transaction's changes, which each database translates into
its own SQL.

For a stored table, the relation's body has the definition. Its files are those of Delta's log at the version that
`storages` pins, changed by the `decisions` that came after: one row for each table whose files a transaction changed,
numbered by the catalog version that the transaction made. All rows of a transaction are written in the database
transaction that makes that version: that is the decision record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.file_types import FileType
from engine.catalog.model.objects import (
    Constraint,
    Lake,
    Schema,
    Seen,
    Sequence,
    Storage,
    StoredRelation,
    Table,
    TableColumn,
    View,
)
from engine.catalog.model.rights import DATABASE_OID, DefaultKey, ObjectRights, Rights
from engine.catalog.model.roles import Role, Roles
from engine.catalog.model.statistics import TableStatistics, by_relation, encode_statistics
from engine.catalog.model.user_types import TypeOf, decode_user_type, type_of
from engine.catalog.snapshot import (
    Analysis,
    AnyChange,
    Change,
    DataChange,
    RoleChange,
    Snapshot,
    TypeChange,
    net_changes,
)
from engine.common import sql_type as st
from engine.storage import tables
from engine.storage.delta import Published
from engine.storage.tables import FileChange
from wire.dataclass import dataclass
from wire.types import pg_types as t

StepKind = Literal[
    "put schema",
    "drop schema",
    "put relation",
    "drop relation",
    "put storage",
    "drop storage",
    "decide",
    "drop decisions",
    "put dropped",
    "drop counter",
    "put statistics",
    "drop statistics",
    "put role",
    "drop role",
    "put type",
    "drop type",
    "put rights",
    "drop rights",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One row written or deleted.

    values: (name, oid, comment) or (name,) of a schema; (schema, name, oid, kind, body) or (schema, name) of a
    relation; (location,) of a new or dropped stored table's folder; (number, location, body) of a decision; (location,
    seconds) of a dropped folder; (oid, body) or (oid,) of a table's statistics; (name, body) or (name,) of a role;
    (oid, body) or (oid,) of a type; (key, body) or (key,) of privileges.
    """

    kind: StepKind
    values: tuple[str | int | None, ...]


def steps(before: Snapshot, changes: Iterable[AnyChange], after: Snapshot, seconds: int) -> Iterator[Step]:
    """Yield the changes as rows, in order. before, after: the catalog without the changes and with them. seconds: since
    1970, now.
    """
    changes = list(changes)
    for change in changes:
        if isinstance(change, Change):
            yield _step(change)
        elif isinstance(change, RoleChange):
            yield _role_step(change)
        elif isinstance(change, TypeChange):
            yield _type_step(change)
    yield from _rights_steps(before, after)
    keys = {change.key for change in changes if isinstance(change, Change)}
    known, live = _at(before, keys), _at(after, keys)
    stored, remaining = _locations(known), _locations(live)
    for location in sorted(remaining - stored):
        yield Step("put storage", (location,))
    for location in sorted(stored - remaining):
        yield Step("drop storage", (location,))
        yield Step("drop decisions", (location,))
        yield Step("put dropped", (location, seconds))
    for counter in sorted(_counters(known) - _counters(live)):
        yield Step("drop counter", (counter,))
    unchanged = {change.location for change in changes if isinstance(change, DataChange) and change.key not in keys}
    for location, files in net_changes(changes).items():
        if files and location in remaining | unchanged:
            yield Step("decide", (after.version, location, msgspec.json.encode(files).decode()))
    yield from _statistics(known, live, changes, after)


def _at(snapshot: Snapshot, keys: Iterable[tuple[str, str]]) -> list[StoredRelation]:
    """Return the relations under these keys. All other relations are the same before a transaction's changes and after
    them.
    """
    return [found for key in keys if (found := snapshot.relations.get(key)) is not None]


def _statistics(
    known: Iterable[StoredRelation], live: Iterable[StoredRelation], changes: Iterable[AnyChange], after: Snapshot
) -> Iterator[Step]:
    """Yield the rows of statistics. known, live: the relations under the keys that the transaction has defined, before
    and after.
    """
    analysed = {change.before.oid: change.key for change in changes if isinstance(change, Analysis)}
    present = {relation.oid: relation for relation in (*_at(after, analysed.values()), *live)}
    for oid in sorted(analysed):
        table = present.get(oid)
        if isinstance(table, Table) and table.statistics is not None:
            yield Step("put statistics", (oid, encode_statistics(table.statistics)))
    for table in known:
        if isinstance(table, Table) and table.statistics is not None and table.oid not in present:
            yield Step("drop statistics", (table.oid,))


def _step(change: Change) -> Step:
    schema, name = change.key
    match change.after:
        case None if not name:
            return Step("drop schema", (schema,))
        case None:
            return Step("drop relation", (schema, name))
        case Schema() as made:
            return Step("put schema", (schema, made.oid, made.comment))
        case Table() | View() | Sequence() as relation:
            return Step("put relation", (schema, name, relation.oid, _kind(relation), _body(relation)))


def _role_step(change: RoleChange) -> Step:
    if change.after is None:
        return Step("drop role", (change.name,))
    return Step("put role", (change.name, msgspec.json.encode(change.after).decode()))


def _type_step(change: TypeChange) -> Step:
    if change.after is not None:
        return Step("put type", (change.after.oid, msgspec.json.encode(change.after).decode()))
    assert change.before is not None
    return Step("drop type", (change.before.oid,))


#: The key of the database's privileges in catalogs that were written when its OID was 5.
_FORMER_DATABASE_KEY: Final = "5"
_ACL: Final = msgspec.json.Decoder(Acl)
_RIGHTS: Final = msgspec.json.Decoder(ObjectRights)
_ROLE: Final = msgspec.json.Decoder(Role)
_FILE_CHANGE: Final = msgspec.json.Decoder(FileChange)


def _rights_steps(before: Snapshot, after: Snapshot) -> Iterator[Step]:
    if before.rights is after.rights:
        return
    known, now = _rights_rows(before.rights), _rights_rows(after.rights)
    for key in known.keys() - now.keys():
        yield Step("drop rights", (key,))
    if known.get(str(DATABASE_OID)) != now.get(str(DATABASE_OID)):
        yield Step("drop rights", (_FORMER_DATABASE_KEY,))
    for key, said in now.items():
        if known.get(key) != said:
            yield Step("put rights", (key, msgspec.json.encode(said).decode()))


def _rights_rows(rights: Rights) -> dict[str, ObjectRights | Acl]:
    """Return the entries by their row keys: an object's OID; for default privileges `default role schema kind`."""
    objects: dict[str, ObjectRights | Acl] = {str(oid): said for oid, said in rights.objects.items()}
    return objects | {default_key(of): said for of, said in rights.defaults.items()}


def default_key(of: DefaultKey) -> str:
    """Return the key of a row of default privileges."""
    return f"default {of.role} {of.schema} {of.kind}"


def read_rights(rows: Iterable[tuple[Any, ...]]) -> Rights:
    """Decode rows (key, body)."""
    objects: dict[int, ObjectRights] = {}
    defaults: dict[DefaultKey, Acl] = {}
    for key, body in rows:
        if key.startswith("default "):
            _, role, schema, kind = key.split()
            defaults[DefaultKey(int(role), int(schema), cast("Kind", kind))] = _ACL.decode(body)
        else:
            objects[int(key)] = _RIGHTS.decode(body)
    former = objects.pop(int(_FORMER_DATABASE_KEY), None)
    if former is not None:
        objects.setdefault(DATABASE_OID, former)
    return Rights(objects, defaults)


def _counters(relations: Iterable[StoredRelation]) -> set[int]:
    return {relation.counter for relation in relations if isinstance(relation, Sequence)}


def _locations(relations: Iterable[StoredRelation]) -> set[str]:
    return {relation.storage.location for relation in relations if isinstance(relation, Table) and relation.storage}


@dataclass(frozen=True, slots=True)
class Decision:
    """The changes of one transaction to the files of one table. number: the catalog version that the transaction made."""

    number: int
    location: str
    files: FileChange


def decision(number: int, location: str, body: str) -> Decision:
    return Decision(number, location, _FILE_CHANGE.decode(body))


@dataclass(frozen=True, slots=True)
class Content:
    """The files of stored tables, as the database stores them. published: by location; decisions: in the order of their
    numbers.
    """

    published: dict[str, Published]
    decisions: dict[str, list[Decision]]

    @staticmethod
    def of(storages: Iterable[tuple[Any, ...]], decisions: Iterable[tuple[Any, ...]]) -> Content:
        """Decode rows: (location, version, number) and (number, location, body)."""
        decided: dict[str, list[Decision]] = {}
        for row in sorted(decisions):
            decided.setdefault(row[1], []).append(decision(*row))
        return Content({location: Published(version, number) for location, version, number in storages}, decided)

    def of_table(self, table: Table) -> Table:
        assert table.storage is not None
        at = self.published.get(table.storage.location, Published(0, 0))
        whole, number = FileChange(), at.number
        for made in self.decisions.get(table.storage.location, ()):
            whole, number = whole.then(made.files), made.number
        return tables.with_commit(table, at.version, number, whole)


def snapshot(
    version: int,
    schemas: Iterable[tuple[Any, ...]],
    relations: Iterable[tuple[Any, ...]],
    content: Content,
    statistics: Iterable[tuple[int, str]],
    root: Path,
    roles: Iterable[tuple[Any, ...]],
    types: Iterable[tuple[Any, ...]],
    rights: Iterable[tuple[str, str]],
    stamp: int = 0,
) -> Snapshot:
    """Return the state that a database's rows describe: (name, oid, comment) of schemas, (schema, name, oid, kind,
    body) of relations, (oid, body) of tables' statistics, (name, body) of roles, (body,) of types, (key, body) of
    privileges.

    root: the folder of stored tables. stamp: of the latest note (`engine.catalog.store.difference`).
    """
    analysed = by_relation(statistics)
    made = [decode_user_type(body) for (body,) in types]
    known = {(typ.schema, typ.name): typ for typ in made}
    find = type_of(known)
    return Snapshot(
        version,
        read_schemas(schemas),
        {(row[0], row[1]): with_content(relation(*row, find=find), content, analysed, root) for row in relations},
        read_roles(roles),
        known,
        read_rights(rights),
        stamp,
    )


def read_roles(roles: Iterable[tuple[Any, ...]]) -> Roles:
    """Decode rows (name, body)."""
    return Roles({name: _ROLE.decode(body) for name, body in roles})


def read_schemas(schemas: Iterable[tuple[Any, ...]]) -> dict[str, Schema]:
    """Decode rows (name, oid, comment)."""
    return {name: Schema(oid, name, comment) for name, oid, comment in schemas}


def with_content(
    relation: StoredRelation, content: Content, analysed: Mapping[int, TableStatistics], root: Path
) -> StoredRelation:
    """Return a table with its statistics, and a stored one also with its files. Its path depends on the member: each
    sees the folder of tables at a path of its own.
    """
    if not isinstance(relation, Table):
        return relation
    if relation.oid in analysed:
        relation = replace(relation, statistics=analysed[relation.oid])
    if relation.storage is None:
        return relation
    return content.of_table(replace(relation, path=str(tables.folder(root, relation.storage))))


class _Column(msgspec.Struct, omit_defaults=True):
    name: str
    type: int
    typmod: int
    number: int
    nullable: bool
    default: str | None = None
    identity: Literal["", "always", "by default"] = ""
    stored: str = ""
    comment: str | None = None
    generated: bool = False
    nested: FileType | None = None


class _TableBody(msgspec.Struct, omit_defaults=True):
    columns: list[_Column]
    format: str
    path: str
    options: dict[str, str]
    constraints: tuple[Constraint, ...] = ()
    storage: Storage | None = None
    comment: str | None = None
    last_number: int = 0
    query: _ViewBody | None = None
    populated: bool = True
    partition_by: tuple[str, ...] = ()
    lake: Lake = ""
    unlogged: bool = False


class _ViewBody(msgspec.Struct, omit_defaults=True):
    columns: list[_Column]
    definition: str
    search_path: list[str]
    depends: list[int]
    comment: str | None = None
    sees: tuple[Seen, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    keys: tuple[int, ...] = ()


class _SequenceBody(msgspec.Struct, omit_defaults=True):
    type: int
    start: int
    increment: int
    minimum: int
    maximum: int
    cache: int
    cycle: bool
    counter: int
    first: int
    owner: tuple[int, int] | None = None
    internal: bool = False
    comment: str | None = None


_VIEW: Final = msgspec.json.Decoder(_ViewBody)
_SEQUENCE: Final = msgspec.json.Decoder(_SequenceBody)
_TABLE: Final = msgspec.json.Decoder(_TableBody)


def _kind(relation: StoredRelation) -> str:
    match relation:
        case Table():
            return "table"
        case View():
            return "view"
        case Sequence():
            return "sequence"


def _body(relation: StoredRelation) -> str:
    return msgspec.json.encode(_encode_relation(relation)).decode()


def _encode_relation(relation: StoredRelation) -> msgspec.Struct:
    match relation:
        case Table(columns=columns, format=kind, path=path, options=options, constraints=constraints) as table:
            storage = tables.bare(table.storage) if table.storage is not None else None
            path = path if storage is None else ""
            query = None if table.query is None else _view_body(table.query)
            return _TableBody(
                _rows(columns), kind, path, dict(options), constraints, storage, table.comment, table.last_number, query,
                table.populated, table.partition_by, table.lake, table.unlogged,
            )  # fmt: skip
        case View() as view:
            return _view_body(view)
        case Sequence() as s:
            return _SequenceBody(
                s.type.pg.oid, s.start, s.increment, s.minimum, s.maximum, s.cache, s.cycle, s.counter, s.first, s.owner,
                s.internal, s.comment,
            )  # fmt: skip


def _view_body(view: View) -> _ViewBody:
    path, depends = list(view.search_path), list(view.depends)
    return _ViewBody(
        _rows(view.columns), view.definition, path, depends, view.comment, view.sees, view.options, view.keys
    )


def _rows(columns: Iterable[TableColumn]) -> list[_Column]:
    return [
        _Column(
            c.name, c.declared_type.oid, c.type.modifier, c.number, c.nullable, c.default, c.identity, c.stored, c.comment,
            c.generated, c.nested,
        )
        for c in columns
    ]  # fmt: skip


def relation(schema: str, name: str, oid: int, kind: str, body: str, *, find: TypeOf) -> StoredRelation:
    match kind:
        case "view":
            return _view(schema, name, oid, _VIEW.decode(body), find)
        case "sequence":
            s = _SEQUENCE.decode(body)
            return Sequence(
                oid, schema, name, st.of(t.BY_OID[s.type]), s.start, s.increment, s.minimum, s.maximum, s.cache, s.cycle,
                s.owner, s.internal, s.counter, s.first, s.comment,
            )  # fmt: skip
        case _:
            return _table(schema, name, oid, _TABLE.decode(body), find)


def _table(schema: str, name: str, oid: int, body: _TableBody, find: TypeOf) -> Table:
    return Table(
        oid, schema, name, _columns(body.columns, find), body.format, body.path, files=(), options=body.options,  # type: ignore[arg-type]
        guarantee=body.storage.sort_by if body.storage is not None else (),
        storage=body.storage, constraints=body.constraints, comment=body.comment,
        last_number=body.last_number, partition_by=body.partition_by, lake=body.lake,
        query=None if body.query is None else _view(schema, name, oid, body.query, find), populated=body.populated,
        unlogged=body.unlogged,
    )  # fmt: skip


def _view(schema: str, name: str, oid: int, body: _ViewBody, find: TypeOf) -> View:
    path, depends = tuple(body.search_path), tuple(body.depends)
    return View(
        oid, schema, name, _columns(body.columns, find), body.definition, path, depends, body.comment, body.sees,
        body.options, body.keys,
    )  # fmt: skip


def _columns(columns: list[_Column], find: TypeOf) -> tuple[TableColumn, ...]:
    return tuple(_column(c, find(c.type)) for c in columns)


def _column(c: _Column, declared: t.PgType) -> TableColumn:
    return TableColumn(
        c.name, st.of(t.base_of(declared), c.typmod), c.number, c.nullable, c.default, c.identity, c.stored, c.comment,
        c.generated, declared if declared.domain is not None else None, c.nested,
    )  # fmt: skip

"""Catalog objects as rows of a catalog database, whichever it is: a relation's columns, options and text are one JSON body.

Reading gives the object back; writing gives the steps of a transaction's changes, which each database words in its own SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from engine.catalog.objects import Constraint, Schema, Sequence, Storage, StoredRelation, Table, TableColumn, View
from engine.catalog.snapshot import Change, Snapshot
from engine.sql import types as st
from wire import types as t

StepKind = Literal["put schema", "drop schema", "put relation", "drop relation"]


@dataclass(frozen=True, slots=True)
class Step:
    """One row written or deleted. values: (name, oid, comment) or (name,) of a schema; (schema, name, oid, kind, body) or
    (schema, name) of a relation."""

    kind: StepKind
    values: tuple[str | int | None, ...]


def steps(changes: Iterable[Change]) -> Iterator[Step]:
    """The changes as rows, in order."""
    for change in changes:
        schema, name = change.key
        match change.after:
            case None if not name:
                yield Step("drop schema", (schema,))
            case None:
                yield Step("drop relation", (schema, name))
            case Schema() as made:
                yield Step("put schema", (schema, made.oid, made.comment))
            case Table() | View() | Sequence() as relation:
                yield Step("put relation", (schema, name, relation.oid, _kind(relation), _body(relation)))


def snapshot(version: int, schemas: Iterable[tuple[Any, ...]], relations: Iterable[tuple[Any, ...]]) -> Snapshot:
    """The state that a database's rows describe: (name, oid, comment) of schemas, (schema, name, oid, kind, body) of relations."""
    return Snapshot(
        version,
        {name: Schema(oid, name, comment) for name, oid, comment in schemas},
        {(row[0], row[1]): _relation(*row) for row in relations},
    )


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


class _TableBody(msgspec.Struct, omit_defaults=True):
    columns: list[_Column]
    format: str
    path: str
    options: dict[str, str]
    constraints: tuple[Constraint, ...] = ()
    storage: Storage | None = None
    comment: str | None = None


class _ViewBody(msgspec.Struct, omit_defaults=True):
    columns: list[_Column]
    definition: str
    search_path: list[str]
    depends: list[int]
    comment: str | None = None


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


def _kind(relation: StoredRelation) -> str:
    match relation:
        case Table():
            return "table"
        case View():
            return "view"
        case Sequence():
            return "sequence"


def _body(relation: StoredRelation) -> str:
    return msgspec.json.encode(_encoded(relation)).decode()


def _encoded(relation: StoredRelation) -> msgspec.Struct:
    match relation:
        case Table(columns=columns, format=kind, path=path, options=options, constraints=constraints) as table:
            body = _TableBody(_rows(columns), kind, path, dict(options), constraints, table.storage, table.comment)
            return body
        case View(columns=columns, definition=text, search_path=path, depends=depends) as view:
            return _ViewBody(_rows(columns), text, list(path), list(depends), view.comment)
        case Sequence() as s:
            return _SequenceBody(
                s.type.pg.oid, s.start, s.increment, s.minimum, s.maximum, s.cache, s.cycle, s.counter, s.first, s.owner,
                s.internal, s.comment,
            )  # fmt: skip


def _rows(columns: Iterable[TableColumn]) -> list[_Column]:
    return [
        _Column(
            c.name, c.type.pg.oid, c.type.typmod, c.number, c.nullable, c.default, c.identity, c.stored, c.comment
        )
        for c in columns
    ]  # fmt: skip


def _relation(schema: str, name: str, oid: int, kind: str, body: str) -> StoredRelation:
    match kind:
        case "view":
            view = msgspec.json.decode(body, type=_ViewBody)
            path, depends = tuple(view.search_path), tuple(view.depends)
            return View(oid, schema, name, _columns(view.columns), view.definition, path, depends, view.comment)
        case "sequence":
            s = msgspec.json.decode(body, type=_SequenceBody)
            return Sequence(
                oid, schema, name, st.of(t.BY_OID[s.type]), s.start, s.increment, s.minimum, s.maximum, s.cache, s.cycle,
                s.owner, s.internal, s.counter, s.first, s.comment,
            )  # fmt: skip
        case _:
            return _table(schema, name, oid, msgspec.json.decode(body, type=_TableBody))


def _table(schema: str, name: str, oid: int, body: _TableBody) -> Table:
    return Table(
        oid, schema, name, _columns(body.columns), body.format, body.path, files=(), options=body.options,  # type: ignore[arg-type]
        storage=body.storage, constraints=body.constraints, comment=body.comment,
    )  # fmt: skip


def _columns(columns: list[_Column]) -> tuple[TableColumn, ...]:
    return tuple(
        TableColumn(
            c.name, st.of(t.BY_OID[c.type], c.typmod), c.number, c.nullable, c.default, c.identity, c.stored, c.comment
        )
        for c in columns
    )  # fmt: skip

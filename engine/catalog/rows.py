"""Catalog objects as rows of a catalog database, whichever it is: a relation's columns, options and text are one JSON body.

Reading gives the object back; writing gives the steps of a transaction's changes, which each database words in its own SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from engine.catalog.objects import Schema, StoredRelation, Table, TableColumn, View
from engine.catalog.snapshot import Change, Snapshot
from engine.sql import types as st
from wire import types as t

StepKind = Literal["put schema", "drop schema", "put relation", "drop relation"]


@dataclass(frozen=True, slots=True)
class Step:
    """One row written or deleted. values: (name, oid) or (name,) of a schema; (schema, name, oid, kind, body) or
    (schema, name) of a relation."""

    kind: StepKind
    values: tuple[str | int, ...]


def steps(changes: Iterable[Change]) -> Iterator[Step]:
    """The changes as rows, in order."""
    for change in changes:
        schema, name = change.key
        match change.after:
            case None if not name:
                yield Step("drop schema", (schema,))
            case None:
                yield Step("drop relation", (schema, name))
            case Schema(oid, _):
                yield Step("put schema", (schema, oid))
            case Table() | View() as relation:
                yield Step("put relation", (schema, name, relation.oid, _kind(relation), _body(relation)))


def snapshot(version: int, schemas: Iterable[tuple[Any, ...]], relations: Iterable[tuple[Any, ...]]) -> Snapshot:
    """The state that a database's rows describe: (name, oid) of schemas, (schema, name, oid, kind, body) of relations."""
    return Snapshot(
        version,
        {name: Schema(oid, name) for name, oid in schemas},
        {(row[0], row[1]): _relation(*row) for row in relations},
    )


class _Column(msgspec.Struct):
    name: str
    type: int
    typmod: int
    number: int
    nullable: bool


class _TableBody(msgspec.Struct):
    columns: list[_Column]
    format: str
    path: str
    options: dict[str, str]


class _ViewBody(msgspec.Struct):
    columns: list[_Column]
    definition: str
    search_path: list[str]
    depends: list[int]


def _kind(relation: StoredRelation) -> str:
    return "table" if isinstance(relation, Table) else "view"


def _body(relation: StoredRelation) -> str:
    columns = [_Column(c.name, c.type.pg.oid, c.type.typmod, c.number, c.nullable) for c in relation.columns]
    body: Any
    if isinstance(relation, Table):
        body = _TableBody(columns, relation.format, relation.path, dict(relation.options))
    else:
        body = _ViewBody(columns, relation.definition, list(relation.search_path), list(relation.depends))
    return msgspec.json.encode(body).decode()


def _relation(schema: str, name: str, oid: int, kind: str, body: str) -> StoredRelation:
    if kind == "view":
        view = msgspec.json.decode(body, type=_ViewBody)
        path, depends = tuple(view.search_path), tuple(view.depends)
        return View(oid, schema, name, _columns(view.columns), view.definition, path, depends)
    table = msgspec.json.decode(body, type=_TableBody)
    return Table(
        oid, schema, name, _columns(table.columns), table.format, table.path, files=(), options=table.options  # type: ignore[arg-type]
    )  # fmt: skip


def _columns(columns: list[_Column]) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(c.name, st.of(t.BY_OID[c.type], c.typmod), c.number, c.nullable) for c in columns)

"""CREATE [OR REPLACE] [TEMP] VIEW."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from engine.catalog.authority import UNBOUNDED, Authority
from engine.catalog.model.objects import Seen, Table, TableColumn, View
from engine.catalog.snapshot import TEMPORARY, Snapshot
from engine.catalog.store.transaction import SessionCatalog
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import walk_all
from engine.session.context.statement_cache import PlannedQuery
from engine.sql.parser.nodes.statements import CreateView, Query
from engine.statements.ddl.view_options import check_options, require_updatable
from engine.statements.shared.dependencies import kind_of
from wire.errors import DuplicateColumn, FeatureNotSupported, InvalidTableDefinition, SqlSyntaxError, WrongObjectType


def create_view(
    statement: CreateView,
    planned: PlannedQuery,
    catalog: SessionCatalog,
    search_path: Sequence[str],
    notify: Callable[[str], None],
    authority: Authority = UNBOUNDED,
) -> None:
    """Define a view by a query that was planned against the same state of the catalog.

    Raises DuplicateTable, InvalidTableDefinition, WrongObjectType, InsufficientPrivilege.
    """
    temporary = statement.temporary or statement.name.schema == TEMPORARY
    if not temporary and any(relation.schema == TEMPORARY for relation in planned.reads):
        notify(f'view "{statement.name.name}" will be a temporary view')
        temporary = True
    snapshot = catalog.current()
    schema = TEMPORARY if temporary else snapshot.creation_schema(statement.name.schema, search_path)
    authority.require_creation(snapshot, schema)
    existing = snapshot.relations.get((schema, statement.name.name))
    if existing is not None and statement.replace:
        authority.require_owner(existing, kind_of(existing))
    defined = _columns(statement, planned.columns)
    if existing is not None and statement.replace:
        if not isinstance(existing, View):
            raise WrongObjectType(f'"{statement.name.name}" is not a view')
        _check_replacement(existing.columns, defined)
    options = check_options(statement.options)
    require_updatable(options, statement.query.tree)
    sees = tuple(relation_meanings(statement.query, planned, snapshot, search_path))
    view = View(
        existing.oid if existing is not None and statement.replace else catalog.objects.new_oid(),
        schema,
        statement.name.name,
        defined,
        statement.query.text,
        tuple(search_path),
        tuple(sorted({s.oid for s in sees})),
        comment=existing.comment if existing is not None else None,
        sees=sees,
        options=options,
        keys=planned.primary_keys,
    )
    catalog.objects.put(view, replacing=statement.replace)


def relation_meanings(
    query: Query, planned: PlannedQuery, snapshot: Snapshot, search_path: Sequence[str]
) -> Iterator[Seen]:
    """Yield the meanings of the relation names in the view's text. The name of a WITH item is looked up without effect.

    Raises FeatureNotSupported for a path: a role that reads the view would read the file with the privileges of the
    view's owner.
    """
    if any(node.args.get("file") is not None for node in query.tree.find_all(exp.Table)):
        raise FeatureNotSupported(
            "not supported: a file in the definition of a view", hint="Create a foreign table over the file."
        )
    reads = {relation.oid for relation in planned.reads}
    names = {(node.text("db") or None, node.name) for node in query.tree.find_all(exp.Table) if node.name}
    for schema, name in sorted(names, key=str):
        relation = snapshot.resolve(schema, name, search_path)
        if isinstance(relation, (Table, View)) and relation.oid in reads:
            columns = tuple((c.number, c.name) for c in relation.columns)
            yield Seen(schema, name, relation.oid, columns, _used_columns(relation, planned))


def _used_columns(relation: Table | View, planned: PlannedQuery) -> tuple[int, ...]:
    """Return the columns that the query needs: for a table those that its plan reads, for a view all."""
    if isinstance(relation, View):
        return tuple(c.number for c in relation.columns)
    readers = [n for n in walk_all(planned.plan) if isinstance(n, TableReader) and n.table.oid == relation.oid]
    names = {name for reader in readers for name in reader.names}
    return tuple(c.number for c in relation.columns if c.file_column in names)


def _columns(statement: CreateView, columns: Sequence[ResultColumn]) -> tuple[TableColumn, ...]:
    if len(statement.columns) > len(columns):
        raise SqlSyntaxError("CREATE VIEW specifies more column names than columns")
    names = [*statement.columns, *(c.name for c in columns[len(statement.columns) :])]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateColumn(f'column "{name}" specified more than once')
    return tuple(TableColumn(name, c.type, i) for i, (name, c) in enumerate(zip(names, columns, strict=True), 1))


def _check_replacement(old: Sequence[TableColumn], new: Sequence[TableColumn]) -> None:
    """Check the columns of a view that is replaced: it keeps its columns and may add more (PostgreSQL,
    checkViewColumns).
    """
    if len(new) < len(old):
        raise InvalidTableDefinition("cannot drop columns from view")
    for before, after in zip(old, new, strict=False):
        if before.name != after.name:
            raise InvalidTableDefinition(
                f'cannot change name of view column "{before.name}" to "{after.name}"',
                hint="Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
            )
        if (before.type.pg, before.type.typmod) != (after.type.pg, after.type.typmod):
            raise InvalidTableDefinition(
                f'cannot change data type of view column "{before.name}" from {before.type} to {after.type}'
            )

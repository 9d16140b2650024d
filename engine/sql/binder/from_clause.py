"""FROM: relations, views, derived tables and the names they offer (parse_clause.c: transformFromClause;
parse_relation.c).

While an item is bound, the items to its left are visible to LATERAL only. Each item yields a plan and the `Source`s
that it adds to its scope. `joins` binds joins and `table_functions` binds functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from engine.catalog.authority import SchemaDenied
from engine.catalog.model.objects import SystemTable, Table, View
from engine.pg_catalog.row_types import row_type
from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import CteReader, TableReader, Values
from engine.sql.binder import joins, sampling, system_columns, table_functions, versions
from engine.sql.binder.blocks import FromItem, pass_through, project
from engine.sql.binder.from_items import add_source, aliased_names, beside, check_names, lateral, make_join, source_of
from engine.sql.binder.levels import check_lateral
from engine.sql.binder.scope import CommonTable, PrimaryKey, Rows, Scope, Source, SourceColumn, Sources
from engine.sql.binder.seen import SeenCatalog
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from wire.errors import (
    FeatureNotSupported,
    InternalError,
    ObjectNotInPrerequisiteState,
    SqlError,
    UndefinedTable,
)

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def bind(binder: QueryBinder, from_: exp.Expression | None, scope: Scope) -> Node:
    """Return the plan of a FROM clause and set `scope.sources` to its names. Without FROM, the plan is one row of no
    columns.
    """
    if from_ is None:
        return Values((), ((),))
    node: Node | None = None
    sources = Sources()
    for written in from_.expressions:
        with beside(scope, sources):
            item, offered = bind_item(binder, written, scope)
        check_names(sources, offered)
        sources.extend(offered)
        node = item if node is None else make_join(node, item, "cross")
    scope.sources = sources
    assert node is not None
    return node


def bind_item(binder: QueryBinder, item: exp.Expression, scope: Scope) -> FromItem:
    """Bind one FROM item. Returns its plan and the sources that it offers; the scope knows them from then on."""
    match item:
        case exp.Join():
            return joins.bind(binder, item, scope)
        case exp.Paren():
            return _bind_parenthesized(binder, item, scope)
        case exp.Subquery():
            return _bind_subquery(binder, item, scope)
        case exp.Table() if item.args.get("rows_from"):
            with lateral(scope):
                return table_functions.bind(binder, item, scope)
        case exp.Table() if item.args.get("file") is not None:
            return _file(binder, item, scope)
        case exp.Table():
            return _relation(binder, item, scope)
        case _:
            raise AssertionError(f"{type(item).__name__} is no FROM item")


def _bind_parenthesized(binder: QueryBinder, item: exp.Paren, scope: Scope) -> FromItem:
    """Bind a join in parentheses. An alias hides the names inside."""
    node, sources = bind_item(binder, item.this, scope)
    alias = item.args.get("alias")
    if alias is None:
        return node, sources
    visible = sources.columns()
    names = aliased_names(alias, [c.name for c in visible], alias.this.name)
    columns = tuple(SourceColumn(name, c.expr) for name, c in zip(names, visible, strict=True))
    return node, add_source(scope, Source(alias.this.name, columns, rows=Rows(kind="a join")))


def _bind_subquery(binder: QueryBinder, item: exp.Subquery, scope: Scope) -> FromItem:
    """Bind a subquery in FROM. It sees the items to its left only if it is LATERAL."""
    with lateral(scope, bool(item.meta.get("lateral"))):
        bound = binder.bind(item.this, scope)
    alias = item.args["alias"]
    node = bound.subquery_plan()
    if item.meta.get("lateral"):
        check_lateral(node, scope)
    names = aliased_names(alias, bound.names, alias.this.name)
    source = source_of(node, alias.this.name, names)
    source.rows = bound.rows
    return node, add_source(scope, source)


# -- relations ---------------------------------------------------------------------------------------------------


def _relation(binder: QueryBinder, item: exp.Table, scope: Scope) -> FromItem:
    name = item.name
    alias = item.args.get("alias")
    if item.args.get("db") is None:
        cte = scope.common_table(name)
        if cte is not None:
            versions.refuse(item, f'"{name}" is a WITH query')
            sampling.refuse(item)
            return _common_table(binder, cte, alias, scope)
    schema = item.text("db") or None
    _check_database(binder, item)
    with locate_errors(item):
        relation = binder.context.catalog.resolve(schema, name, binder.context.search_path)
    if relation is None:
        _raise_missing(item, scope)
    accesses = binder.context.accesses
    access = accesses.read(relation)
    if isinstance(relation, View):
        versions.refuse(item, f'"{name}" is a view')
        node, names, rows = _view(binder, relation)
        system: tuple[SourceColumn, ...] = ()
    else:
        rows = Rows((relation,))
        columns = tuple(binder.context.new_column(c.name, c.type) for c in relation.columns)
        for column, declared in zip(columns, relation.columns, strict=True):
            binder.context.origins[column.id] = (relation.oid, declared.number)
        names = [c.name for c in relation.columns]
        if isinstance(relation, Table) and not relation.populated:
            raise ObjectNotInPrerequisiteState(
                f'materialized view "{relation.name}" has not been populated',
                hint="Use the REFRESH MATERIALIZED VIEW command.",
            )
        whole = _read(binder, relation)
        read = versions.read(binder, item, whole)
        if read is not whole:
            rows = Rows(kind="an earlier version")
        reader = TableReader(columns, read, tuple(c.file_column for c in relation.columns))
        node, system = system_columns.add_system_columns(binder.context, item, relation, reader)
    node = sampling.sample_rows(binder, item, relation, node, scope)
    shown = alias.this.name if alias is not None else name
    own = len(node.columns) - len(system)
    accesses.columns_of(access, node.columns[:own])
    accesses.offer_system_columns(access, (column.expr for column in system))
    source = source_of(node, shown, aliased_names(alias, names, shown), own)
    source.system = system
    source.schema = relation.schema if alias is None else None
    source.relation = name
    source.rows = rows
    source.placed = isinstance(relation, SystemTable) or (isinstance(relation, Table) and relation.storage is not None)
    if isinstance(relation, Table) and not rows.kind:
        source.row_type = partial(row_type, relation)
        source.key = _primary_key(relation, node.columns[:own])
    return node, add_source(scope, source)


def _file(binder: QueryBinder, item: exp.Table, scope: Scope) -> FromItem:
    """Bind a path to a file, a folder or a table of another format, as `engine.statements.shared.foreign_table` reads
    it.

    The columns are those that it has now, so the statement is bound again each time. Only the statement's own role may
    read it: a view would read it as its owner, so views cannot contain one (`engine.statements.ddl.view`).
    """
    context = binder.context
    path = item.args["file"].name
    if context.find_file is None:
        raise FeatureNotSupported("not supported: a file in FROM here", position=cursor(position(item)))
    context.stable = False
    try:
        table = context.find_file(path)
    except SqlError as error:
        error.position = error.position or cursor(position(item))
        raise
    context.accesses.read_file(path)
    read = versions.read(binder, item, table)
    columns = tuple(context.new_column(column.name, column.type) for column in table.columns)
    reader = TableReader(columns, read, tuple(column.file_column for column in table.columns))
    node = sampling.sample_rows(binder, item, table, reader, scope)
    alias = item.args.get("alias")
    shown = alias.this.name if alias is not None else table.name
    source = source_of(node, shown, aliased_names(alias, [column.name for column in table.columns], shown))
    source.rows = Rows(kind="a file")
    return node, add_source(scope, source)


def _primary_key(table: Table, columns: Sequence[Column]) -> PrimaryKey | None:
    """Return a table's primary key. A deferrable key does not count, because it need not hold for the current rows
    (check_functional_grouping).
    """
    for key in table.constraints:
        if key.kind == "primary key" and not key.deferrable:
            ids = {declared.name: column.id for declared, column in zip(table.columns, columns, strict=True)}
            return PrimaryKey(key.oid, frozenset(ids[name] for name in key.columns), frozenset(ids.values()))
    return None


@contextmanager
def locate_errors(item: exp.Table) -> Iterator[None]:
    """Give errors about a schema that may not be used the position of the relation's name."""
    try:
        yield
    except SchemaDenied as error:
        error.position = error.position or cursor(position(item))
        raise


def _read(binder: QueryBinder, relation: Table | SystemTable) -> Table | SystemTable:
    """Return the relation as engines read it: a table with all columns of its files, under their names there. Engines
    cache a table by its version, so the table must not have fewer columns for a view that was defined over fewer.
    """
    catalog = binder.context.catalog
    if isinstance(relation, Table) and isinstance(catalog, SeenCatalog):
        whole = catalog.by_oid(relation.oid)
        relation = whole if isinstance(whole, Table) else relation
    return relation.in_files() if isinstance(relation, Table) else relation


def _check_database(binder: QueryBinder, item: exp.Table) -> None:
    database = item.text("catalog")
    if database and database != binder.context.database:
        dotted = f"{database}.{item.text('db')}.{item.name}"
        message = f'cross-database references are not implemented: "{dotted}"'
        raise FeatureNotSupported(message, position=cursor(position(item)))


def _raise_missing(item: exp.Table, scope: Scope) -> NoReturn:
    """Raise the error for a relation that does not exist (parserOpenTable)."""
    dotted = ".".join(part for part in (item.text("db"), item.name) if part)
    message = f'relation "{dotted}" does not exist'
    ahead = any(item.name in s.ctes and not s.ctes[item.name].available for s in scope.levels())
    if ahead and not item.text("db"):
        raise UndefinedTable(
            message,
            detail=f'There is a WITH item named "{item.name}", but it cannot be referenced from this part of the query.',
            hint="Use WITH RECURSIVE, or re-order the WITH items to remove forward references.",
            position=cursor(position(item)),
        )
    raise UndefinedTable(message, position=cursor(position(item)))


def _common_table(binder: QueryBinder, cte: CommonTable, alias: exp.Expression | None, scope: Scope) -> FromItem:
    context = binder.context
    names = (*cte.names, *cte.added)
    columns = tuple(context.new_column(n, c.type) for n, c in zip(names, cte.columns, strict=True))
    for column, original in zip(columns, cte.columns, strict=True):
        origin = context.origins.get(original.id)
        if origin is not None and not cte.recursive:
            context.origins[column.id] = origin
    node = CteReader(columns, cte.id, cte.name)
    shown = alias.this.name if alias is not None else cte.name
    source = source_of(node, shown, aliased_names(alias, cte.names, shown), len(cte.names))
    source.system = tuple(map(SourceColumn, cte.added, pass_through(columns[len(cte.names) :])))
    source.relation = cte.name
    source.rows = Rows(kind="a WITH query")
    return node, add_source(scope, source)


def _view(binder: QueryBinder, view: View) -> tuple[Node, list[str], Rows]:
    """Bind a view's definition in the context in which it was written. Returns its plan, its columns' names, and the
    relations that its rows belong to. Errors in it have no position in this statement's text.
    """
    try:
        (query,) = parse(view.definition)
        if not isinstance(query, Query):
            raise InternalError(f'the definition of view "{view.name}" is no query')
        with binder.as_seen_by(view), binder.context.accesses.within(view):
            bound = binder.bind(query.tree, None)
    except SqlError as error:
        error.position = None
        raise
    node = bound.subquery_plan()
    if len(node.columns) < len(view.columns):
        raise InternalError(f'view "{view.name}" has other columns than when it was created')
    columns = _view_columns(binder, view, node)
    return columns, [c.name for c in view.columns], bound.rows


def _view_columns(binder: QueryBinder, view: View, node: Node) -> Node:
    """Add new columns over the definition's, whose origin is the view. A view that reads this one may have seen fewer
    of them than exist now.
    """
    kept = node.columns[: len(view.columns)]
    renamed = project(binder.context, node, pass_through(kept), [c.name for c in view.columns])
    for column, declared in zip(renamed.columns, view.columns, strict=True):
        binder.context.origins[column.id] = (view.oid, declared.number)
    return replace(renamed, barrier=view.has_option("security_barrier"))

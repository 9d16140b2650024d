"""Materialized views: stored tables that hold the rows of a query, and that only REFRESH changes.

A refresh writes all rows into a new folder, and readers see the old rows until it is committed. So every refresh
behaves as CONCURRENTLY. Source: PostgreSQL 15, createas.c, matview.c.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.objects import Table, View
from engine.catalog.snapshot import TEMPORARY
from engine.session.context.statement_cache import PlannedQuery
from engine.sql.parser.nodes.statements import CreateMaterializedView, CreateTableAs, RefreshMaterializedView
from engine.statements.ddl.table import create_table_as
from engine.statements.ddl.view import relation_meanings
from engine.statements.shared.definer import Definer
from wire.errors import FeatureNotSupported, ObjectNotInPrerequisiteState, SqlSyntaxError, UndefinedTable


def create(statement: CreateMaterializedView, planned: PlannedQuery, definer: Definer) -> Table | None:
    """Define a materialized view, whose rows the caller writes. Returns None if it exists and IF NOT EXISTS is given.
    Raises as CREATE TABLE AS.
    """
    if any(relation.schema == TEMPORARY for relation in planned.reads):
        raise FeatureNotSupported("materialized views must not use temporary tables or views")
    like = CreateTableAs(
        name=statement.name, columns=statement.columns, query=statement.query, layout=statement.layout,
        if_not_exists=statement.if_not_exists, text="",
    )  # fmt: skip
    sees = tuple(relation_meanings(statement.query, planned, definer.snapshot, definer.search_path))
    table = create_table_as(like, planned.columns, definer)
    if table is None:
        return None
    depends = tuple(sorted({s.oid for s in sees}))
    query = View(
        table.oid,
        table.schema,
        table.name,
        table.columns,
        statement.query.text,
        definer.search_path,
        depends,
        sees=sees,
        keys=planned.primary_keys,
    )
    made = replace(table, query=query, populated=statement.with_data)
    definer.catalog.objects.put(made, replacing=True)
    return made


def renew(statement: RefreshMaterializedView, definer: Definer) -> tuple[Table, View]:
    """Give a materialized view an empty folder, and return the view with the query for its rows. Raises UndefinedTable,
    FeatureNotSupported.
    """
    table = definer.resolve(statement.name)
    if table is None:
        raise UndefinedTable(f'relation "{statement.name}" does not exist')
    if not isinstance(table, Table) or table.query is None:
        raise FeatureNotSupported(f'"{table.name}" is not a materialized view')
    definer.authority.require_owner(table, "materialized view")
    if statement.concurrently and not table.populated:
        raise FeatureNotSupported("CONCURRENTLY cannot be used when the materialized view is not populated")
    if statement.concurrently and not statement.with_data:
        raise SqlSyntaxError("REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together")
    if statement.concurrently and all(c.kind != "unique index" or c.parts for c in table.constraints):
        raise ObjectNotInPrerequisiteState(
            f'cannot refresh materialized view "{table.schema}.{table.name}" concurrently',
            hint="Create a unique index with no WHERE clause on one or more columns of the materialized view.",
        )
    renewed = definer.catalog.tables.rewrite_table(table, replace(table, populated=statement.with_data))
    return renewed, table.query

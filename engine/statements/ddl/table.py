"""CREATE TABLE, and the definition that CREATE TABLE AS makes (tablecmds.c: DefineRelation; parse_utilcmd.c:
transformCreateStmt).

PARTITION BY names the columns by whose values the table's files are put into folders, one folder for each combination
of values. There are no partitions to declare, and LIST and RANGE mean the same. WITH (sort_by = 'a, b') sorts every
file by these columns. Parameters of PostgreSQL's own storage are accepted and ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from engine.catalog.authority import SchemaDenied
from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.snapshot import TEMPORARY
from engine.common import sql_type as st
from engine.contracts.sessions import ResultColumn
from engine.sql.parser.lexical.positions import cursor
from engine.sql.parser.nodes.statements import (
    ColumnDefinition,
    ConstraintDefinition,
    CreateTable,
    CreateTableAs,
    LikeTable,
    QualifiedName,
    TableLayout,
)
from engine.statements.ddl.columns import ColumnMaker, check_names
from engine.statements.ddl.constraints import with_constraints
from engine.statements.ddl.like import checks_like, columns_like, indexes_like, keys_like
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names
from wire.errors import (
    DuplicateTable,
    InvalidObjectDefinition,
    InvalidParameterValue,
    InvalidTableDefinition,
    SqlSyntaxError,
    UndefinedColumn,
)

#: The storage parameters of PostgreSQL's heap tables (reloptions.c); autovacuum's and TOAST's by their prefixes.
_HEAP: Final = frozenset(
    ("fillfactor", "parallel_workers", "toast_tuple_target", "user_catalog_table", "vacuum_index_cleanup", "vacuum_truncate",
     "log_autovacuum_min_duration")
)  # fmt: skip
_HEAP_PREFIXES: Final = ("autovacuum_", "toast.")


def create_table(statement: CreateTable, definer: Definer) -> None:
    """Define a stored table. Blocks on the disk.

    Raises DuplicateTable, DuplicateColumn, InvalidTableDefinition, UndefinedColumn, DatatypeMismatch and more, as
    PostgreSQL does.
    """
    try:
        schema = definer.schema_of_new(statement.name, statement.temporary)
    except SchemaDenied as error:
        error.position = cursor(statement.name.position)
        raise
    names = Names(definer.snapshot, schema)
    if _is_there(statement.name, names, statement.if_not_exists, definer):
        return
    oid = definer.catalog.objects.new_oid()
    maker = ColumnMaker(definer, statement.name, schema, oid, names)
    elements = _elements(statement, maker, definer)
    columns = tuple(column for column, _ in elements)
    check_names(column.name for column in columns)
    _check_absent(statement.name, names)
    likes = [written for written in statement.columns if isinstance(written, LikeTable)]
    checks = tuple(check for like in likes for check in checks_like(like, statement.name.name, definer))
    table = Table(
        oid,
        schema,
        statement.name.name,
        columns,
        "parquet",
        "",
        (),
        constraints=checks,
        unlogged=statement.layout.unlogged,
    )
    names.take(table.name, key=True)
    # The table has no rows, so NOT VALID has no effect.
    written = [replace(constraint, valid=True) for constraint in _constraints(statement, definer)]
    table = with_constraints(table, written, definer, names)
    indexes = (index for like in likes for index in indexes_like(like, table.name, names, definer))
    table = replace(table, constraints=(*table.constraints, *indexes))
    columns = tuple(
        column if written is None else maker.with_default(column, written, table)
        for column, (_, written) in zip(table.columns, elements, strict=True)
    )
    for sequence in maker.sequences:
        definer.catalog.objects.put(sequence)
    _put(replace(table, columns=columns), statement.layout, definer)


#: A column of the new table, and its definition in the statement; None for a column of LIKE.
_Element = tuple[TableColumn, ColumnDefinition | None]


def _elements(statement: CreateTable, maker: ColumnMaker, definer: Definer) -> list[_Element]:
    found: list[_Element] = []
    for written in statement.columns:
        number = len(found) + 1
        if isinstance(written, LikeTable):
            found += [(column, None) for column in columns_like(written, number, maker, definer)]
        else:
            found.append((maker.make(written, number), written))
    return found


def _constraints(statement: CreateTable, definer: Definer) -> Iterator[ConstraintDefinition]:
    for written in statement.columns:
        yield from keys_like(written, definer) if isinstance(written, LikeTable) else written.constraints
    yield from statement.constraints


def create_table_as(statement: CreateTableAs, columns: Sequence[ResultColumn], definer: Definer) -> Table | None:
    """Define the table for a query that returns `columns`; the caller writes its rows. Returns None if it exists and IF
    NOT EXISTS is given. Raises as `create_table`.
    """
    schema = definer.schema_of_new(statement.name, statement.temporary)
    names = Names(definer.snapshot, schema)
    if _is_there(statement.name, names, statement.if_not_exists, definer):
        return None
    if len(statement.columns) > len(columns):
        raise SqlSyntaxError("too many column names were specified")
    given = [*statement.columns, *(c.name for c in columns[len(statement.columns) :])]
    for name, column in zip(given, columns, strict=True):
        if column.type.pg.category == "P":
            raise InvalidTableDefinition(f'column "{name}" has pseudo-type {column.type.pg.sql_name}')
    check_names(given)
    _check_absent(statement.name, names)
    made = tuple(
        TableColumn(n, st.of(c.type.pg, c.type.modifier), i)
        for i, (n, c) in enumerate(zip(given, columns, strict=True), 1)
    )
    table = Table(
        definer.catalog.objects.new_oid(),
        schema,
        statement.name.name,
        made,
        "parquet",
        "",
        (),
        unlogged=statement.layout.unlogged,
    )
    return _put(table, statement.layout, definer)


def _is_there(name: QualifiedName, names: Names, if_not_exists: bool, definer: Definer) -> bool:
    if not if_not_exists or not names.has_relation(name.name):
        return False
    definer.notify(f'relation "{name.name}" already exists, skipping')
    return True


def _check_absent(name: QualifiedName, names: Names) -> None:
    if names.has_relation(name.name):
        raise DuplicateTable(f'relation "{name.name}" already exists')


def _put(table: Table, layout: TableLayout, definer: Definer) -> Table:
    """Put a new table into the catalog, which makes its folder."""
    for name, at in layout.partition_by:
        if table.column(name) is None:
            raise UndefinedColumn(f'column "{name}" named in partition key does not exist', position=cursor(at))
        if (column := table.column(name)) is not None and column.generated:
            raise InvalidObjectDefinition(
                "cannot use generated column in partition key",
                detail=f'Column "{name}" is a generated column.',
                position=cursor(at),
            )
    partition_by = [name for name, _ in layout.partition_by]
    sort_by = _sort_by(table, _options(layout))
    if layout.on_commit != "preserve" and table.schema != TEMPORARY:
        raise InvalidTableDefinition("ON COMMIT can only be used on temporary tables")
    stored = definer.catalog.tables.create_table(table, partition_by=partition_by, sort_by=sort_by)
    definer.catalog.temporary.plan_for_commit(stored, layout.on_commit)
    return stored


def _options(layout: TableLayout) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in layout.options:
        if name in found:
            raise InvalidParameterValue(f'parameter "{name}" specified more than once')
        if name != "sort_by" and name not in _HEAP and not name.startswith(_HEAP_PREFIXES) and name != "oids":
            raise InvalidParameterValue(f'unrecognized parameter "{name}"')
        found[name] = value
    return found


def _sort_by(table: Table, options: Mapping[str, str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in options["sort_by"].split(",")) if "sort_by" in options else ()
    for name in names:
        if table.column(name) is None:
            raise UndefinedColumn(f'column "{name}" named in sort_by does not exist')
    return names

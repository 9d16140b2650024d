"""Checks of PRIMARY KEY and UNIQUE, after rows have been written and before anything is recorded: is a key duplicated?

The check is one query over Parquet files: it finds keys that occur twice in the new files, and keys of the new files
that are also in the files that stay. Null is not equal to null, so a key with a null in it is never duplicated, unless
the constraint says NULLS NOT DISTINCT. The query returns one key; if it returns one, the same is asked again with the
positions of the new rows, for the error message: PostgreSQL reports the first row whose key exists already.

The commit verifies that the files that stay are still those when the transaction commits (`StoredTables.change_data`):
such a change is no blind append.

PostgreSQL checks each row as it is written, so that `UPDATE t SET id = id + 1` may fail for the order in which it finds
rows; here, as in the standard, the statement is checked at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from engine.catalog.model.objects import Constraint, Table, TableColumn
from engine.catalog.snapshot import PUBLIC
from engine.common import sql_type as st
from engine.common.identifiers import quote_ident
from engine.plan_ir.logical import FILE, ROW, Root
from engine.planner.optimizer.column_bounds import RangeOverlap, Test
from engine.planner.optimizer.input_size import groups_to_read
from engine.planner.optimizer.pruning import files_passing, with_files
from engine.sql.binder import bind_query
from engine.sql.binder.scope import BindContext
from engine.sql.deparse.stored_text import read_formula
from engine.sql.parser.nodes.statements import Query
from engine.statements.shared.named_tables import NamedTables, table_reference
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings

_NEW, _OLD = "new", "old"
#: The columns of a new row's position. No user's column has such a name.
_PLACE = FILE, ROW
_NUMBER = "\0number"


def types_of(table: Table) -> Callable[[str | None, str, Sequence[str]], t.PgType | None]:
    """Return a function that finds the user-defined types that a table's key expressions name: the types of its
    columns, and no others.
    """
    declared = (c.declared_type for c in table.columns)
    by_name = {pg.sql_name: pg for pg in (t.element_of(typ) if typ.is_array else typ for typ in declared)}

    def find(schema: str | None, name: str, _path: Sequence[str]) -> t.PgType | None:
        return by_name.get(
            quote_ident(name) if schema in (None, PUBLIC) else f"{quote_ident(schema or PUBLIC)}.{quote_ident(name)}"
        )

    return find


def key_types(table: Table, key: Constraint) -> Sequence[st.SqlType]:
    """Return the types of the parts of a key."""
    context = BindContext(NamedTables({_NEW: table}), (), InputSettings(), find_type=types_of(table))
    tree = exp.Select(
        expressions=list(map(_column, _names(key))),
        from_=exp.From(expressions=[_rows(key, table_reference(_NEW), table)]),
    )
    return [column.type for column in bind_query(Query(tree=tree, text=""), context).plan.columns]


def doubles(table: Table, key: Constraint, added: Sequence[str], kept: Sequence[str], rows: int) -> Root | None:
    """Return the query for a duplicate key; None if there can be none.

    added, kept: files. rows: the number of rows in the added ones. Files that, by their statistics, hold none of these
    keys are left out. May block on the files.
    """
    kept = _with_keys(table, key, added, kept)
    queries: list[exp.Expression] = []
    if rows > 1:
        queries.append(twice_in(table, key, table_reference(_NEW)))
    if kept and rows:
        queries.append(_select_conflicts(table, key))
    return _first_row_plan(table, queries, added, kept) if queries else None


def first_double(table: Table, key: Constraint, added: Sequence[str], kept: Sequence[str]) -> Root:
    """Return the query for the first new row with a duplicate key: the key, the row's file, and its number in the file.
    Arguments as in `doubles`.
    """
    kept = _with_keys(table, key, added, kept)
    placed = _asked_places(table, key)
    if kept:
        placed = exp.Union(this=placed, expression=_select_conflicts(table, key, _PLACE), distinct=False)
    placed.set("order", _by_place())
    return _first_row_plan(table, [placed], added, kept)


def _with_keys(table: Table, key: Constraint, added: Sequence[str], kept: Sequence[str]) -> Sequence[str]:
    """Return the kept files that may hold one of the new keys."""
    if key.nulls_not_distinct:
        return kept
    for test in (overlap(table, part.name, added) for part in key.key_parts if not part.formula):
        if test is not None:
            kept = files_passing(replace(table, files=tuple(kept)), test)
    return kept


def _first_row_plan(table: Table, queries: Sequence[exp.Expression], added: Sequence[str], kept: Sequence[str]) -> Root:
    """Plan the union of these queries, limited to its first row."""
    tree = queries[0]
    for query in queries[1:]:
        tree = exp.Union(this=tree, expression=query, distinct=False)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    plain = replace(table, constraints=(), parts=())
    new = with_files(replace(plain, columns=(*plain.columns, *_places(table))), added)
    tables = {_NEW: new, _OLD: with_files(plain, kept)}
    context = BindContext(NamedTables(tables), (), InputSettings(), find_type=types_of(table))
    return bind_query(Query(tree=tree, text=""), context).plan


def _places(table: Table) -> Sequence[TableColumn]:
    """Return the columns that identify a row's position."""
    after = max((column.number for column in table.columns), default=0)
    types = (st.of(t.TEXT), st.of(t.INT8))
    return [TableColumn(name, typ, after + n) for n, (name, typ) in enumerate(zip(_PLACE, types, strict=True), 1)]


def overlap(table: Table, name: str, added: Sequence[str], other: str | None = None) -> Test | None:
    """Return the test that a file's statistics must pass if the file holds one of the new keys. Returns None if there
    is no such test: for floats, whose statistics leave out NaN, which is equal to itself, and if the new files'
    statistics are unknown. other: the column's name in the file; None if it is that of the new files.
    """
    column = table.column(name)
    assert column is not None, "a key is made of its table's columns"
    called = column.file_column if other is None else other
    if column.type.pg in (t.FLOAT4, t.FLOAT8):
        return None
    # Each file is read as a table of its own, so that all of them are read, however many there are.
    parts = [(file, replace(table, files=(file,))) for file in added]
    facts = [group.facts(column.file_column) for file, part in parts for group in groups_to_read(file, part, None)]
    known = [found.range for found in facts if found is not None and found.range is not None]
    if not known or len(known) < len(facts):
        return None
    between = min(low for low, _ in known), max(high for _, high in known)
    return RangeOverlap(called, column.type, between)


def _names(key: Constraint) -> Sequence[str]:
    """Return the names that the queries here give to the parts of a key."""
    return [f"\0key{n}" for n, _ in enumerate(key.parts)] or key.columns


def _rows(key: Constraint, rows: exp.Table, table: Table, places: Sequence[str] = ()) -> exp.Expression:
    """Return the rows of a key as an item of FROM: new, or for a key of expressions or of some rows: (SELECT expression
    AS k, file, row FROM new AS t WHERE predicate) AS new
    """
    if not key.parts:
        return rows
    parts = [read_formula(part.formula) if part.formula else _column(part.name) for part in key.parts]
    aliased = [
        exp.Alias(this=part, alias=exp.Identifier(this=called, quoted=True))
        for part, called in zip(parts, _names(key), strict=True)
    ]
    of = exp.Select(
        expressions=[*aliased, *map(_column, places)], from_=exp.From(expressions=[_alias_item(rows, table.name)])
    )
    if key.predicate is not None:
        of.set("where", exp.Where(this=read_formula(key.predicate.formula)))
    return _alias_item(exp.Subquery(this=of), rows.name)


def _alias_item(item: exp.Expression, name: str) -> exp.Expression:
    """Return an item of FROM with an alias."""
    item.set("alias", exp.TableAlias(this=exp.Identifier(this=name, quoted=True)))
    return item


def twice_in(table: Table, key: Constraint, rows: exp.Table) -> exp.Select:
    """SELECT k FROM rows WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1"""
    many = exp.GT(this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=exp.Literal.number(1))
    return exp.Select(
        expressions=[_column(name) for name in _names(key)],
        from_=exp.From(expressions=[_rows(key, rows, table)]),
        where=_where_known(key),
        group=exp.Group(expressions=[_column(name) for name in _names(key)]),
        having=exp.Having(this=many),
    )


def _asked_places(table: Table, key: Constraint) -> exp.Expression:
    """SELECT k, file, row FROM (SELECT k, file, row, row_number() OVER (PARTITION BY k ORDER BY file, row) AS n FROM new
    WHERE k IS NOT NULL) AS new WHERE n > 1"""
    names = (*_names(key), *_PLACE)
    number = exp.Window(
        this=exp.Anonymous(this="row_number", expressions=[]),
        partition_by=[_column(name) for name in _names(key)],
        order=_by_place(),
    )
    numbered = exp.Select(
        expressions=[*map(_column, names), exp.Alias(this=number, alias=exp.Identifier(this=_NUMBER, quoted=True))],
        from_=exp.From(expressions=[_rows(key, table_reference(_NEW), table, _PLACE)]),
        where=_where_known(key),
    )
    alias = exp.TableAlias(this=exp.Identifier(this=_NEW, quoted=True))
    return exp.Select(
        expressions=[_column(name) for name in names],
        from_=exp.From(expressions=[exp.Subquery(this=numbered, alias=alias)]),
        where=exp.Where(this=exp.GT(this=_column(_NUMBER), expression=exp.Literal.number(1))),
    )


def _by_place() -> exp.Order:
    """ORDER BY file, row"""
    return exp.Order(expressions=[exp.Ordered(this=_column(name), desc=False, nulls_first=False) for name in _PLACE])


def _where_known(key: Constraint) -> exp.Where | None:
    """WHERE k IS NOT NULL; None if nulls count as equal."""
    if key.nulls_not_distinct:
        return None
    known = [exp.Not(this=exp.Is(this=_column(name), expression=exp.Null())) for name in _names(key)]
    return exp.Where(this=_all(known))


def _select_conflicts(table: Table, key: Constraint, places: Sequence[str] = ()) -> exp.Expression:
    """SELECT new.k FROM new JOIN old ON new.k = old.k"""
    equal = exp.NullSafeEQ if key.nulls_not_distinct else exp.EQ
    same = [equal(this=_column(name, _NEW), expression=_column(name, _OLD)) for name in _names(key)]
    new, old = _rows(key, table_reference(_NEW), table, places), _rows(key, table_reference(_OLD), table)
    join = exp.Join(left=new, this=old, kind="INNER", on=_all(same))
    wanted = [_column(name, _NEW) for name in (*_names(key), *places)]
    return exp.Select(expressions=wanted, from_=exp.From(expressions=[join]))


def _all(conditions: Sequence[exp.Expression]) -> exp.Expression:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = exp.And(this=whole, expression=condition)
    return whole


def _column(name: str, table: str = "") -> exp.Expression:
    of = {"table": exp.Identifier(this=table, quoted=True)} if table else {}
    return exp.Column(this=exp.Identifier(this=name, quoted=True), **of)

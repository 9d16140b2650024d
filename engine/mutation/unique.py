"""PRIMARY KEY and UNIQUE, judged when rows have been written and nothing is recorded yet: is a key there twice?

Asked as one query over Parquet files: the keys of the new files that are in them twice, and those that are also in the files
that stay. Null is not equal to null, so a key with a null in it is never there twice. The answer is one key; where there is one,
the same is asked again with the places of the new rows, for the message: PostgreSQL tells the first row whose key is there already.

That the files that stay are still those when the transaction commits is the commit's to see (`SessionCatalog.change_data`): such a
change is no blind append.

PostgreSQL judges each row as it is written, so that `UPDATE t SET id = id + 1` may fail for the order in which it finds rows;
here, as in the standard, the statement is judged at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from engine.catalog.objects import Constraint, Table, TableColumn
from engine.mutation.named_tables import NamedTables, named
from engine.plan.input_size import groups_to_read
from engine.plan.judgement import Test, may_overlap
from engine.plan.logical import FILE, ROW, Final
from engine.plan.pruning import narrowed
from engine.sql import types as st
from engine.sql.binder import bind_query
from engine.sql.scope import BindContext
from engine.sql.statements import Query
from wire import types as t
from wire.text_settings import InputSettings

_NEW, _OLD = "new", "old"
#: What new rows are also asked for: where they are. No column of a user's has such a name.
_PLACE = FILE, ROW
_NUMBER = "\0number"


def doubles(table: Table, key: Constraint, added: Sequence[str], kept: Sequence[str], rows: int) -> Final | None:
    """The query that gives a key that would be there twice; None where none can be.

    added, kept: files. rows: how many there are in the added ones. Files whose statistics say that they have none of these
    keys are left out. May block on the files.
    """
    kept = _with_keys(table, key, added, kept)
    queries = []
    if rows > 1:
        queries.append(_within(key))
    if kept and rows:
        queries.append(_between(key))
    return _asked(table, queries, added, kept) if queries else None


def first_double(table: Table, key: Constraint, added: Sequence[str], kept: Sequence[str]) -> Final:
    """The query that gives the first new row whose key is there twice: the key, its file, its number in it. Arguments as of
    `doubles`."""
    kept = _with_keys(table, key, added, kept)
    placed = _asked_places(key)
    if kept:
        placed = exp.Union(this=placed, expression=_between(key, _PLACE), distinct=False)
    placed.set("order", _by_place())
    return _asked(table, [placed], added, kept)


def _with_keys(table: Table, key: Constraint, added: Sequence[str], kept: Sequence[str]) -> Sequence[str]:
    """The files of those that stay that may have one of the new keys."""
    for test in (overlap(table, name, added) for name in key.columns):
        kept = [file for file in kept if groups_to_read(file, table, test)]
    return kept


def _asked(table: Table, queries: Sequence[exp.Expression], added: Sequence[str], kept: Sequence[str]) -> Final:
    """The first row of these queries together."""
    tree = queries[0]
    for query in queries[1:]:
        tree = exp.Union(this=tree, expression=query, distinct=False)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    plain = replace(table, constraints=(), parts=())
    new = narrowed(replace(plain, columns=(*plain.columns, *_places(table))), added)
    context = BindContext(NamedTables({_NEW: new, _OLD: narrowed(plain, kept)}), (), InputSettings())
    return bind_query(Query(tree=tree, text=""), context).plan


def _places(table: Table) -> Sequence[TableColumn]:
    """Columns that say where a row is."""
    after = max((column.number for column in table.columns), default=0)
    types = (st.of(t.TEXT), st.of(t.INT8))
    return [TableColumn(name, typ, after + n) for n, (name, typ) in enumerate(zip(_PLACE, types, strict=True), 1)]


def overlap(table: Table, name: str, added: Sequence[str], other: str | None = None) -> Test | None:
    """What a file's statistics must allow for it to have one of the new keys. Those of floats leave NaN out, which is equal
    to itself. other: how the column is called in the file; None: as in the new ones."""
    column = table.column(name)
    assert column is not None, "a key is made of its table's columns"
    called = column.file_column if other is None else other
    if column.type.pg in (t.FLOAT4, t.FLOAT8):
        return None
    facts = [group.facts(column.file_column) for file in added for group in groups_to_read(file, table, None)]
    known = [found.range for found in facts if found is not None and found.range is not None]
    if not known or len(known) < len(facts):
        return None
    between = min(low for low, _ in known), max(high for _, high in known)
    return lambda told: may_overlap(told(called), between)


def _within(key: Constraint) -> exp.Expression:
    """SELECT k FROM new WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1"""
    many = exp.GT(this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=exp.Literal.number(1))
    return exp.Select(
        expressions=[_column(name) for name in key.columns],
        from_=exp.From(expressions=[named(_NEW)]),
        where=exp.Where(this=_known(key)),
        group=exp.Group(expressions=[_column(name) for name in key.columns]),
        having=exp.Having(this=many),
    )


def _asked_places(key: Constraint) -> exp.Expression:
    """SELECT k, file, row FROM (SELECT k, file, row, row_number() OVER (PARTITION BY k ORDER BY file, row) AS n FROM new
    WHERE k IS NOT NULL) AS new WHERE n > 1"""
    names = (*key.columns, *_PLACE)
    number = exp.Window(
        this=exp.Anonymous(this="row_number", expressions=[]),
        partition_by=[_column(name) for name in key.columns],
        order=_by_place(),
    )
    numbered = exp.Select(
        expressions=[*map(_column, names), exp.Alias(this=number, alias=exp.Identifier(this=_NUMBER, quoted=True))],
        from_=exp.From(expressions=[named(_NEW)]),
        where=exp.Where(this=_known(key)),
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


def _known(key: Constraint) -> exp.Expression:
    return _all([exp.Not(this=exp.Is(this=_column(name), expression=exp.Null())) for name in key.columns])


def _between(key: Constraint, places: Sequence[str] = ()) -> exp.Expression:
    """SELECT new.k FROM new JOIN old ON new.k = old.k"""
    same = [exp.EQ(this=_column(name, _NEW), expression=_column(name, _OLD)) for name in key.columns]
    join = exp.Join(left=named(_NEW), this=named(_OLD), kind="INNER", on=_all(same))
    wanted = [_column(name, _NEW) for name in (*key.columns, *places)]
    return exp.Select(expressions=wanted, from_=exp.From(expressions=[join]))


def _all(conditions: Sequence[exp.Expression]) -> exp.Expression:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = exp.And(this=whole, expression=condition)
    return whole


def _column(name: str, table: str = "") -> exp.Expression:
    of = {"table": exp.Identifier(this=table, quoted=True)} if table else {}
    return exp.Column(this=exp.Identifier(this=name, quoted=True), **of)

"""Scans that verify a table's existing rows before a new constraint is recorded. Each question is a query that must
return no row; if it returns one, the error message is made from that row.

Source: PostgreSQL 15, tablecmds.c (ATRewriteTable), index.c and tuplesort's comparetup_index_btree for keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import Constraint, Table, TableColumn
from engine.plan_ir.shown_columns import ShownColumns
from engine.sql.deparse.stored_text import read_formula
from engine.statements.dml.foreign_keys import half_null, pairs_of, select_unmatched
from engine.statements.dml.unique import key_types, twice_in
from engine.writers.violations import about_constraint, half_null_key, key_detail, no_such_key
from wire.dataclass import dataclass
from wire.errors import About, CheckViolation, NotNullViolation, SqlError, UniqueViolation
from wire.types.output import OutputSettings


@dataclass(frozen=True, slots=True)
class Question:
    """A query that must return no row. error: makes the exception from the row (a batch of one), the settings by which
    values are printed, and the columns of a table that messages may show.
    """

    tree: exp.Expression
    error: Callable[[pa.RecordBatch, OutputSettings, Callable[[Table], ShownColumns]], SqlError]


def not_null(table: Table, column: TableColumn) -> Question:
    """SELECT 1 FROM t WHERE c IS NULL"""
    message = f'column "{column.name}" of relation "{table.name}" contains null values'
    about = About(table.schema, table.name, column.name)
    tree = _select([exp.Literal.number(1)], table, where=_is_null(column.name))
    return Question(tree, lambda _row, _settings, _shown: NotNullViolation(message, about=about))


def violation_query(table: Table, check: Constraint) -> Question:
    """SELECT 1 FROM t WHERE NOT (condition)"""
    message = f'check constraint "{check.name}" of relation "{table.name}" is violated by some row'
    condition = exp.Not(this=read_formula(check.expression))
    tree = _select([exp.Literal.number(1)], table, where=condition)
    return Question(tree, lambda _row, _settings, _shown: CheckViolation(message, about=about_constraint(table, check)))


def null_in_domain(table: Table, column: TableColumn) -> Question:
    """Return the question of `not_null` for a domain that becomes NOT NULL."""
    message = f'column "{column.name}" of table "{table.name}" contains null values'
    about = About(table.schema, table.name, column.name)
    tree = _select([exp.Literal.number(1)], table, where=_is_null(column.name))
    return Question(tree, lambda _row, _settings, _shown: NotNullViolation(message, about=about))


def breaks_domain(table: Table, column: TableColumn, condition: exp.Expression) -> Question:
    """Return the question of `violation_query` for a new condition of a domain, applied to the column."""
    message = f'column "{column.name}" of table "{table.name}" contains values that violate the new constraint'
    about = About(table.schema, table.name, column.name)
    tree = _select([exp.Literal.number(1)], table, where=exp.Not(this=condition))
    return Question(tree, lambda _row, _settings, _shown: CheckViolation(message, about=about))


def keys_twice(table: Table, key: Constraint) -> Question:
    """Return the question whether the table's rows have a duplicate key."""

    def error(row: pa.RecordBatch, settings: OutputSettings, shown: Callable[[Table], ShownColumns]) -> SqlError:
        return UniqueViolation(
            f'could not create unique index "{key.name}"',
            detail=key_detail(key, key_types(table, key), row, settings, shown(table), "is duplicated"),
            about=about_constraint(table, key),
        )

    return Question(_first(twice_in(table, key, _table_reference(table))), error)


def without_match(table: Table, constraint: Constraint, there: Table) -> list[Question]:
    """Return the questions for rows that reference a key that does not exist. there: the table that the constraint
    references.
    """
    own, other = _table_reference(table), _table_reference(there)
    found = [
        Question(
            _first(select_unmatched(own, other, pairs_of(constraint, there))),
            lambda row, settings, shown: no_such_key(table, constraint, there, row, settings, shown(table)),
        )
    ]
    if constraint.references is not None and constraint.references.full:
        found.insert(
            0,
            Question(
                _first(half_null(own, constraint)), lambda _row, _settings, _shown: half_null_key(table, constraint)
            ),
        )
    return found


def _first(tree: exp.Select) -> exp.Select:
    tree.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    return tree


def _select(values: Sequence[exp.Expression], table: Table, where: exp.Expression) -> exp.Select:
    return exp.Select(
        expressions=list(values),
        from_=exp.From(expressions=[_table_reference(table)]),
        where=exp.Where(this=where),
        limit=exp.Limit(expression=exp.Literal.number(1)),
    )


def _table_reference(table: Table) -> exp.Table:
    return exp.Table(
        this=exp.Identifier(this=table.name, quoted=True), db=exp.Identifier(this=table.schema, quoted=True)
    )


def _is_null(name: str) -> exp.Is:
    return exp.Is(this=_column(name), expression=exp.Null())


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))

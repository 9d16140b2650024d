"""Expressions in definitions: a column's DEFAULT, a table's CHECK, and the expression of ALTER ... USING.

They are bound when they are defined, so that an invalid expression is refused then, with PostgreSQL's messages. Every
statement that writes rows binds them again from their stored text (`engine.sql.deparse.stored_text`).

Source: PostgreSQL 15, heap.c (cookDefault, cookConstraint), parse_expr.c (transformColumnRef, transformSubLink).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Table, TableColumn
from engine.common.depth import bounded_depth
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, Column, ColumnRef, ContextRef, Expr
from engine.sql.binder.casts import can_coerce
from engine.sql.binder.handlers import query_binder
from engine.sql.binder.levels import check_plain
from engine.sql.binder.scope import BindContext, Scope, Source, SourceColumn
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import DatatypeMismatch, FeatureNotSupported, InvalidObjectDefinition, SqlError, UndefinedParameter
from wire.types import pg_types as t

_DEFAULTS: Final = "DEFAULT expressions"
_CHECKS: Final = "check constraints"
_GENERATED: Final = "column generation expressions"
_INDEXED: Final = "index expressions"
_PREDICATES: Final = "index predicates"


@dataclass(frozen=True, slots=True)
class RowOfTable:
    """A table's row as a check sees it: its columns, numbered for one statement."""

    table: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, table: Table, context: BindContext) -> RowOfTable:
        return cls.from_columns(table.name, table.columns, context)

    @classmethod
    def from_columns(cls, table: str, columns: Sequence[TableColumn], context: BindContext) -> RowOfTable:
        made = tuple(context.new_column(c.name, c.type, c.nullable) for c in columns)
        return cls(table, tuple(c.name for c in columns), made)


def bind_default(tree: exp.Expression, column: str, typ: SqlType, context: BindContext) -> Expr:
    """Bind a default by itself. An untyped string becomes a value of the column's type without its modifier. Raises
    DatatypeMismatch and the errors of binding and conversion.
    """
    _refuse_columns(tree)
    _refuse_subqueries(tree, "DEFAULT expression")
    expr = _bind_definition(tree, None, context, _DEFAULTS)
    if not can_coerce(expr.type.pg, typ.pg, "assignment"):
        raise DatatypeMismatch(
            f'column "{column}" is of type {typ.pg.sql_name} but default expression is of type {expr.type.pg.sql_name}',
            hint="You will need to rewrite or cast the expression.",
        )
    value = query_binder(context).expressions.coercer.coerce_type(expr, typ.pg, "assignment")
    return value if expr.type.pg is t.UNKNOWN else expr


def bind_check(tree: exp.Expression, row: RowOfTable, context: BindContext) -> Expr:
    """Bind a check's condition over the columns of `row`."""
    _refuse_subqueries(tree, "check constraint")
    expr = _bind_definition(tree, row, context, _CHECKS)
    return query_binder(context).expressions.as_boolean(expr, "CHECK")


def bind_domain_check(tree: exp.Expression, typ: SqlType, context: BindContext) -> Expr:
    """Bind a domain's condition, in which VALUE is the value."""
    row = RowOfTable("", ("value",), (context.new_column("value", typ),))
    return bind_check(tree, row, context)


def bind_generated(
    tree: exp.Expression, column: TableColumn, row: RowOfTable, table: Table, context: BindContext
) -> None:
    """Check a generated column's expression over a row of its table. Raises the errors of PostgreSQL's cookDefault."""
    _refuse_subqueries(tree, "column generation expression")
    expr = _bind_definition(tree, row, context, _GENERATED)
    generated = {c.name: c for c in table.columns if c.generated}
    for read in tree.find_all(exp.Column, bfs=False):
        if read.name in generated or read.name == column.name:
            raise InvalidObjectDefinition(
                f'cannot use generated column "{read.name}" in column generation expression',
                detail="A generated column cannot reference another generated column.",
                position=cursor(position(read)),
            )
    if not can_coerce(expr.type.pg, column.type.pg, "assignment"):
        raise DatatypeMismatch(
            f'column "{column.name}" is of type {column.type.pg.sql_name} but default expression is of type '
            f"{expr.type.pg.sql_name}",
            hint="You will need to rewrite or cast the expression.",
        )
    value = query_binder(context).expressions.coercer.coerce_type(expr, column.type.pg, "assignment")
    if any(_may_change(part) for part in value.walk()):
        raise InvalidObjectDefinition("generation expression is not immutable")


def bind_index_expression(tree: exp.Expression, row: RowOfTable, context: BindContext) -> Expr:
    """Bind an expression of an index's key over a row of its table. Raises InvalidObjectDefinition for one that is not
    immutable.
    """
    _refuse_subqueries(tree, "index expression")
    expr = query_binder(context).expressions.settle(_bind_definition(tree, row, context, _INDEXED))
    if any(_may_change(part) for part in expr.walk()):
        raise InvalidObjectDefinition("functions in index expression must be marked IMMUTABLE")
    return expr


def bind_index_predicate(tree: exp.Expression, row: RowOfTable, context: BindContext) -> Expr:
    """Bind an index's predicate. Raises as `bind_index_expression`."""
    _refuse_subqueries(tree, "index predicate")
    expr = query_binder(context).expressions.as_boolean(_bind_definition(tree, row, context, _PREDICATES), "WHERE")
    if any(_may_change(part) for part in expr.walk()):
        raise InvalidObjectDefinition("functions in index predicate must be marked IMMUTABLE")
    return expr


def _may_change(part: Expr) -> bool:
    """Whether the expression may give another result for the same row at another time."""
    return isinstance(part, ContextRef) or (isinstance(part, Call) and part.function.volatility != "immutable")


def _bind_definition(tree: exp.Expression, row: RowOfTable | None, context: BindContext, clause: str) -> Expr:
    for parameter in tree.find_all(exp.Parameter):
        raise UndefinedParameter(f"there is no parameter ${parameter.name}", position=cursor(position(parameter)))
    with bounded_depth():
        binder = query_binder(context)
        scope = Scope(context, binder)
        if row is not None:
            offered = [SourceColumn(n, ColumnRef(c.type, c)) for n, c in zip(row.names, row.columns, strict=True)]
            source = Source(row.table, tuple(offered))
            scope.add(source)
            scope.sources.append(source)
        expr = binder.expressions.bind(tree, scope)
        check_plain(expr, clause, scope)
    return expr


def _refuse_columns(tree: exp.Expression) -> None:
    for column in tree.find_all(exp.Column, bfs=False):
        raise FeatureNotSupported(
            "cannot use column reference in DEFAULT expression", position=cursor(position(column))
        )


def _refuse_subqueries(tree: exp.Expression, what: str) -> None:
    for query in tree.find_all(exp.Select, exp.Values, exp.SetOperation, bfs=False):
        around = query.parent if isinstance(query.parent, exp.Expression) else query
        raise FeatureNotSupported(f"cannot use subquery in {what}", position=cursor(position(around)))


def is_integer(typ: SqlType) -> bool:
    """Return whether a column of that type can be an identity column."""
    return typ.pg in (t.INT2, t.INT4, t.INT8)


@contextmanager
def without_position() -> Iterator[None]:
    """Remove the position from errors in a stored definition, because it is not part of the statement."""
    try:
        yield
    except SqlError as error:
        error.position = None
        raise

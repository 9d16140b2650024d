"""VALUES (analyze.c: transformValuesClause)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from engine.plan_ir.columnar_rows import gather_rows
from engine.plan_ir.expr import Expr
from engine.plan_ir.logical import Values
from engine.sql.binder import row_locks, sorting
from engine.sql.binder.blocks import Bound, refer
from engine.sql.binder.levels import check_plain
from engine.sql.binder.scope import Scope, Source, SourceColumn
from engine.sql.parser.lexical.positions import cursor, position
from wire.errors import SqlSyntaxError

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def bind(binder: QueryBinder, tree: exp.Values, scope: Scope) -> Bound:
    """Bind the rows, each column with one type; ORDER BY may use `column1` and so on in expressions."""
    row_locks.refuse(tree, "cannot be applied to VALUES")
    rows = [_row(binder, row, scope) for row in tree.expressions]
    width = len(rows[0])
    for row, written in zip(rows, tree.expressions, strict=True):
        if len(row) != width:
            first = written.expressions[0]
            raise SqlSyntaxError("VALUES lists must all be the same length", position=cursor(position(first)))
    unified = [binder.expressions.unify([row[i] for row in rows], "VALUES") for i in range(width)]
    names = tuple(f"column{i}" for i in range(1, width + 1))
    columns = tuple(binder.context.new_column(name, typ) for name, (typ, _) in zip(names, unified, strict=True))
    plan = Values(columns, gather_rows([exprs for _, exprs in unified]) if width else ((),) * len(rows))
    source = Source("*VALUES*", tuple(SourceColumn(c.name, refer(c)) for c in columns))
    scope.add(source)
    scope.sources.append(source)
    return sorting.ordered_and_limited(binder, tree, scope, plan, names)


def _row(binder: QueryBinder, row: exp.Expression, scope: Scope) -> list[Expr]:
    bound = binder.expressions.bind_all(row.expressions, scope)
    for expr in bound:
        check_plain(expr, "VALUES", scope)
    return bound

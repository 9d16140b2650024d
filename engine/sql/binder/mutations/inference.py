"""Inference of ON CONFLICT's unique indexes, and the expressions of their keys.

An index matches if its columns and expressions are exactly those of the conflict target, and if its predicate is
implied by ON CONFLICT ... WHERE: each condition of the predicate must be written there too. PostgreSQL proves more (`a
> 5` implies `a > 0`). If no index matches, the error is 42P10, as in PostgreSQL where it can prove nothing.

Source: PostgreSQL 15, plancat.c (infer_arbiter_indexes), parse_clause.c (resolve_unique_index_expr).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import Constraint, KeyPart, Table
from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import Column, Expr
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.target import drop_position, keys, row_columns, row_source
from engine.sql.binder.scope import Scope
from engine.sql.deparse.stored_text import read_formula
from engine.sql.parser.nodes.statements import OnConflict

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def infer_indexes(binder: QueryBinder, table: Table, conflict: OnConflict) -> tuple[Constraint, ...]:
    """Return the indexes that match the conflict target's columns and expressions, oldest first. Raises the errors of
    binding these.
    """
    rows = row_columns(binder, table)
    scope = _scope(binder, table, rows)
    formulas = [_bind_settled(binder, formula, scope, "ON CONFLICT") for formula in conflict.formulas]
    columns = {name.name for name in conflict.columns}
    columns |= {formula.name for formula in conflict.formulas if isinstance(formula, exp.Column)}
    formulas = [
        bound for bound, tree in zip(formulas, conflict.formulas, strict=True) if not isinstance(tree, exp.Column)
    ]
    met = None if conflict.predicate is None else _condition(binder, conflict.predicate, scope)
    return tuple(key for key in keys(table) if _is_meant(binder, table, key, columns, formulas, met, rows))


def _is_meant(
    binder: QueryBinder,
    table: Table,
    key: Constraint,
    columns: set[str],
    formulas: Sequence[Expr],
    met: Expr | None,
    rows: Sequence[Column],
) -> bool:
    if {part.name for part in key.key_parts if not part.formula} != columns:
        return False
    parts, where = bound_parts(binder, table, rows, key)
    own = [bound for bound, part in zip(parts, key.key_parts, strict=True) if part.formula]
    if any(formula not in own for formula in formulas) or any(part not in formulas for part in own):
        return False
    said = conjuncts(met)
    return all(condition in said for condition in conjuncts(where))


def bound_parts(
    binder: QueryBinder, table: Table, rows: Sequence[Column], key: Constraint
) -> tuple[tuple[Expr, ...], Expr | None]:
    """Bind the columns and expressions of a key over a row, and the key's predicate; None for a key without predicate."""
    scope = _scope(binder, table, rows)

    def bind_part(part: KeyPart) -> Expr:
        tree = (
            read_formula(part.formula) if part.formula else exp.Column(this=exp.Identifier(this=part.name, quoted=True))
        )
        return _bind_settled(binder, tree, scope, "index expressions")

    with drop_position(), binder.context.accesses.without_noting():
        parts = tuple(map(bind_part, key.key_parts))
        where = key.predicate
        return parts, None if where is None else _condition(binder, read_formula(where.formula), scope)


def _scope(binder: QueryBinder, table: Table, rows: Sequence[Column]) -> Scope:
    scope = Scope(binder.context, binder)
    source = row_source(table, None, rows)
    scope.add(source)
    scope.sources.append(source)
    return scope


def _bind_settled(binder: QueryBinder, tree: exp.Expression, scope: Scope, clause: str) -> Expr:
    bound = binder.expressions.bind(tree, scope)
    check_plain(bound, clause, scope)
    return binder.expressions.settle(bound)


def _condition(binder: QueryBinder, tree: exp.Expression, scope: Scope) -> Expr:
    return binder.expressions.as_boolean(_bind_settled(binder, tree, scope, "WHERE"), "WHERE")

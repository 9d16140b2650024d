"""FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE and FOR KEY SHARE (analyze.c: transformLockingClause, CheckSelectLocking).

This module applies PostgreSQL's rules for the clause: which relations it locks, by itself or with OF, through derived
tables and views, and where it is not allowed. The session carries it out: no transaction waits for another, but a
transaction that locked rows commits only if the files that held them still belong to their tables
(`engine.catalog.snapshot.Guard`).

WITH queries and subqueries in expressions are not affected, as in PostgreSQL: they have clauses of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Relation, Table
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, ProjectSet, Window
from engine.sql.binder.scope import BindContext, RowLock, Rows, Scope, Source
from engine.sql.parser.grammar.tail_clauses import strength_of
from engine.sql.parser.lexical.positions import cursor, position
from wire.errors import FeatureNotSupported, SqlSyntaxError, UndefinedTable, WrongObjectType

_CLAUSES: Final = (("distinct", "DISTINCT clause"), ("group", "GROUP BY clause"), ("having", "HAVING clause"))
_NODES: Final[tuple[tuple[type[Node], str], ...]] = (
    (Aggregator, "aggregate functions"),
    (Window, "window functions"),
    (ProjectSet, "set-returning functions in the target list"),
)


def refuse(tree: exp.Expression, why: str) -> None:
    """Raises FeatureNotSupported if a query that cannot have a locking clause has one."""
    for clause in _clauses(tree):
        raise FeatureNotSupported(f"{strength_of(clause)} {why}")


def rows_of(tree: exp.Select, plan: Node, base: Node, scope: Scope) -> Rows:
    """Return the relations that a SELECT's rows belong to. plan: its plan without DISTINCT. base: the plan of its FROM
    clause within `plan`.
    """
    relations = tuple(relation for source in scope.known for relation in source.rows.relations)
    refused = _own_refusal(tree, plan, base)
    return Rows(relations, refused or next((s.rows.refused for s in scope.known if s.rows.refused), ""))


def _own_refusal(tree: exp.Select, plan: Node, base: Node) -> str:
    """Return the clause for which locking the SELECT's rows is refused, or "" (CheckSelectLocking)."""
    for key, clause in _CLAUSES:
        if tree.args.get(key) is not None:
            return clause
    above = set(_above(plan, base))
    return next((clause for kind, clause in _NODES if kind in above), "")


def _above(plan: Node, base: Node) -> Iterator[type[Node]]:
    """Yield the kinds of nodes between a SELECT's columns and its FROM clause."""
    while plan is not base:
        yield type(plan)
        below = plan.inputs()
        if len(below) != 1:
            return
        plan = below[0]


def lock(context: BindContext, tree: exp.Select, rows: Rows, scope: Scope) -> None:
    """Record the row locks of a SELECT's clauses. rows: the relations that its rows belong to. Raises PostgreSQL's
    errors where the clauses are not allowed.
    """
    for clause in _clauses(tree):
        strength = strength_of(clause)
        named = [_find(name, strength, scope) for name in clause.expressions]
        refused = rows.refused if not named else _refusal_of_level(rows, scope)
        for source in named:
            refused = refused or source.rows.refused
        if refused:
            raise FeatureNotSupported(f"{strength} is not allowed with {refused}")
        asked = [relation for source in named for relation in source.rows.relations] if named else list(rows.relations)
        context.accesses.lock(asked)
        context.row_locks += [RowLock(strength, _lockable(relation)) for relation in asked]


def _refusal_of_level(rows: Rows, scope: Scope) -> str:
    """Return the reason why a SELECT's rows cannot be locked, or "" if it comes from one of its FROM items."""
    return "" if any(source.rows.refused == rows.refused for source in scope.known) else rows.refused


def _find(name: exp.Identifier, strength: str, scope: Scope) -> Source:
    """Return the FROM item that OF names."""
    at = cursor(position(name))
    if "qualified" in name.meta:
        raise SqlSyntaxError(f"{strength} must specify unqualified relation names", position=at)
    for source in scope.known:
        if source.name == name.name and not source.join:
            if source.rows.kind:
                raise FeatureNotSupported(f"{strength} cannot be applied to {source.rows.kind}", position=at)
            return source
    raise UndefinedTable(f'relation "{name.name}" in {strength} clause not found in FROM clause', position=at)


def _lockable(relation: Relation) -> Relation:
    if isinstance(relation, Table) and relation.query is not None:
        raise WrongObjectType(f'cannot lock rows in materialized view "{relation.name}"')
    return relation


def _clauses(tree: exp.Expression) -> list[exp.Lock]:
    return tree.args.get("locks") or []

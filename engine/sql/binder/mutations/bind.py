"""The entrance: one statement bound, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.api import ResultColumn
from engine.plan.logical import Mutate
from engine.sql.binder.common_tables import bind_with, with_ctes
from engine.sql.binder.mutations import insert, merge, rewrite
from engine.sql.binder.queries import QueryBinder
from engine.sql.depth import bounded
from engine.sql.scope import BindContext, Scope
from engine.sql.statements import Delete, Insert, Merge, MutationStatement, Update
from wire import types as t


@dataclass(frozen=True, slots=True)
class BoundMutation:
    """A statement bound: its plan, and what Describe tells of it. columns: None without RETURNING."""

    plan: Mutate
    columns: tuple[ResultColumn, ...] | None
    parameters: tuple[t.PgType, ...]


def bind_mutation(statement: MutationStatement, context: BindContext) -> BoundMutation:
    """Bind a whole statement. Positions in errors count from the beginning of its text.

    Raises SqlError of every kind that PostgreSQL's analysis does; FeatureNotSupported for what is not here.
    """
    with bounded():
        binder = QueryBinder(context)
        scope = Scope(context, binder)
        ctes = bind_with(binder, statement.with_, scope) if statement.with_ is not None else []
        plan, names = _bind(binder, statement, scope)
        if ctes:
            located = plan.located and with_ctes(ctes, plan.located)
            plan = replace(plan, input=with_ctes(ctes, plan.input), located=located)
        columns = None
        if statement.returning:
            columns = tuple(
                ResultColumn(name, column.type, *context.origins.get(column.id, (0, 0)))
                for name, column in zip(names, plan.columns, strict=True)
            )
        return BoundMutation(plan, columns, context.parameters.finish())


def _bind(binder: QueryBinder, statement: MutationStatement, scope: Scope) -> tuple[Mutate, tuple[str, ...]]:
    match statement:
        case Insert():
            return insert.bind(binder, statement, scope)
        case Update():
            return rewrite.bind_update(binder, statement, scope)
        case Delete():
            return rewrite.bind_delete(binder, statement, scope)
        case Merge():
            return merge.bind(binder, statement, scope)
        case _:
            raise AssertionError(f"{type(statement).__name__} changes no rows")

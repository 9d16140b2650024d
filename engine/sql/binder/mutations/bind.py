"""The entry point of the binder of statements that change rows, for every kind of statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.common.depth import bounded_depth
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.logical import Mutate
from engine.plan_ir.volatility import plan_is_volatile
from engine.sql.binder.common_tables import bind_with
from engine.sql.binder.handlers import query_binder
from engine.sql.binder.mutations import insert, merge, rewrite
from engine.sql.binder.mutations.outcome import with_names_of_objects
from engine.sql.binder.queries import QueryBinder
from engine.sql.binder.scope import BindContext, RowLock, Scope
from engine.sql.binder.with_items import WithItem, with_ctes
from engine.sql.parser.nodes.statements import Delete, Insert, Merge, MutationStatement, Update
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t


@dataclass(frozen=True, slots=True)
class BoundMutation:
    """A bound statement: its plan, and the result description for Describe. columns: None without RETURNING. locks:
    the row locks of FOR UPDATE clauses in its queries.
    """

    plan: Mutate
    columns: tuple[ResultColumn, ...] | None
    parameters: tuple[t.PgType, ...]
    locks: tuple[RowLock, ...] = ()


def bind_mutation(statement: MutationStatement, context: BindContext, *, is_item: bool = False) -> BoundMutation:
    """Bind a whole statement. Positions in errors count from the beginning of its text.

    is_item: it is an item of WITH, whose RETURNING gives objects (regclass ...) as they are, not as names.

    Raises SqlError of every kind that PostgreSQL's analysis raises; FeatureNotSupported for features that Sluice lacks.
    """
    with bounded_depth():
        binder = query_binder(context)
        scope = Scope(context, binder)
        ctes = bind_with(binder, statement.with_, scope) if statement.with_ is not None else []
        plan, names = _bind(binder, statement, scope)
        columns = None
        if statement.returning:
            columns = tuple(
                ResultColumn(name, column.type, *context.origins.get(column.id, (0, 0)))
                for name, column in zip(names, plan.columns, strict=True)
            )
        if not is_item:
            plan = with_names_of_objects(binder, plan)
        if ctes:
            plan = _with(ctes, plan)
        return BoundMutation(plan, columns, context.parameters.finish(), tuple(context.row_locks))


def _with(ctes: Sequence[WithItem], plan: Mutate) -> Mutate:
    """Add the statement's WITH to each of its queries. Volatile WITH items must be evaluated once, so all files are
    rewritten then, instead of those that a query locates beforehand, and no query looks for forbidden rows.
    """
    volatile = any(
        plan_is_volatile(part) for item in ctes for part in (item.cte.plan, item.cte.step) if part is not None
    )
    if volatile and plan.kind == "merge":
        raise FeatureNotSupported("not supported: MERGE with volatile functions")
    located = None if volatile or plan.located is None else with_ctes(ctes, plan.located)
    forbidden = None if volatile else plan.forbidden
    if forbidden is not None:
        forbidden = replace(forbidden, node=with_ctes(ctes, forbidden.node))
    return replace(plan, input=with_ctes(ctes, plan.input), located=located, forbidden=forbidden)


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

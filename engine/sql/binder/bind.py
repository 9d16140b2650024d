"""The entry point of the query binder (analyze.c: transformStmt)."""

from __future__ import annotations

from engine.common.depth import bounded_depth
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.logical import Root
from engine.sql.binder.handlers import query_binder
from engine.sql.binder.scope import BindContext, RowLock
from engine.sql.parser.nodes.statements import Query
from wire.dataclass import dataclass
from wire.types import pg_types as t


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A bound query: its plan, and the result description for Describe.

    locks: the row locks of its FOR UPDATE clauses. primary_keys: OIDs of the primary keys without which the query would
    be an error.
    """

    plan: Root
    columns: tuple[ResultColumn, ...]
    parameters: tuple[t.PgType, ...]
    locks: tuple[RowLock, ...] = ()
    primary_keys: tuple[int, ...] = ()


def bind_query(query: Query, context: BindContext) -> BoundQuery:
    """Bind a whole query. Positions in errors count from the beginning of `query.text`.

    Raises SqlError of every kind that PostgreSQL's analysis raises; FeatureNotSupported for features that Sluice lacks.
    """
    with bounded_depth():
        binder = query_binder(context)
        bound = binder.bind(query.tree, None)
        plan = binder.with_names_of_objects(Root(bound.columns, bound.plan, bound.requirement))
        columns = tuple(
            ResultColumn(name, column.type, *context.origins.get(column.id, (0, 0)))
            for name, column in zip(bound.names, bound.columns, strict=True)
        )
        locks, keys = tuple(context.row_locks), tuple(sorted(context.primary_keys))
        return BoundQuery(plan, columns, context.parameters.finish(), locks, keys)

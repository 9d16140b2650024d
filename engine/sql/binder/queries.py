"""The entrance of the query binder, and what kind of query a tree is (analyze.c: transformStmt)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from engine.catalog.model.objects import View
from engine.common import sql_type as st
from engine.common.depth import bounded_depth
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.expr import Column, Const, Expr
from engine.plan_ir.logical import Evaluator, Node, Root
from engine.sql.binder import object_names, select, set_operations, values_lists
from engine.sql.binder.blocks import Bound, refer
from engine.sql.binder.common_tables import bind_with, with_ctes
from engine.sql.binder.expressions import ExpressionBinder
from engine.sql.binder.scope import BindContext, RowLock, Scope
from engine.sql.binder.seen import SeenCatalog
from engine.sql.parser.nodes.statements import Query
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query bound: its plan, and what Describe tells of it. locks: what its FOR UPDATE asks for. primary_keys: OIDs of those
    without which it would be an error."""

    plan: Root
    columns: tuple[ResultColumn, ...]
    parameters: tuple[t.PgType, ...]
    locks: tuple[RowLock, ...] = ()
    primary_keys: tuple[int, ...] = ()


def bind_query(query: Query, context: BindContext) -> BoundQuery:
    """Bind a whole query. Positions in errors count from the beginning of `query.text`.

    Raises SqlError of every kind that PostgreSQL's analysis does; FeatureNotSupported for what is not here.
    """
    with bounded_depth():
        binder = QueryBinder(context)
        bound = binder.bind(query.tree, None)
        plan = binder.with_names_of_objects(Root(bound.columns, bound.plan, bound.requirement))
        columns = tuple(
            ResultColumn(name, column.type, *context.origins.get(column.id, (0, 0)))
            for name, column in zip(bound.names, bound.columns, strict=True)
        )
        locks, keys = tuple(context.row_locks), tuple(sorted(context.primary_keys))
        return BoundQuery(plan, columns, context.parameters.finish(), locks, keys)


class QueryBinder:
    """Binds queries of one statement, nested ones too.

    context: the statement's. expressions: its expression binder.
    """

    def __init__(self, context: BindContext) -> None:
        self.context = context
        self.expressions = ExpressionBinder(context)

    def with_names_of_objects(self, plan: Root) -> Root:
        """regtype, regclass and their kin leave the statement as names; the client is told their own type."""
        if not any(object_names.is_object(column.type.pg) for column in plan.columns):
            return plan
        named = {
            column.id: self.context.new_column(
                column.name, st.of(t.array_of(t.TEXT) if column.type.pg.is_array else t.TEXT)
            )
            for column in plan.columns
            if object_names.is_object(column.type.pg)
        }
        below = plan.input.columns
        emit = [self._name_of_object(plan.input, c) for c in below if c.id in named]
        columns = (*below, *(named[c.id] for c in below if c.id in named))
        evaluator = Evaluator(columns, plan.input, (*(refer(c) for c in below), *emit))
        return Root(tuple(named.get(c.id, c) for c in plan.columns), evaluator, plan.requirement)

    def _name_of_object(self, node: Node, column: Column) -> Expr:
        """A constant's name at once, others by the system catalog."""
        while not isinstance(node, Evaluator) and len(node.inputs()) == 1:
            node = node.inputs()[0]
        if isinstance(node, Evaluator) and column in node.columns:
            defined = node.emit[node.columns.index(column)]
            if isinstance(defined, Const) and not object_names.is_unnamed(defined) and not defined.type.pg.is_array:
                return self.expressions.as_output(defined)
        if object_names.is_unnamed(refer(column)):
            return object_names.name_of(self.expressions, refer(column), Scope(self.context, self))
        raise FeatureNotSupported(f"not supported: {column.type} of a value that is not constant")

    def bind_subquery(self, tree: exp.Expression, scope: Scope) -> tuple[Node, tuple[str, ...]]:
        """A query nested in an expression of `scope`; see `engine.sql.binder.scope.QueryBinder`."""
        bound = self.bind(tree, scope)
        return bound.subquery_plan(), bound.names

    def bind(self, tree: exp.Expression, parent: Scope | None, *, settle: bool = True) -> Bound:
        """Any query, in a scope of its own below `parent`.

        settle: whether output columns of type unknown become text; a branch of a set operation waits for the others.
        """
        scope = Scope(self.context, self, parent)
        with_ = tree.args.get("with_")
        ctes = bind_with(self, with_, scope) if with_ is not None else []
        bound = self._body(tree, scope, settle)
        return replace(bound, plan=with_ctes(ctes, bound.plan)) if ctes else bound

    def _body(self, tree: exp.Expression, scope: Scope, settle: bool) -> Bound:
        match tree:
            case exp.SetOperation():
                return set_operations.bind(self, tree, scope)
            case exp.Values():
                return values_lists.bind(self, tree, scope)
            case exp.Select():
                return select.bind(self, tree, scope, settle)
            case _:
                raise AssertionError(f"{type(tree).__name__} is no query")

    @contextmanager
    def as_seen_by(self, view: View) -> Iterator[None]:
        """While a view's definition is bound: its own search path, and what its names meant when it was created."""
        context = self.context
        kept = context.search_path, context.catalog
        context.search_path = view.search_path
        if view.sees:
            context.catalog = SeenCatalog(view, context.catalog)
        try:
            yield
        finally:
            context.search_path, context.catalog = kept

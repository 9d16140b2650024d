"""The binder of queries: it binds a query of any kind in a scope of its own, with the items of its WITH."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from engine.catalog.model.objects import View
from engine.plan_ir.expr import Column, Const, Expr, Node
from engine.plan_ir.logical import Evaluator, Root
from engine.sql.binder import object_names
from engine.sql.binder.blocks import Bound, FromItem, refer
from engine.sql.binder.expressions import ExpressionBinder
from engine.sql.binder.scope import BindContext, Scope
from engine.sql.binder.seen import SeenCatalog
from engine.sql.binder.with_items import WithItem, with_ctes
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QueryHandlers:
    """The handlers of the kinds of queries. The binder receives them as an argument, because each of them depends on
    the binder.

    bind_body: binds a SELECT, VALUES or set operation without its WITH; its last argument is whether output columns of
        type unknown become text.
    bind_with: binds the items of a WITH clause, which the scope knows afterwards.
    bind_from_item: binds one item of FROM, or one side of a JOIN.
    """

    bind_body: Callable[[QueryBinder, exp.Expression, Scope, bool], Bound]
    bind_with: Callable[[QueryBinder, exp.With, Scope], list[WithItem]]
    bind_from_item: Callable[[QueryBinder, exp.Expression, Scope], FromItem]


class QueryBinder:
    """The binder of a statement's queries, including nested ones.

    context: the statement's. expressions: its expression binder.
    """

    def __init__(self, context: BindContext, expressions: ExpressionBinder, handlers: QueryHandlers) -> None:
        self.context = context
        self.expressions = expressions
        self._handlers = handlers

    def with_names_of_objects(self, plan: Root) -> Root:
        """Replace output columns of type regtype, regclass and their kin by names. Clients receive their original
        type.
        """
        named = {
            column.id: self.context.new_column(column.name, object_names.shown_type(column.type))
            for column in plan.columns
            if object_names.shows_objects(column.type)
        }
        if not named:
            return plan
        # Nothing else passes, so that an aggregate of which pg_typeof needs the type only counts as unused.
        used = {c.id for c in plan.columns if c.id not in named} | {key.column.id for key in plan.requirement}
        kept = [c for c in plan.input.columns if c.id in used]
        objects = [c for c in plan.input.columns if c.id in named]
        emit = (*map(refer, kept), *(self._name_of_object(plan.input, c) for c in objects))
        evaluator = Evaluator((*kept, *(named[c.id] for c in objects)), plan.input, emit)
        return Root(tuple(named.get(c.id, c) for c in plan.columns), evaluator, plan.requirement)

    def _name_of_object(self, node: Node, column: Column) -> Expr:
        """Return the name of a column's object: at once for a constant, by a lookup in the system catalog for others."""
        while not isinstance(node, Evaluator) and len(node.inputs()) == 1:
            node = node.inputs()[0]
        if isinstance(node, Evaluator) and column in node.columns:
            defined = object_names.without_argument(node.emit[node.columns.index(column)])
            if isinstance(defined, Const) and not object_names.is_unnamed(defined) and not defined.type.pg.is_array:
                return self.expressions.as_output(defined)
        return object_names.with_object_names(self.expressions, refer(column), Scope(self.context, self))

    def bind_subquery(self, tree: exp.Expression, scope: Scope) -> tuple[Node, tuple[str, ...]]:
        """Bind a query nested in an expression of `scope`; see `engine.sql.binder.scope.QueryBinder`."""
        bound = self.bind(tree, scope)
        return bound.subquery_plan(), bound.names

    def bind(self, tree: exp.Expression, parent: Scope | None, *, settle: bool = True) -> Bound:
        """Bind any query, in a scope of its own below `parent`.

        settle: whether output columns of type unknown become text; a branch of a set operation waits for the others.
        """
        scope = Scope(self.context, self, parent)
        with_ = tree.args.get("with_")
        ctes = self._handlers.bind_with(self, with_, scope) if with_ is not None else []
        bound = self._handlers.bind_body(self, tree, scope, settle)
        return replace(bound, plan=with_ctes(ctes, bound.plan)) if ctes else bound

    def bind_from_item(self, item: exp.Expression, scope: Scope) -> FromItem:
        """Bind one side of a JOIN."""
        return self._handlers.bind_from_item(self, item, scope)

    @contextmanager
    def as_seen_by(self, view: View) -> Iterator[None]:
        """Use a view's own search path, and the meaning that its names had when it was created, while its definition
        is bound.
        """
        context = self.context
        kept = context.search_path, context.catalog, context.session_path
        context.session_path = context.session_path or context.search_path
        context.search_path = view.search_path
        if view.sees:
            context.catalog = SeenCatalog(view, context.catalog)
        try:
            yield
        finally:
            context.search_path, context.catalog, context.session_path = kept

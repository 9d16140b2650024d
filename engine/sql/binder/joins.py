"""JOIN: ON, USING and NATURAL, and the visibility of names (parse_clause.c: transformFromClauseItem)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from sqlglot import exp

from engine.common import sql_type as st
from engine.plan_ir.expr import And, Coalesce, Const, Expr, Node
from engine.plan_ir.logical import Evaluator, Join, JoinKind
from engine.sql.binder import from_items
from engine.sql.binder.blocks import pass_through, refer
from engine.sql.binder.levels import check_plain
from engine.sql.binder.scope import Rows, Scope, Source, SourceColumn, Sources
from engine.sql.binder.system_columns import names_in
from wire.errors import AmbiguousColumn, DuplicateColumn, UndefinedColumn
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.blocks import FromItem
    from engine.sql.binder.queries import QueryBinder

#: The joins whose right side may refer to the left one.
_LATERAL: Final = frozenset(("inner", "left", "cross"))


def bind(binder: QueryBinder, item: exp.Join, scope: Scope) -> FromItem:
    """Bind a join. Returns its plan and its sources: those of both sides, found by their relations' names, and one of
    the join's own columns, merged ones first.
    """
    kind = cast("JoinKind", item.args["kind"].lower())
    left, left_sources = binder.bind_from_item(item.args["left"], scope)
    with from_items.beside(scope, left_sources, allowed=kind in _LATERAL):
        right, right_sources = binder.bind_from_item(item.this, scope)
    from_items.check_names(left_sources, right_sources)
    joining = _Joining(binder, scope, kind, left_sources, right_sources)
    of_left = tuple(left_sources) if kind in ("right", "full") else ()
    of_right = tuple(right_sources)
    sources = left_sources
    sources.extend(of_right)
    names = _merged_names(item, joining)
    condition: Expr | None = None
    if names is not None:
        condition = joining.equal(names)
    elif item.args.get("on") is not None:
        condition = joining.on(item.args["on"], sources)
    if kind != "cross" and condition is None:
        condition = Const(st.of(t.BOOL), True)
    if kind in ("right", "full"):
        left = _with_presence_mark(scope, item, left, of_left, sources)
    if kind in ("left", "full"):
        right = _with_presence_mark(scope, item, right, of_right, sources)
    node = Join((*left.columns, *right.columns), kind, left, right, condition, from_items.refers(right, left))
    _finish(scope, joining, sources, item.args.get("alias"))
    return node, sources


def _with_presence_mark(scope: Scope, item: exp.Join, node: Node, side: Sequence[Source], sources: Sources) -> Node:
    """Add a presence mark to the nullable side of an outer join, if the statement names the whole row of a source
    there. The mark distinguishes a missing row from a row of nulls. sources: of both sides; the marked ones are
    replaced in it.
    """
    names = names_in(scope.context, item)
    named = [s for s in side if s.present is None and s.relation_visible and not s.scalar and s.name in names]
    if not named:
        return node
    mark = scope.context.new_column("present", st.of(t.BOOL))
    for source in named:
        sources.replace(source, replace(source, present=refer(mark)))
    return Evaluator((*node.columns, mark), node, (*pass_through(node.columns), Const(mark.type, True)))


def _merged_names(item: exp.Join, joining: _Joining) -> list[exp.Identifier | str] | None:
    """Return the names of the columns that USING or NATURAL merges; None without either."""
    if item.args.get("natural"):
        theirs = {c.name for c in joining.right}
        return list(dict.fromkeys(c.name for c in joining.left if c.name in theirs))
    using = item.args.get("using")
    return list(using) if using else None


class _Joining:
    """The state of a join whose condition is being bound."""

    def __init__(self, binder: QueryBinder, scope: Scope, kind: JoinKind, left: Sources, right: Sources) -> None:
        self._expressions = binder.expressions
        self._scope = scope
        self._kind = kind
        self.left = left.columns()
        self.right = right.columns()
        self.merged: list[SourceColumn] = []

    def on(self, tree: exp.Expression, sources: Sources) -> Expr:
        """Bind an ON condition, which sees the two sides and nothing else of this level. sources: of both."""
        kept = self._scope.sources
        self._scope.sources = sources
        try:
            with from_items.lateral(self._scope, active=False):
                bound = self._expressions.bind(tree, self._scope)
        finally:
            self._scope.sources = kept
        check_plain(bound, "JOIN conditions", self._scope)
        return self._expressions.as_boolean(bound, "JOIN/ON")

    def equal(self, names: Sequence[exp.Identifier | str]) -> Expr | None:
        """Return left.x = right.x AND ..., and record the merged columns."""
        tests: list[Expr] = []
        for written in names:
            name = written if isinstance(written, str) else written.name
            if any(c.name == name for c in self.merged):
                raise DuplicateColumn(f'column name "{name}" appears more than once in USING clause')
            left = _side(self.left, name, "left")
            right = _side(self.right, name, "right")
            for side in (left, right):
                self._scope.context.accesses.note(side)
            tests.append(self._expressions.operator("=", [left, right], -1))
            self.merged.append(SourceColumn(name, self._merge(left, right)))
        if not tests:
            return None
        return tests[0] if len(tests) == 1 else And(st.of(t.BOOL), tuple(tests))

    def _merge(self, left: Expr, right: Expr) -> Expr:
        """Return the merged column (buildMergedJoinVar)."""
        typ, (left_one, right_one) = self._expressions.unify([left, right], "JOIN/USING")
        if self._kind == "full":
            return Coalesce(typ, (left_one, right_one))
        if self._kind == "right":
            return right_one
        if self._kind == "inner" and left_one is not left and right_one is right:
            return right_one
        return left_one


def _side(columns: Sequence[SourceColumn], name: str, side: str) -> Expr:
    found = [c.expr for c in columns if c.name == name]
    if not found:
        message = f'column "{name}" specified in USING clause does not exist in {side} table'
        raise UndefinedColumn(message)
    if len(found) > 1:
        message = f'common column name "{name}" appears more than once in {side} table'
        raise AmbiguousColumn(message)
    return found[0]


def _finish(scope: Scope, joining: _Joining, sources: Sources, alias: exp.Expression | None) -> None:
    """Turn the sources of both sides into those of the join: its columns are found by their bare names, the sides by
    their relations' names.
    """
    merged = {c.name for c in joining.merged}
    columns = (*joining.left, *joining.right)
    if merged:
        columns = (*joining.merged, *(c for c in columns if c.name not in merged))
    sources.hide_columns()
    if alias is not None:
        named = Source(alias.this.name, tuple(joining.merged), columns_visible=False, rows=Rows(kind="a join"))
        from_items.check_names(sources, [named])
        sources.append(named)
        scope.add(named)
    # No `scope.add`: its columns are those of its sides, which the scope knows.
    sources.append(Source("", columns, relation_visible=False, join=True))

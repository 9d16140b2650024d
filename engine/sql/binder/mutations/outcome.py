"""The top of every such statement's plan, above its rows: CHECK constraints and WITH CHECK OPTION, then RETURNING.

Both are computed from the row as it is written, as further columns of MUTATE's input. They therefore see the stored
values, and no second query is needed. For rows that are rewritten unchanged, neither is computed: an expression of
RETURNING may fail for a row that the statement does not concern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import Constraint, Table
from engine.common import sql_type as st
from engine.plan_ir.expr import Case, Coalesce, Column, ColumnRef, Const, Expr, Node
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Evaluator, Forbidden, Mutate, MutateKind, Ordering
from engine.sql.binder import object_names, select
from engine.sql.binder.blocks import emit_column, pass_through, refer
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.target import Target, checks, row_source
from engine.sql.binder.scope import Scope, Source
from engine.sql.binder.system_columns import returned_system_columns
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, SqlSyntaxError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


@dataclass(frozen=True, slots=True)
class Change:
    """A partly bound statement: `node` returns the rows; the other fields are `Mutate`'s.

    alias: the alias of the target. others: further FROM items that RETURNING may refer to. inserted: of ON CONFLICT DO
    UPDATE, whether a row is new.
    """

    kind: MutateKind
    target: Target
    node: Node
    rows: tuple[Column, ...]
    alias: str | None = None
    others: Sequence[Source] = ()
    changed: Column | None = None
    dropped: Column | None = None
    twice: Column | None = None
    again: tuple[Column, ...] = ()
    located: Node | None = None
    targets: tuple[Column, ...] = ()
    keys: tuple[Constraint, ...] = ()
    foreign_keys: tuple[Constraint, ...] = ()
    whole: bool = False
    filled: tuple[tuple[Column, int], ...] = ()
    requirement: Ordering = ()
    numbered: Column | None = None
    arrival: Column | None = None
    forbidden: Forbidden | None = None
    before: tuple[tuple[str, Column], ...] = ()
    fresh: Column | None = None
    inserted: Column | None = None

    @property
    def table(self) -> Table:
        return self.target.table


def complete_change(
    binder: QueryBinder, change: Change, returning: Sequence[exp.Expression], scope: Scope
) -> tuple[Mutate, tuple[str, ...]]:
    """Return the MUTATE, and the names of RETURNING's columns. change: with its generated columns
    (`generated.compute_generated`).
    """
    checked = (
        [] if change.kind == "delete" else checks(binder, change.table, row_source(change.table, None, change.rows))
    )
    through = [] if change.kind == "delete" else change.target.view_checks(change.rows)
    names, returned = _bind_returning(binder, change, returning, scope)
    shown = _filled_outputs(change, [condition for _, condition in (*checked, *through)], returned)
    # Unlike a constraint, WITH CHECK OPTION is also violated if it is unknown.
    tests = [*(holds(condition) for _, condition in checked), *(_is_true(condition) for _, condition in through)]
    checked += through
    truth = [_unless_kept(change, test) for test in tests]
    check_columns = tuple(binder.context.new_column(constraint.name, st.of(t.BOOL)) for constraint, _ in checked)
    columns = tuple(emit_column(binder.context, name, expr) for name, expr in zip(names, returned, strict=True))
    kept = _columns_above(change, bool(returning))
    top = Evaluator(
        (*kept, *check_columns, *columns),
        change.node,
        (*pass_through(kept), *truth, *(_unless_kept(change, expr) for expr in returned)),
    )
    plan = Mutate(
        columns,
        change.kind,
        change.table,
        top,
        change.rows,
        tuple((constraint, column) for (constraint, _), column in zip(checked, check_columns, strict=True)),
        changed=change.changed,
        dropped=change.dropped,
        twice=change.twice,
        again=change.again,
        located=change.located,
        targets=change.targets,
        keys=change.keys,
        foreign_keys=change.foreign_keys,
        whole=change.whole,
        filled=change.filled,
        passed=tuple((columns[i], column) for i, column in shown),
        requirement=change.requirement,
        numbered=change.numbered if returning else None,
        arrival=change.arrival,
        forbidden=change.forbidden,
        before=change.before,
        fresh=change.fresh,
    )
    return plan, tuple(names)


def with_names_of_objects(binder: QueryBinder, plan: Mutate) -> Mutate:
    """Replace RETURNING's columns of type regtype, regclass and their kin by names, as
    `QueryBinder.with_names_of_objects` does. plan: a MUTATE of `complete_change`.
    """
    top = plan.input
    named: dict[int, Column] = {}
    for column in plan.columns:
        if object_names.shows_objects(column.type):
            named[column.id] = binder.context.new_column(column.name, object_names.shown_type(column.type))
    if not named or not isinstance(top, Evaluator):
        return plan
    scope = Scope(binder.context, binder)
    emit = [
        object_names.with_object_names(binder.expressions, expr, scope) if column.id in named else expr
        for column, expr in zip(top.columns, top.emit, strict=True)
    ]
    columns = tuple(named.get(column.id, column) for column in top.columns)
    shown = tuple(named.get(column.id, column) for column in plan.columns)
    return replace(plan, columns=shown, input=replace(top, columns=columns, emit=tuple(emit)))


def _columns_above(change: Change, returns: bool) -> tuple[Column, ...]:
    """Return the columns of the rows' node that are needed above it: rows, marks, sort keys; each once."""
    wanted = [*change.rows, *(c for c in (change.changed, change.dropped, change.twice, change.fresh) if c is not None)]
    wanted += change.again
    wanted += [column for _, column in change.before]
    wanted += [key.column for key in change.requirement]
    if returns and change.numbered is not None:
        wanted.append(change.numbered)
    return tuple({column.id: column for column in wanted}.values())


def _bind_returning(
    binder: QueryBinder, change: Change, returning: Sequence[exp.Expression], scope: Scope
) -> tuple[list[str], list[Expr]]:
    if not returning:
        return [], []
    inner = Scope(binder.context, binder, scope)
    own = change.target.row(change.alias, change.rows)
    own.system = returned_system_columns(change.kind, change.table, change.inserted)
    accesses = binder.context.accesses
    accesses.offer_system_columns(accesses.target(change.table), (column.expr for column in own.system))
    for source in (own, *change.others):
        inner.add(source)
        inner.sources.append(source)
    targets = select.select_list(binder, exp.Select(expressions=list(returning)), inner)
    if not targets:
        raise SqlSyntaxError("RETURNING must have at least one column", position=cursor(position(returning[0])))
    for target in targets:
        check_plain(target.expr, "RETURNING", inner)
        target.expr = binder.expressions.settle(target.expr)
    return [x.name for x in targets], [x.expr for x in targets]


def _filled_outputs(change: Change, conditions: Sequence[Expr], returned: Sequence[Expr]) -> list[tuple[int, Column]]:
    """Return the indexes of RETURNING's expressions that get their values only when rows are written, and their
    columns.
    """
    filled = {column for column, _ in change.filled}
    if not filled:
        return []
    shown = [(i, e.column) for i, e in enumerate(returned) if isinstance(e, ColumnRef) and e.column in filled]
    plain = {i for i, _ in shown}
    computed = [*conditions, *(e for i, e in enumerate(returned) if i not in plain)]
    if any(column in filled for expr in computed for column in references(expr)):
        raise FeatureNotSupported(
            "not supported: CHECK or RETURNING of an expression with a column that INSERT ... SELECT or UPDATE numbers"
        )
    return shown


def holds(condition: Expr) -> Expr:
    """Return a condition that is true unless a check is violated: a check that is unknown is not violated."""
    return Coalesce(condition.type, (condition, Const(condition.type, True)))


def _is_true(condition: Expr) -> Expr:
    return Coalesce(condition.type, (condition, Const(condition.type, False)))


def _unless_kept(change: Change, expr: Expr) -> Expr:
    """Return the expression for rows that change, null for others."""
    if change.changed is None:
        return expr
    return Case(expr.type, ((refer(change.changed), expr),), None)

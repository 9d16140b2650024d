"""UPDATE and DELETE: matching rows are changed or dropped, and the other rows of their files are rewritten unchanged.

There are two forms. Where the condition and the new values can be computed from each row alone, the files are read once
and every row is marked as matching or not. With FROM or USING, or with a subquery among the computed expressions (which
must not run for rows that do not match, because it could fail there), the matching rows are found first, by file and
row number, and joined to the files' rows. If several rows of FROM match one row, one of them is taken, as in
PostgreSQL.

The files to rewrite are found beforehand (`Mutate.located`), by the condition alone. A condition with a volatile
function may give another answer when it is evaluated again; in that case all files are rewritten.

Source: analyze.c, transformUpdateStmt, transformUpdateTargetList, transformDeleteStmt; parse_target.c,
transformAssignedExpr.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import Constraint, Table, TableColumn
from engine.common import sql_type as st
from engine.plan_ir.expr import And, Case, Coalesce, Column, Const, Expr, IsNull, Node, Subquery, SubqueryKind
from engine.plan_ir.logical import Aggregator, DistinctOn, Evaluator, Join, Mutate, OrderKey
from engine.plan_ir.predicates import has_subquery
from engine.plan_ir.volatility import is_volatile, plan_is_volatile
from engine.sql.binder import from_clause, from_items
from engine.sql.binder.blocks import filter_rows, pass_through, refer, row_items
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.generated import compute_generated, forbid_value, with_generated
from engine.sql.binder.mutations.outcome import Change, complete_change
from engine.sql.binder.mutations.parts import forbid_default, with_part
from engine.sql.binder.mutations.target import (
    Rows,
    Target,
    assign,
    default,
    foreign_keys,
    is_default,
    keys,
    next_value,
    read,
    row_columns,
)
from engine.sql.binder.mutations.updatable_views import find_target
from engine.sql.binder.scope import Scope, Source, Sources
from engine.sql.binder.values import bind_row_items
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes.statements import Assignment, Delete, MutationStatement, Update
from wire.errors import FeatureNotSupported, GeneratedAlways, SqlSyntaxError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_BOOL = st.of(t.BOOL)
#: New values by the number of their column.
Values = Mapping[int, Expr]


@dataclass(slots=True)
class _Matching:
    """The bound parts of a statement before one of its two forms is planned.

    read: the table's rows as the statement's expressions refer to them. others: the items of FROM.
    joined: the target's rows, joined with these. own: the condition for rows of the target, unless `joined` already
        applies it.
    """

    target: Target
    alias: str | None
    read: Rows
    joined: Node
    scope: Scope
    others: list[Source] = field(default_factory=list)
    own: Expr | None = None
    condition: Expr | None = None

    @property
    def table(self) -> Table:
        return self.target.table

    @property
    def is_joined(self) -> bool:
        return self.joined is not self.read.reader


def bind_update(binder: QueryBinder, statement: Update, scope: Scope) -> tuple[Mutate, tuple[str, ...]]:
    matching = _bind_matching(binder, statement, "update", statement.from_, scope)
    values = assignments(binder, matching.target, statement.assignments, matching.scope)
    matching.condition = _condition(binder, statement.where, matching)
    sequences = _next_values(matching.table, values)
    values |= {number: Const(values[number].type, None) for number in sequences}
    change = _rewrite_rows(binder, matching, values, _needs_join(matching, values, statement.returning))
    if sequences:
        pairs = zip(matching.table.written_columns, change.rows, strict=True)
        filled = tuple((column, sequences[c.number]) for c, column in pairs if c.number in sequences)
        change = replace(change, filled=filled, fresh=change.changed)
    return complete_change(binder, compute_generated(binder, change), statement.returning, scope)


def bind_delete(binder: QueryBinder, statement: Delete, scope: Scope) -> tuple[Mutate, tuple[str, ...]]:
    matching = _bind_matching(binder, statement, "delete", statement.using, scope)
    matching.condition = _condition(binder, statement.where, matching)
    change = _rewrite_rows(binder, matching, {}, _needs_join(matching, {}, statement.returning), deletes=True)
    return complete_change(binder, change, statement.returning, scope)


# -- clauses ----------------------------------------------------------------------------------------------------------


def _bind_matching(
    binder: QueryBinder, statement: MutationStatement, verb: str, from_: exp.Expression | None, outer: Scope
) -> _Matching:
    target = find_target(binder, statement.target, verb)
    alias = statement.target.args.get("alias")
    shown = alias.this.name if alias is not None else None
    rows = read(binder, target.table)
    scope = Scope(binder.context, binder, outer)
    source = target.row(shown, rows.columns)
    scope.add(source)
    visible, own = target.visible(rows.reader, rows.columns)
    matching = _Matching(target, shown, rows, visible, scope, own=own)
    if from_ is not None:
        matching.joined = from_items.make_join(visible, from_clause.bind(binder, from_, scope), "cross")
        from_items.check_names(Sources([source]), scope.sources)
        matching.others = list(scope.sources)
    scope.sources = Sources([source, *matching.others])
    return matching


def _condition(binder: QueryBinder, where: exp.Expression | None, matching: _Matching) -> Expr | None:
    """Return the statement's condition combined with the target's own."""
    if where is None:
        return matching.own
    bound = binder.expressions.bind(where, matching.scope)
    check_plain(bound, "WHERE", matching.scope)
    asked = binder.expressions.as_boolean(bound, "WHERE")
    return asked if matching.own is None else And(asked.type, (matching.own, asked))


def assignments(
    binder: QueryBinder, target: Target, written: Sequence[Assignment], scope: Scope, what: str = "UPDATE"
) -> dict[int, Expr]:
    """Bind the values of SET, by the numbers of their columns. scope: its first source is the existing row."""
    found: dict[int, Expr] = {}
    begun: set[str] = set()
    whole: set[str] = set()
    named: list[TableColumn] = []
    for assignment in written:
        columns = [target.find_column(name) for name in assignment.columns]
        named += columns
        parts = assignment.parts or ((),) * len(columns)
        places = list(zip(assignment.columns, parts, strict=True))
        for written_value, place in zip(_written_values(assignment, len(columns)), places, strict=False):
            forbid_default(written_value, place)
        for column, place, value in zip(columns, places, _values(binder, assignment, columns, scope), strict=True):
            part = place[1]
            # Several parts of one column may be assigned, one after another.
            if column.name in whole or (column.name in begun and not part):
                raise SqlSyntaxError(f'multiple assignments to same column "{column.name}"')
            begun.add(column.name)
            if value is not None:
                check_plain(value, what, scope)
                _forbid_identity(column)
            if part and value is not None:
                base = found.get(column.number) or next(iter(scope.sources)).columns[target.columns.index(column)].expr
                found[column.number] = with_part(binder, column, base, place, value, scope)
                continue
            whole.add(column.name)
            found[column.number] = default(binder, column) if value is None else assign(binder, value, column)
    target.update(named)
    return found


def _next_values(table: Table, values: Values) -> dict[int, int]:
    """Return the columns, by number, whose new value is the next value of a sequence, each with the sequence. Each row
    gets its own value when it is written.
    """
    found = {}
    for column in table.columns:
        sequence = next_value(values.get(column.number), column)
        if sequence is not None:
            found[column.number] = sequence
    return found


def _written_values(assignment: Assignment, columns: int) -> Sequence[exp.Expression]:
    """Return the values as written, if each column has one of its own."""
    if isinstance(assignment.value, exp.Tuple) and assignment.row:
        return assignment.value.expressions
    return [assignment.value] if columns == 1 else []


def _forbid_identity(column: TableColumn) -> None:
    forbid_value(column, f'column "{column.name}" can only be updated to DEFAULT')
    if column.identity == "always":
        raise GeneratedAlways(
            f'column "{column.name}" can only be updated to DEFAULT',
            detail=f'Column "{column.name}" is an identity column defined as GENERATED ALWAYS.',
        )


def _values(
    binder: QueryBinder, assignment: Assignment, columns: Sequence[TableColumn], scope: Scope
) -> list[Expr | None]:
    """Bind as many values as columns; None for DEFAULT."""
    value = assignment.value
    if not assignment.row:
        return [None if is_default(value) else binder.expressions.bind(value, scope)]
    if isinstance(value, exp.Subquery):
        items = _from_query(value, scope)
    elif isinstance(value, exp.Tuple):
        items = _items(binder, value, scope)
    else:
        bound = binder.expressions.bind(value, scope)
        if not bound.type.pg.is_row:
            message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
            raise FeatureNotSupported(message, position=cursor(bound.position))
        items = list(row_items(bound))
    if len(items) != len(columns):
        at = cursor(position(value))
        raise SqlSyntaxError("number of columns does not match number of values", position=at)
    return items


def _items(binder: QueryBinder, value: exp.Tuple, scope: Scope) -> list[Expr | None]:
    if not any(is_default(item) for item in value.expressions):
        return list(bind_row_items(binder.expressions, value, scope))
    return [None if is_default(item) else binder.expressions.bind(item, scope) for item in value.expressions]


def _from_query(value: exp.Subquery, scope: Scope) -> list[Expr | None]:
    """Bind (a, b) = (SELECT ...) as a scalar subquery for each column, over the same rows."""
    query: exp.Expression = value
    while isinstance(query, exp.Subquery):
        query = query.this
    plan, _ = scope.bind_subquery(query)
    if len(plan.columns) > 1 and plan_is_volatile(plan):
        raise FeatureNotSupported(
            "not supported: a volatile sub-SELECT for several columns", position=cursor(position(value))
        )
    # Each subquery has a plan with columns of its own, because passes track uses of columns across the whole statement.
    plans = [plan, *(scope.bind_subquery(query)[0] for _ in plan.columns[1:])]
    return [_scalar(own, own.columns[i], position(value)) for i, own in enumerate(plans)]


def _scalar(plan: Node, column: Column, at: int) -> Expr:
    one = Evaluator((column,), plan, (refer(column),))
    return Subquery(column.type, SubqueryKind.SCALAR, one, position=at)


# -- the two forms ----------------------------------------------------------------------------------------------------


def _needs_join(matching: _Matching, values: Values, returning: Sequence[exp.Expression]) -> bool:
    if matching.is_joined:
        return True
    if any(map(has_subquery, values.values())):
        return True
    shown = next(iter(matching.scope.sources)).columns if returning and matching.target.is_view else ()
    if any(has_subquery(column.expr) for column in shown):
        return True
    return any(tree.find(exp.Subquery, exp.Exists, exp.Select) is not None for tree in returning)


def _rewrite_rows(
    binder: QueryBinder, matching: _Matching, values: Values, joins: bool, *, deletes: bool = False
) -> Change:
    form = _join_matches if joins else _by_row
    node, old, new, changed, targets = form(binder, matching, values)
    rows = row_columns(binder, matching.table)
    emit = [
        Case(declared.type, ((refer(changed), new[declared.number]),), refer(column))
        if declared.number in new
        else refer(column)
        for declared, column in zip(matching.table.written_columns, old, strict=True)
    ]
    others = tuple(c for c in node.columns if c not in old)
    written = with_generated(matching.table, (c.name for c in matching.table.columns if c.number in values))
    touched = tuple(key for key in keys(matching.table) if written & set(key.columns))
    kept = [] if deletes else [(c.name, column) for c, column in _of_keys(matching.table, old, touched)]
    before = tuple((name, binder.context.new_column(name, column.type)) for name, column in kept)
    named = tuple(key for key in foreign_keys(matching.table) if written & set(key.columns))
    return Change(
        "delete" if deletes else "update",
        matching.target,
        Evaluator(
            (*rows, *others, *(column for _, column in before)),
            node,
            (*emit, *pass_through(others), *(refer(column) for _, column in kept)),
        ),
        rows,
        matching.alias,
        matching.others,
        changed=changed,
        dropped=changed if deletes else None,
        located=_locate_files(matching),
        targets=targets,
        keys=touched,
        foreign_keys=named,
        before=before,
    )


def _of_keys(
    table: Table, columns: Sequence[Column], touched: Sequence[Constraint]
) -> Iterator[tuple[TableColumn, Column]]:
    """Yield the columns of these keys. columns: those in which a row is written."""
    names = {name for key in touched for name in key.columns}
    yield from ((c, column) for c, column in zip(table.written_columns, columns, strict=True) if c.name in names)


_Form = tuple[Node, tuple[Column, ...], Values, Column, tuple[Column, ...]]


def _by_row(binder: QueryBinder, matching: _Matching, values: Values) -> _Form:
    """Plan the form in which every row of the files is marked as matching or not."""
    rows = matching.read
    changed = binder.context.new_column("changed", _BOOL)
    met = matching.condition
    truth: Expr = Const(_BOOL, True) if met is None else Coalesce(_BOOL, (met, Const(_BOOL, False)))
    node = Evaluator((*rows.columns, changed), rows.reader, (*pass_through(rows.columns), truth))
    return node, rows.columns, values, changed, (rows.file, *rows.columns)


def _join_matches(binder: QueryBinder, matching: _Matching, values: Values) -> _Form:
    """Plan the form in which the matching rows are found first and joined to all rows of the files."""
    context, found = binder.context, matching.read
    columns = {number: context.new_column("value", value.type) for number, value in values.items()}
    offered = [c for c in matching.joined.columns if c not in (*found.columns, found.file, found.row)]
    matched: Node = _met(matching)
    matched = Evaluator(
        (found.file, found.row, *offered, *columns.values()),
        matched,
        (*pass_through((found.file, found.row, *offered)), *values.values()),
    )
    if matching.is_joined:
        place = (found.file, found.row)
        matched = DistinctOn(matched.columns, matched, place, tuple(OrderKey(c) for c in place))
    every = read(binder, matching.table)
    node = Join(
        (*every.reader.columns, *matched.columns), "left", every.reader, matched, same_place(binder, every, found)
    )
    changed = context.new_column("changed", _BOOL)
    kept = (*every.columns, *offered, *columns.values())
    top = Evaluator((*kept, changed), node, (*pass_through(kept), IsNull(_BOOL, refer(found.row), negated=True)))
    new = {number: refer(column) for number, column in columns.items()}
    return top, every.columns, new, changed, (every.file, *every.columns)


def same_place(binder: QueryBinder, a: Rows, b: Rows) -> Expr:
    """Return the condition that two readers of the table refer to the same row."""
    pairs = ((a.file, b.file), (a.row, b.row))
    return And(_BOOL, tuple(binder.expressions.operator("=", [refer(x), refer(y)], -1) for x, y in pairs))


def _met(matching: _Matching) -> Node:
    return matching.joined if matching.condition is None else filter_rows(matching.joined, matching.condition)


def _locate_files(matching: _Matching) -> Node | None:
    """Return a plan of the files that contain matching rows; None if the condition may give another answer when it is
    evaluated again.
    """
    if matching.condition is not None and is_volatile(matching.condition):
        return None
    if plan_is_volatile(matching.joined):
        return None
    file = matching.read.file
    return Aggregator((file,), Evaluator((file,), _met(matching), (refer(file),)), (file,))

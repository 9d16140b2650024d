"""MERGE: pairs of rows of the target and of a source decide which of the target's rows change and which source rows
are inserted (parse_merge.c: transformMergeStmt; nodeModifyTable.c: ExecMerge).

The plan is the union of two parts. The part for existing rows reads the files that hold matched rows and joins them, by
file and row number, to the pairs whose first applicable WHEN MATCHED clause updates or deletes; two such pairs for one
row are 21000. The part for new rows has the source rows that match no row of the target, with the values of their first
applicable WHEN NOT MATCHED clause. Both parts read the source, so it must not be volatile. Values of sequences for
columns to which an INSERT gives no value are assigned as rows are written (`Mutate.filled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.catalog.model import acl
from engine.catalog.model.objects import Table
from engine.common import sql_type as st
from engine.plan_ir.expr import Case, Coalesce, Column, Const, Expr, InList, IsNull, Node
from engine.plan_ir.logical import Aggregator, Evaluator, Join, Mutate, SetOperation, Window
from engine.plan_ir.volatility import plan_is_volatile
from engine.sql.binder import from_clause
from engine.sql.binder.blocks import pass_through, refer
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.generated import compute_generated, with_generated
from engine.sql.binder.mutations.insert import cells, filled_columns, unfilled_columns, whole_row
from engine.sql.binder.mutations.outcome import Change, complete_change
from engine.sql.binder.mutations.rewrite import assignments, same_place
from engine.sql.binder.mutations.target import (
    Rows,
    Target,
    find_table,
    foreign_keys,
    keys,
    read,
    row_columns,
)
from engine.sql.binder.numbers import row_number
from engine.sql.binder.scope import Scope, Sources
from engine.sql.parser.nodes.statements import Merge, MergeWhen
from wire.dataclass import dataclass
from wire.errors import DuplicateAlias, FeatureNotSupported, SqlSyntaxError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_BOOL = st.of(t.BOOL)
_INT4 = st.of(t.INT4)
_INT8 = st.of(t.INT8)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The target and the source, bound with columns of their own each time."""

    rows: Rows
    source: Node
    scope: Scope
    source_scope: Scope
    condition: Expr


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows to be written, with marks of what happens to each."""

    node: Node
    rows: tuple[Column, ...]
    changed: Column
    dropped: Column
    twice: Column
    fresh: Column
    filled: tuple[tuple[Column, int], ...] = ()


def bind(binder: QueryBinder, statement: Merge, outer: Scope) -> tuple[Mutate, tuple[str, ...]]:
    target = find_table(binder, statement.target, "merge")
    table = target.table
    _check_reachable(statement.whens)
    if any(when.action == "delete" for when in statement.whens):
        target.require(acl.DELETE)
    matched = [when for when in statement.whens if when.matched]
    missed = [when for when in statement.whens if not when.matched]
    parts: list[_Part] = []
    located: Node | None = None
    targets: tuple[Column, ...] = ()
    written: set[str] = set()
    if any(when.action != "nothing" for when in matched):
        part, located, targets, written = _there(binder, target, statement, matched, outer)
        parts.append(part)
        written = with_generated(table, written)
    inserts = any(when.action == "insert" for when in missed)
    if inserts:
        parts.append(_new(binder, target, statement, missed, outer))
    if not parts:
        raise FeatureNotSupported("not supported: MERGE that does nothing")
    if any(plan_is_volatile(part.node) for part in parts):
        raise FeatureNotSupported("not supported: MERGE with volatile functions")
    whole = _unite_parts(binder, table, parts)
    change = Change(
        "merge",
        target,
        whole.node,
        whole.rows,
        changed=whole.changed,
        dropped=whole.dropped,
        twice=whole.twice,
        located=located,
        targets=targets,
        keys=tuple(key for key in keys(table) if inserts or written & set(key.columns)),
        foreign_keys=tuple(key for key in foreign_keys(table) if inserts or written & set(key.columns)),
        whole=inserts,
        filled=whole.filled,
        fresh=whole.fresh if whole.filled else None,
    )
    return complete_change(binder, compute_generated(binder, change), (), outer)


def _check_reachable(whens: Sequence[MergeWhen]) -> None:
    for matched in (True, False):
        mine = [when for when in whens if when.matched is matched]
        if any(when.condition is None for when in mine[:-1]):
            raise SqlSyntaxError("unreachable WHEN clause specified after unconditional WHEN clause")


def _sides(binder: QueryBinder, target: Target, statement: Merge, outer: Scope) -> _Sides:
    rows = read(binder, target.table)
    source_scope = Scope(binder.context, binder, outer)
    node, offered = from_clause.bind_item(binder, statement.source, source_scope)
    source_scope.sources = Sources(offered)
    alias = statement.target.args.get("alias")
    there = target.row(alias.this.name if alias is not None else None, rows.columns)
    if any(item.name == there.name and item.relation_visible and not item.join for item in offered):
        raise DuplicateAlias(
            f'name "{there.name}" specified more than once',
            detail="The name is used both as MERGE target table and data source.",
        )
    source_scope.known.append(there)
    scope = Scope(binder.context, binder, outer)
    scope.add(there)
    for item in offered:
        scope.add(item)
    scope.sources = Sources([there, *offered])
    bound = binder.expressions.bind(statement.condition, scope)
    check_plain(bound, "JOIN conditions", scope)
    condition = binder.expressions.as_boolean(bound, "JOIN/ON")
    return _Sides(rows, node, scope, source_scope, condition)


def _choose_when(binder: QueryBinder, whens: Sequence[MergeWhen], scope: Scope) -> Expr:
    """Return the number of the first WHEN clause that applies, from 1; 0 for none."""
    cases = []
    for number, when in enumerate(whens, 1):
        met: Expr = Const(_BOOL, True)
        if when.condition is not None:
            bound = binder.expressions.bind(when.condition, scope)
            check_plain(bound, "MERGE WHEN conditions", scope)
            met = Coalesce(_BOOL, (binder.expressions.as_boolean(bound, "WHEN"), Const(_BOOL, False)))
        cases.append((met, Const(_INT4, number)))
    return Case(_INT4, tuple(cases), Const(_INT4, 0))


def _one_of(choice: Column, whens: Sequence[MergeWhen], actions: Sequence[str]) -> Expr:
    numbers = tuple(Const(_INT4, n) for n, when in enumerate(whens, 1) if when.action in actions)
    return InList(_BOOL, refer(choice), numbers) if numbers else Const(_BOOL, False)


def _per_choice(choice: Column, values: Sequence[tuple[int, Expr]], otherwise: Expr | None, typ: st.SqlType) -> Expr:
    cases = tuple((InList(_BOOL, refer(choice), (Const(_INT4, number),)), value) for number, value in values)
    return Case(typ, cases, otherwise)


# -- rows that are there ----------------------------------------------------------------------------------------------


def _there(
    binder: QueryBinder, target: Target, statement: Merge, whens: Sequence[MergeWhen], outer: Scope
) -> tuple[_Part, Node, tuple[Column, ...], set[str]]:
    """Plan the existing rows. Returns the part, the plan of the files that it rewrites, columns that identify the
    reader of these files, and the names of the columns that are written.
    """
    context = binder.context
    table, sides = target.table, _sides(binder, target, statement, outer)
    found = sides.rows
    joined: Node = Join(
        (*found.reader.columns, *sides.source.columns), "inner", found.reader, sides.source, sides.condition
    )
    choice = context.new_column("choice", _INT4)
    told = Evaluator(
        (*joined.columns, choice), joined, (*pass_through(joined.columns), _choose_when(binder, whens, sides.scope))
    )
    acts = _one_of(choice, whens, ("update", "delete"))
    met = Evaluator(told.columns, told, pass_through(told.columns), acts)
    values = {
        number: assignments(binder, target, when.assignments, sides.scope, "MERGE")
        for number, when in enumerate(whens, 1)
        if when.action == "update"
    }
    touched = sorted({column for assigned in values.values() for column in assigned})
    declared = {column.number: column for column in table.columns}
    old = {c.number: column for c, column in zip(table.written_columns, found.columns, strict=True)}
    new = {number: context.new_column(declared[number].name, declared[number].type) for number in touched}
    gone, again = context.new_column("gone", _BOOL), context.new_column("again", _INT8)
    emit = [
        _per_choice(
            choice,
            [(n, assigned[number]) for n, assigned in values.items() if number in assigned],
            refer(old[number]),
            declared[number].type,
        )
        for number in touched
    ]
    place = (found.file, found.row)
    pairs = Evaluator(
        (*place, *new.values(), gone), met, (*pass_through(place), *emit, _one_of(choice, whens, ("delete",)))
    )
    counted = Window((*pairs.columns, again), pairs, (row_number(binder, pass_through(place)),))
    every = read(binder, table)
    node = Join(
        (*every.reader.columns, *counted.columns), "left", every.reader, counted, same_place(binder, every, found)
    )
    part = _rewrite_rows(binder, table, node, every, found, new, gone, again)
    located = Aggregator((found.file,), Evaluator((found.file,), met, (refer(found.file),)), (found.file,))
    return part, located, (every.file, *every.columns), {declared[number].name for number in touched}


def _rewrite_rows(
    binder: QueryBinder,
    table: Table,
    node: Node,
    every: Rows,
    found: Rows,
    new: dict[int, Column],
    gone: Column,
    again: Column,
) -> _Part:
    hit = IsNull(_BOOL, refer(found.row), negated=True)
    values: list[Expr] = [
        Case(declared.type, ((hit, refer(new[declared.number])),), refer(column))
        if declared.number in new
        else refer(column)
        for declared, column in zip(table.written_columns, every.columns, strict=True)
    ]
    more = binder.expressions.operator(">", [refer(again), Const(_INT8, 1)], -1)
    never = Const(_BOOL, False)
    marks = (hit, Coalesce(_BOOL, (refer(gone), never)), Coalesce(_BOOL, (more, never)), never)
    return _part(binder, table, node, values, marks)


def _part(binder: QueryBinder, table: Table, node: Node, values: Sequence[Expr], marks: Sequence[Expr]) -> _Part:
    rows = row_columns(binder, table)
    told = _new_marks(binder)
    return _Part(Evaluator((*rows, *told), node, (*values, *marks)), rows, *told)


def _new_marks(binder: QueryBinder) -> tuple[Column, Column, Column, Column]:
    """Return new columns for a part's marks."""
    new = binder.context.new_column
    return new("changed", _BOOL), new("dropped", _BOOL), new("twice", _BOOL), new("fresh", _BOOL)


# -- rows that are new ------------------------------------------------------------------------------------------------


def _new(binder: QueryBinder, target: Target, statement: Merge, whens: Sequence[MergeWhen], outer: Scope) -> _Part:
    table, sides = target.table, _sides(binder, target, statement, outer)
    columns = (*sides.source.columns, *sides.rows.reader.columns)
    joined = Join(columns, "left", sides.source, sides.rows.reader, sides.condition)
    missed = Evaluator(columns, joined, pass_through(columns), IsNull(_BOOL, refer(sides.rows.row)))
    choice = binder.context.new_column("choice", _INT4)
    told = Evaluator(
        (*columns, choice), missed, (*pass_through(columns), _choose_when(binder, whens, sides.source_scope))
    )
    kept = Evaluator(told.columns, told, pass_through(told.columns), _one_of(choice, whens, ("insert",)))
    given = {
        n: _bind_insert(binder, target, when, sides.source_scope)
        for n, when in enumerate(whens, 1)
        if when.action == "insert"
    }
    left = {n: filled_columns(table, sides.rows.columns, row) for n, row in given.items()}
    (filled, *others) = left.values()
    if any(other != filled for other in others):
        raise FeatureNotSupported("not supported: MERGE that numbers the rows of some of its INSERTs only")
    later = unfilled_columns(table, sides.rows.columns, filled)
    rows = {n: whole_row(binder, table, {**later, **row}) for n, row in given.items()}
    values = [
        _per_choice(choice, [(n, row[i]) for n, row in rows.items()], None, column.type)
        for i, column in enumerate(table.written_columns)
    ]
    yes, no = Const(_BOOL, True), Const(_BOOL, False)
    part = _part(binder, table, kept, values, (yes, no, no, yes))
    written_as = dict(zip(sides.rows.columns, part.rows, strict=True))
    return replace(part, filled=tuple((written_as[column], sequence) for column, sequence in filled))


def _bind_insert(binder: QueryBinder, target: Target, when: MergeWhen, scope: Scope) -> dict[int, Expr]:
    """Bind the values of an INSERT's row, by the columns' numbers."""
    if when.values is None:
        target.insert(())
        return {}
    columns = target.columns if when.columns is None else target.find_columns(when.columns, when.parts)
    target.insert(columns)
    row = cells(binder, when, columns, when.values, scope)
    for value in row.values():
        check_plain(value, "VALUES", scope)
    return row


# -- both -------------------------------------------------------------------------------------------------------------


def _unite_parts(binder: QueryBinder, table: Table, parts: Sequence[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    rows, told = row_columns(binder, table), _new_marks(binder)
    node = SetOperation((*rows, *told), "union", True, first.node, second.node)
    written_as = dict(zip(second.rows, rows, strict=True))
    filled = tuple((written_as[column], sequence) for column, sequence in second.filled)
    return _Part(node, rows, *told, filled)

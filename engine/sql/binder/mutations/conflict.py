"""ON CONFLICT: new rows that conflict with a key are skipped, or update the existing row (parse_clause.c:
transformOnConflictArbiter; nodeModifyTable.c: ExecOnConflictUpdate).

The plan consists of joins with the table. DO NOTHING keeps the first new row of each key and drops those whose key is
in the table. DO UPDATE is a full join of the table's files that contain such keys with the new rows: a row that only
the table has is kept, a row that both have is updated, and a row that is only new is inserted. A key that contains a
null conflicts with nothing, unless the key is NULLS NOT DISTINCT.

A row that one statement would change twice is 21000, as in PostgreSQL. A key that occurs twice among the new rows is
this error as well, except for new rows for which DO UPDATE's WHERE does not hold: those change nothing.

With several keys and no conflict target, PostgreSQL inserts the new rows one by one. Here the plan marks, for each key,
the rows that are not the first of that key. Where only one key has such rows, the result is PostgreSQL's; otherwise the
statement is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import Constraint, Table
from engine.common import sql_type as st
from engine.plan_ir.expr import And, Case, Coalesce, Column, Const, Expr, IsDistinct, IsNull, Node, Not, Or, OrderItem
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Aggregator, Evaluator, Forbidden, Join, OrderKey, Window
from engine.plan_ir.volatility import plan_is_volatile
from engine.sql.binder.blocks import filter_rows, pass_through, refer
from engine.sql.binder.levels import check_plain
from engine.sql.binder.mutations.inference import bound_parts, infer_indexes
from engine.sql.binder.mutations.outcome import Change, holds
from engine.sql.binder.mutations.rewrite import assignments
from engine.sql.binder.mutations.target import Rows, Target, checks, keys, read, row_columns, row_source
from engine.sql.binder.numbers import row_number
from engine.sql.binder.scope import Scope, Source
from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes.statements import Insert, OnConflict
from wire.dataclass import dataclass
from wire.errors import (
    About,
    FeatureNotSupported,
    InvalidColumnReference,
    ObjectNotInPrerequisiteState,
    UndefinedColumn,
    UndefinedObject,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_BOOL = st.of(t.BOOL)
_INT8 = st.of(t.INT8)


@dataclass(frozen=True, slots=True)
class _New:
    """The rows to be inserted, numbered in their order. Without a required order, they are numbered as they arrive
    (`Mutate.arrival`).
    """

    node: Node
    rows: tuple[Column, ...]
    number: Column


def on_conflict(binder: QueryBinder, statement: Insert, conflict: OnConflict, change: Change, scope: Scope) -> Change:
    """Return an INSERT's `change` with its ON CONFLICT clause."""
    conflict = _of_table(change.target, conflict)
    arbiters = _arbiters(binder, change.table, conflict)
    numbered = _numbered_names(change)
    if any(numbered & set(key.columns) for key in arbiters):
        if conflict.columns or conflict.formulas or conflict.constraint is not None:
            raise FeatureNotSupported("not supported: ON CONFLICT of a column that INSERT ... SELECT numbers")
        # A sequence's new value conflicts with no row; if the table has it nevertheless, that is an error.
        arbiters = tuple(key for key in arbiters if not numbered & set(key.columns))
    if conflict.columns or conflict.formulas or conflict.constraint is not None:
        named = {name for key in arbiters for name in key.columns}
        change.target.select(c for c in change.table.columns if c.name in named)
    if not arbiters:
        return change
    new = _number_rows(binder, change)
    change = replace(change, forbidden=_forbidden(binder, statement, change, new))
    if len(arbiters) == 1 and not change.requirement:
        # Several keys need the same numbers; with one key, the rows may be numbered in any order in which they arrive.
        change = replace(change, arrival=new.number)
    if conflict.assignments:
        return _plan_update(binder, statement, conflict, change, new, arbiters[0], scope)
    node: Node = new.node
    for key in arbiters:
        node = _absent_rows(binder, change.table, node, new, key)
    if len(arbiters) > 1:
        change = _by_each(binder, change, node, new, arbiters)
    else:
        change = replace(change, node=_first(binder, node, new, _key(binder, change.table, new.rows, arbiters[0])))
    rest = tuple(key for key in change.keys if key not in arbiters)
    requirement = (OrderKey(new.number),)
    return replace(change, keys=rest, requirement=requirement, whole=True)


def _numbered_names(change: Change) -> set[str]:
    """Return the columns whose values are known only when rows are written."""
    pairs = zip(change.rows, change.table.written_columns, strict=True)
    later = {column for column, _ in change.filled}
    return {declared.name for column, declared in pairs if column in later}


def _forbidden(binder: QueryBinder, statement: Insert, change: Change, new: _New) -> Forbidden | None:
    """Return the rows that violate NOT NULL or CHECK. These are checked before keys, so rows that are not inserted are
    checked too. Returns None if there are no such constraints, or if the rows may differ when they are computed again.
    """
    if plan_is_volatile(new.node):
        return None
    table, context = change.table, binder.context
    asked = checks(binder, table, row_source(table, statement.alias, new.rows))
    marks = tuple(context.new_column(constraint.name, _BOOL) for constraint, _ in asked)
    node = Evaluator(
        (*new.rows, *marks, new.number),
        new.node,
        (*pass_through(new.rows), *(holds(condition) for _, condition in asked), refer(new.number)),
    )
    wrong: list[Expr] = [Not(_BOOL, refer(mark)) for mark in marks]
    later = {column for column, _ in change.filled}
    for column, declared in zip(new.rows, table.written_columns, strict=True):
        if not declared.nullable and column not in later:
            wrong.append(IsNull(_BOOL, refer(column)))
    if not wrong:
        return None
    told = tuple((constraint, mark) for (constraint, _), mark in zip(asked, marks, strict=True))
    return Forbidden(filter_rows(node, Or(_BOOL, tuple(wrong))), told, (OrderKey(new.number),))


# -- which keys -------------------------------------------------------------------------------------------------------


def _arbiters(binder: QueryBinder, table: Table, conflict: OnConflict) -> tuple[Constraint, ...]:
    """Return the keys that ON CONFLICT refers to. Raises UndefinedColumn, UndefinedObject, InvalidColumnReference; for
    a deferrable key, ObjectNotInPrerequisiteState.
    """
    found = _meant(binder, table, conflict)
    for key in found:
        if key.deferrable:
            raise ObjectNotInPrerequisiteState(
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
                about=About(table.schema, table.name, constraint=key.name),
            )
    return found


def _of_table(target: Target, conflict: OnConflict) -> OnConflict:
    """Replace a view's columns in the conflict target by the table's names of them."""
    if not target.is_view or conflict.constraint is not None:
        return conflict
    if conflict.formulas or conflict.predicate is not None:
        raise FeatureNotSupported("not supported: ON CONFLICT of an expression or a condition, on a view")
    names = {column.name: column.number for column in target.columns}
    there = {column.number: column.name for column in target.table.columns}
    for name in conflict.columns:
        if names.get(name.name) not in there:
            raise UndefinedColumn(f'column "{name.name}" does not exist', position=cursor(position(name)))
    columns = (exp.to_identifier(there[names[name.name]], quoted=True) for name in conflict.columns)
    return replace(conflict, columns=tuple(columns))


def _meant(binder: QueryBinder, table: Table, conflict: OnConflict) -> tuple[Constraint, ...]:
    if conflict.constraint is not None:
        return (_by_name(table, conflict.constraint),)
    if not conflict.columns and not conflict.formulas:
        return keys(table)
    for name in conflict.columns:
        if table.column(name.name) is None:
            raise UndefinedColumn(f'column "{name.name}" does not exist', position=cursor(position(name)))
    found = infer_indexes(binder, table, conflict)
    if not found:
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        raise InvalidColumnReference(message)
    everywhere = [key for key in found if key.predicate is None]
    if not everywhere and len(found) > 1:
        raise FeatureNotSupported("not supported: ON CONFLICT where several partial indexes are meant")
    return (everywhere[0] if everywhere else found[0],)


def _by_name(table: Table, name: exp.Identifier) -> Constraint:
    found = next((c for c in table.constraints if c.name == name.name and not c.is_index), None)
    if found is None:
        raise UndefinedObject(f'constraint "{name.name}" for table "{table.name}" does not exist')
    if not found.is_key:
        raise FeatureNotSupported("constraint in ON CONFLICT clause has no associated index", sqlstate="42809")
    return found


@dataclass(frozen=True, slots=True)
class _Key:
    """A row's key. alike: whether its nulls are equal."""

    parts: tuple[Expr, ...]
    alike: bool


def _key(binder: QueryBinder, table: Table, rows: Sequence[Column], key: Constraint) -> _Key:
    """Return a row's key. For a row outside a partial index, the key consists of nulls, which conflict with nothing."""
    parts, met = bound_parts(binder, table, rows, key)
    if met is None:
        return _Key(parts, key.nulls_not_distinct)
    if key.nulls_not_distinct:
        raise FeatureNotSupported("not supported: ON CONFLICT with a partial index NULLS NOT DISTINCT")
    return _Key(tuple(Case(part.type, ((met, part),), None) for part in parts), alike=False)


# -- the new rows -----------------------------------------------------------------------------------------------------


def _number_rows(binder: QueryBinder, change: Change) -> _New:
    number = binder.context.new_column("number", _INT8)
    order = tuple(OrderItem(refer(k.column), k.descending, k.nulls_first) for k in change.requirement)
    call = row_number(binder, (), order)
    node = Window((*change.node.columns, number), change.node, (call,))
    return _New(node, change.rows, number)


def _first(binder: QueryBinder, node: Node, new: _New, key: _Key) -> Node:
    """Keep the first row of each key, and all rows whose key contains a null."""
    place = binder.context.new_column("place", _INT8)
    call = row_number(binder, key.parts, (OrderItem(refer(new.number)),))
    counted = Window((*node.columns, place), node, (call,))
    first = binder.expressions.operator("=", [refer(place), Const(_INT8, 1)], -1)
    return Evaluator(node.columns, counted, pass_through(node.columns), Or(_BOOL, (first, _any_null(key))))


def _by_each(binder: QueryBinder, change: Change, node: Node, new: _New, arbiters: Sequence[Constraint]) -> Change:
    """Mark, for several keys, whether each row is the first of each key. A row that is not the first is skipped. If
    rows are skipped because of different keys, the row that such a row conflicts with may itself have been skipped, and
    the statement is refused.
    """
    context, again = binder.context, []
    for key in arbiters:
        own = _key(binder, change.table, new.rows, key)
        place = context.new_column("place", _INT8)
        call = row_number(binder, own.parts, (OrderItem(refer(new.number)),))
        counted = Window((*node.columns, place), node, (call,))
        mark = context.new_column("again", _BOOL)
        later = binder.expressions.operator(">", [refer(place), Const(_INT8, 1)], -1)
        told = And(_BOOL, (later, Not(_BOOL, _any_null(own))))
        node = Evaluator((*node.columns, mark), counted, (*pass_through(node.columns), told))
        again.append(mark)
    changed, dropped = context.new_column("changed", _BOOL), context.new_column("dropped", _BOOL)
    over = Or(_BOOL, pass_through(again))
    top = Evaluator((*node.columns, changed, dropped), node, (*pass_through(node.columns), Not(_BOOL, over), over))
    return replace(change, node=top, changed=changed, dropped=dropped, again=tuple(again))


def _any_null(key: _Key) -> Expr:
    """Return whether the key conflicts with nothing because it contains a null."""
    return Const(_BOOL, False) if key.alike else Or(_BOOL, tuple(IsNull(_BOOL, part) for part in key.parts))


def _absent_rows(binder: QueryBinder, table: Table, node: Node, new: _New, key: Constraint) -> Node:
    """Return the rows whose key is not in the table."""
    there = read(binder, table)
    same = _same(binder, _key(binder, table, new.rows, key), _key(binder, table, there.columns, key))
    joined = Join((*node.columns, *there.reader.columns), "left", node, there.reader, same)
    return Evaluator(node.columns, joined, pass_through(node.columns), IsNull(_BOOL, refer(there.row)))


def _same(binder: QueryBinder, left: _Key, right: _Key) -> Expr:
    pairs = zip(left.parts, right.parts, strict=True)
    equal: list[Expr]
    if left.alike:
        equal = [IsDistinct(_BOOL, a, b, negated=True) for a, b in pairs]
    else:
        equal = [binder.expressions.operator("=", [a, b], -1) for a, b in pairs]
    return equal[0] if len(equal) == 1 else And(_BOOL, tuple(equal))


# -- DO UPDATE --------------------------------------------------------------------------------------------------------


def _plan_update(
    binder: QueryBinder,
    statement: Insert,
    conflict: OnConflict,
    change: Change,
    new: _New,
    key: Constraint,
    scope: Scope,
) -> Change:
    table, there = change.table, read(binder, change.table)
    own = _key(binder, table, new.rows, key)
    same = _same(binder, _key(binder, table, there.columns, key), own)
    inner = _conflict_scope(binder, statement, change.target, there, new, scope)
    values = assignments(binder, change.target, conflict.assignments, inner, "ON CONFLICT")
    condition = _condition(binder, conflict, inner)
    _require_known(change, [*values.values(), *([] if condition is None else [condition])])
    again = binder.context.new_column("again", _INT8)
    repeated: Node
    if condition is None:
        repeated = Window((*new.node.columns, again), new.node, (row_number(binder, own.parts),))
    else:
        repeated = _deciding_rows(binder, statement, conflict, change.target, new, key, scope, again)
    joined = Join((*there.reader.columns, *repeated.columns), "full", there.reader, repeated, same)
    marked, inserted, changed, twice = _marks(binder, joined, there, new, again, own, condition)
    rows = row_columns(binder, table)
    emit = []
    for declared, old, fresh in zip(table.written_columns, there.columns, new.rows, strict=True):
        kept: Expr = refer(old)
        if declared.number in values:
            kept = Case(declared.type, ((refer(changed), values[declared.number]),), kept)
        emit.append(Case(declared.type, ((refer(inserted), refer(fresh)),), kept))
    others = (changed, twice, inserted, new.number)
    top = Evaluator((*rows, *others), marked, (*emit, *pass_through(others)))
    written_as = dict(zip(new.rows, rows, strict=True))
    written = {c.name for c in table.columns if c.number in values}
    broken = tuple(k for k in change.keys if k is not key or written & set(k.columns))
    return replace(
        change,
        node=top,
        rows=rows,
        changed=changed,
        twice=twice,
        located=_locate_files(there, new, same),
        targets=(there.file, *there.columns),
        keys=broken,
        requirement=(),
        numbered=new.number,
        whole=True,
        filled=tuple((written_as[column], sequence) for column, sequence in change.filled),
        fresh=inserted if change.filled else None,
        inserted=inserted,
    )


def _require_known(change: Change, exprs: Sequence[Expr]) -> None:
    later = {column for column, _ in change.filled}
    if any(column in later for expr in exprs for column in references(expr)):
        raise FeatureNotSupported("not supported: excluded's column that INSERT ... SELECT numbers")


def _deciding_rows(
    binder: QueryBinder,
    statement: Insert,
    conflict: OnConflict,
    target: Target,
    new: _New,
    key: Constraint,
    scope: Scope,
    again: Column,
) -> Node:
    """Split new rows into conflicting and non-conflicting ones. Of the conflicting rows of a key, those for which
    WHERE holds are kept, or one if there is none; all others are kept. again: the rank of each row among those of its
    key. (PostgreSQL evaluates WHERE for each row, in order: a row for which it does not hold changes nothing, and is no
    second change.)
    """
    context, table = binder.context, target.table
    there, own = read(binder, table), _key(binder, table, new.rows, key)
    columns = new.node.columns
    same = _same(binder, _key(binder, table, there.columns, key), own)
    joined = Join((*columns, *there.reader.columns), "left", new.node, there.reader, same)
    condition = _condition(binder, conflict, _conflict_scope(binder, statement, target, there, new, scope))
    assert condition is not None, "asked where there is a WHERE"
    met, known = context.new_column("met", _BOOL), context.new_column("known", _BOOL)
    holds_here = Coalesce(_BOOL, (condition, Const(_BOOL, False)))
    is_there = IsNull(_BOOL, refer(there.row), negated=True)
    told = Evaluator((*columns, met, known), joined, (*pass_through(columns), holds_here, is_there))
    order = (OrderItem(refer(met), descending=True), OrderItem(refer(new.number)))
    placed = Window((*told.columns, again), told, (row_number(binder, own.parts, order),))
    later = binder.expressions.operator(">", [refer(again), Const(_INT8, 1)], -1)
    idle = And(_BOOL, (later, refer(known), Not(_BOOL, refer(met))))
    return Evaluator((*columns, again), placed, (*pass_through(columns), refer(again)), Not(_BOOL, idle))


def _conflict_scope(
    binder: QueryBinder, statement: Insert, target: Target, there: Rows, new: _New, outer: Scope
) -> Scope:
    """Return the scope of SET and WHERE: the existing row, and `excluded`, the row that is not inserted."""
    scope = Scope(binder.context, binder, outer)
    excluded = Source("excluded", target.row(None, new.rows).columns)
    for source in (target.row(statement.alias, there.columns), excluded):
        scope.add(source)
        scope.sources.append(source)
    return scope


def _condition(binder: QueryBinder, conflict: OnConflict, scope: Scope) -> Expr | None:
    if conflict.where is None:
        return None
    bound = binder.expressions.bind(conflict.where, scope)
    check_plain(bound, "WHERE", scope)
    return binder.expressions.as_boolean(bound, "WHERE")


def _marks(
    binder: QueryBinder,
    joined: Node,
    there: Rows,
    new: _New,
    again: Column,
    own: _Key,
    condition: Expr | None,
) -> tuple[Node, Column, Column, Column]:
    """Add marks to each row: whether it is inserted, whether it changes at all, whether it would change a second time."""
    context = binder.context
    inserted, changed, twice = (context.new_column(name, _BOOL) for name in ("inserted", "changed", "twice"))
    is_new = IsNull(_BOOL, refer(new.number), negated=True)
    is_there = IsNull(_BOOL, refer(there.row), negated=True)
    wanted: Expr = And(_BOOL, (is_new, Not(_BOOL, is_there)))
    met: Expr = Const(_BOOL, True) if condition is None else Coalesce(_BOOL, (condition, Const(_BOOL, False)))
    moved = Case(_BOOL, ((wanted, Const(_BOOL, True)), (And(_BOOL, (is_new, is_there)), met)), Const(_BOOL, False))
    more = binder.expressions.operator(">", [refer(again), Const(_INT8, 1)], -1)
    second = Coalesce(_BOOL, (And(_BOOL, (more, Not(_BOOL, _any_null(own)))), Const(_BOOL, False)))
    columns = joined.columns
    node = Evaluator((*columns, inserted, changed, twice), joined, (*pass_through(columns), wanted, moved, second))
    return node, inserted, changed, twice


def _locate_files(there: Rows, new: _New, same: Expr) -> Node | None:
    """Return a plan of the files that contain keys of the new rows; None if the new rows may differ when they are
    computed again.
    """
    if plan_is_volatile(new.node):
        return None
    joined = Join((*there.reader.columns, *new.node.columns), "inner", there.reader, new.node, same)
    found = filter_rows(joined, IsNull(_BOOL, refer(there.row), negated=True))
    return Aggregator((there.file,), Evaluator((there.file,), found, (refer(there.file),)), (there.file,))

"""Many subqueries of one SELECT for DuckDB: computed a few at a time, each time over materialized rows.

DuckDB turns a correlated subquery, and each LATERAL item, into a dependent join above those before it, and removes
these joins again before its optimizer begins. The time for that grows with the fourth power of their number: 25 take
0.2 s, 50 take 5 s and 100 several minutes, during which nothing interrupts DuckDB. No setting of the optimizer changes
that. DuckDB does not look through a materialized common table expression. So a SELECT with many subqueries computes
some of them, holds its rows in such an expression, and continues over those rows: 100 take 0.4 s. Uncorrelated
subqueries take a fraction of the time, and weigh less.

Conditions that an AND joins filter the rows a few at a time. The subqueries of all other expressions become columns of
the materialized rows: what they see keeps PostgreSQL's order of evaluation
(`engine.planner.codegen.guarded_subqueries`). DuckDB's time grows with the columns that each part passes on to the
next: 100 EXISTS joined by OR took 7 s as a hundred columns. So the result of AND or OR over a few of them is one
column, and the next few continue from it; AND and OR are associative with nulls, too. An operand that may raise an
error stays where it is, since the operands before it may decide. The remaining subqueries (of a list of columns, of the
branches of a CASE) are the fields of one record for each part; 100 of them take half a second to a second.

Within a subquery, or in a recursion, a common table expression would have to refer to its surroundings. There derived
tables take its place, which helps by a factor of ten. Whatever is still too much, and a statement with too many
subqueries in all, is refused before it is sent to DuckDB (`require_plannable`).

Rejected: materializing after each subquery; then the expressions dominate the time. LIMIT or OFFSET; DuckDB looks
through them. Records within records; accessing fields many times is twice as slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import And, Column, ColumnRef, Expr, FieldRef, Node, Or, Row, Subquery
from engine.plan_ir.free_columns import free_columns
from engine.plan_ir.logical import Evaluator, Values
from engine.plan_ir.rewrite import map_operands, walk_all
from engine.planner.codegen.block import Block, Stage
from engine.planner.codegen.scope import CORRELATED, Compilation
from engine.planner.codegen.short_circuit import may_raise
from engine.sql.trees.build import label, table_alias
from wire.errors import StatementTooComplex
from wire.types import pg_types as t

_UNCORRELATED: Final = 1
#: Up to this many subqueries of a statement count as correlated, which spares short statements the search for outer
#: columns.
_FEW: Final = 8
#: The weight that a SELECT may have: twelve correlated subqueries, which take DuckDB 50 ms.
_SELECT_MAX: Final = 12 * CORRELATED
#: Limits of the weight that could not be divided, and of a statement's total weight. Either takes DuckDB a second to a
#: second and a half; twice as many take ten seconds and more, and long statements of others wait for their turn.
_UNDIVIDED_MAX: Final = 28 * CORRELATED
_STATEMENT_MAX: Final = 120 * CORRELATED
#: The weight of a LATERAL item that reads or aggregates: 60 of them take as long as 120 subqueries.
_LATERAL: Final = 2 * CORRELATED
#: The number of subqueries that is written for any engine, and for the system catalog. ALL is written as two, and those
#: within it as four, eight ...: a text of 20 levels would never end.
_WRITTEN_MAX: Final = 5_000
#: Nodes of a LATERAL item that DuckDB computes from the row that it belongs to.
_OF_ONE_ROW: Final = (Evaluator, Values)
#: Ids of columns that no node of the plan has.
_FIRST_ID: Final = 1_000_000_000


def note_subquery(expr: Subquery, compilation: Compilation) -> None:
    """Count a subquery that is being written. Raises StatementTooComplex as soon as the statement has too many."""
    compilation.subqueries += 1
    found = _weigh_subquery(expr, compilation)
    compilation.weight += found
    compilation.undivided += found
    if compilation.bounds_subqueries and compilation.weight > _STATEMENT_MAX:
        raise _too_many(compilation)
    if compilation.subqueries > _WRITTEN_MAX:
        raise StatementTooComplex("too many subqueries in one statement")


def note_lateral(block: Block, item: Node) -> Block:
    """Count a LATERAL item that is about to be added to the block. Returns the block, or one over its materialized
    rows.
    """
    compilation = block.compilation
    compilation.subqueries += 1
    compilation.weight += _UNCORRELATED if all(isinstance(n, _OF_ONE_ROW) for n in walk_all(item)) else _LATERAL
    compilation.undivided += CORRELATED
    if compilation.bounds_subqueries and block.subqueries + CORRELATED > _SELECT_MAX:
        block = _materialize(block.at_most(Stage.FILTERED))
    block.subqueries += CORRELATED
    return block


def require_plannable(compilation: Compilation) -> None:
    """Raise StatementTooComplex if DuckDB would take long to plan the statement, which could not be cancelled."""
    if not compilation.bounds_subqueries:
        return
    if compilation.undivided > _UNDIVIDED_MAX or compilation.weight > _STATEMENT_MAX:
        raise _too_many(compilation)


def _too_many(compilation: Compilation) -> StatementTooComplex:
    return StatementTooComplex(
        "too many subqueries in one statement",
        detail=f"The local engine would take too long to plan {compilation.subqueries} subqueries and more.",
        hint="Write it as several statements with temporary tables between them, or SET sluice.engine = spark.",
    )


def divide_filter(block: Block, test: Expr) -> list[Expr]:
    """Return conditions by which to filter the block one after the other: `test`, or the operands of its AND.

    Conditions without subqueries come first, as in PostgreSQL, which filters a table before it joins the rows of
    EXISTS.
    """
    if not block.compilation.bounds_subqueries or not _is_heavy(block, [test]):
        return [test]
    plain: list[Expr] = []
    others: list[Expr] = []
    for part in conjuncts(test):
        (others if any(True for _ in _subqueries([part])) else plain).append(part)
    first = [And(test.type, tuple(plain))] if len(plain) > 1 else plain
    return [*first, *others]


def make_room(block: Block, exprs: Sequence[Expr]) -> tuple[Block, list[Expr]]:
    """Return a block in which these expressions may be written, and the expressions over it."""
    compilation = block.compilation
    found = list(_subqueries(exprs))
    if not compilation.bounds_subqueries or not found:
        return block, list(exprs)
    if not _is_heavy(block, exprs):
        block.subqueries += _weigh(found, compilation)
        return block, list(exprs)
    if _weigh(found, compilation) <= _SELECT_MAX:
        block = _materialize(block.at_most(Stage.FILTERED))
        block.subqueries += _weigh(found, compilation)
        return block, list(exprs)
    block, folded = _fold_all(block, exprs)
    if any(a is not b for a, b in zip(folded, exprs, strict=True)):
        return make_room(block, folded)
    columns: dict[int, Expr] = {}
    for group in _groups(_outermost(exprs), compilation):
        block = block.at_most(Stage.FILTERED)
        if block.subqueries + _weigh(group, compilation) > _SELECT_MAX:
            block = _materialize(block)
        block = _compute(block, group, columns)

    def replace_computed(part: Expr) -> Expr:
        return columns[id(part)] if isinstance(part, Subquery) else map_operands(part, replace_computed)

    return block, [replace_computed(expr) for expr in exprs]


def forget_computed(block: Block) -> None:
    """Drop the columns that `make_room` has added, which nothing above refers to."""
    if block.whole is None and any(id_ >= _FIRST_ID for id_ in block.scope.columns):
        block.scope.columns = {id_: tree for id_, tree in block.scope.columns.items() if id_ < _FIRST_ID}


def _fold_all(block: Block, exprs: Sequence[Expr]) -> tuple[Block, list[Expr]]:
    folded = []
    for expr in exprs:
        block, result = _fold(block, expr, set())
        folded.append(result)
    return block, folded


def _fold(block: Block, expr: Expr, marks: set[int]) -> tuple[Block, Expr]:
    """Compute the operands of AND and OR a few at a time, as far as they raise no errors, each time with their combined
    value as one column.

    marks: ids of such columns, each of which one expression refers to.
    """
    if isinstance(expr, Subquery) or _weigh(_subqueries([expr]), block.compilation) <= _SELECT_MAX:
        return block, expr
    if not isinstance(expr, And | Or):

        def fold_operand(operand: Expr) -> Expr:
            nonlocal block
            block, folded = _fold(block, operand, marks)
            return folded

        folded = map_operands(expr, fold_operand)
        return block, folded
    return _fold_junction(block, expr, marks)


def _fold_junction(block: Block, expr: And | Or, marks: set[int]) -> tuple[Block, Expr]:
    args: list[Expr] = []
    run: list[Expr] = []
    weight = 0
    for given in expr.args:
        block, arg = _fold(block, given, marks)
        own = _weigh(_subqueries([arg]), block.compilation)
        if own > _SELECT_MAX or may_raise(arg):
            # The operands before it may decide without it, so it stays where it is.
            args += (*run, arg)
            run, weight = [], 0
            continue
        if weight and weight + own > _SELECT_MAX:
            block, mark = _compute_mark(block, run[0] if len(run) == 1 else replace(expr, args=tuple(run)), marks)
            run, weight = [mark], 0
        run.append(arg)
        weight += own
    args += run
    unchanged = len(args) == len(expr.args) and all(a is b for a, b in zip(args, expr.args, strict=True))
    return block, expr if unchanged else replace(expr, args=tuple(args))


def _compute_mark(block: Block, expr: Expr, marks: set[int]) -> tuple[Block, Expr]:
    """Materialize the block's rows, with the value of a condition in place of the marks that it refers to."""
    weight = _weigh(_subqueries([expr]), block.compilation)
    block = block.at_most(Stage.FILTERED)
    if block.subqueries + weight > _SELECT_MAX:
        block = _materialize(block)
    block = block.ready_for([expr])
    block.subqueries += weight
    tree = block.compilation.render(expr, block.scope)
    for part in expr.walk():
        if isinstance(part, ColumnRef) and part.column.id in marks:
            del block.scope.columns[part.column.id]
    column = _new_column(expr.type, block.compilation)
    block.scope.columns[column.id] = tree
    marks.add(column.id)
    return _materialize(block), ColumnRef(expr.type, column)


def _new_column(typ: SqlType, compilation: Compilation) -> Column:
    compilation.computed += 1
    return Column(_FIRST_ID + compilation.computed, "", typ)


def _compute(block: Block, group: Sequence[Subquery], columns: dict[int, Expr]) -> Block:
    """Materialize the block's rows, with the values of these subqueries as one column."""
    block = block.ready_for(group)
    block.subqueries += _weigh(group, block.compilation)
    values = SqlType(t.RECORD, fields=tuple((f"f{number}", expr.type) for number, expr in enumerate(group, 1)))
    column = _new_column(values, block.compilation)
    block.scope.columns[column.id] = block.compilation.render(Row(values, tuple(group)), block.scope)
    for number, expr in enumerate(group):
        columns[id(expr)] = FieldRef(expr.type, ColumnRef(values, column), number)
    return _materialize(block)


def _materialize(block: Block) -> Block:
    """Return the block's rows as a materialized common table expression, or as a derived table where that could not
    move to the top.
    """
    compilation, weight = block.compilation, block.subqueries
    block = block.as_derived_table(keep_order=True)
    if block.scope.is_inside or compilation.in_place or compilation.recursing:
        # DuckDB decorrelates a derived table by itself, but that is not all it does with it: its weight still counts in
        # `undivided`.
        block.subqueries = 0
        return block
    source = block.source
    assert isinstance(source, exp.Subquery)
    name = f"m{compilation.alias()}"
    compilation.hoisted.append(exp.CTE(this=source.this, alias=table_alias(name), materialized=True))
    block.source = exp.Table(this=label(name), alias=source.args["alias"])
    block.subqueries = 0
    compilation.undivided -= weight
    return block


def _is_heavy(block: Block, exprs: Sequence[Expr]) -> bool:
    found = list(_subqueries(exprs))
    if block.subqueries + len(found) * CORRELATED <= _SELECT_MAX:
        return False
    return block.subqueries + _weigh(found, block.compilation) > _SELECT_MAX


def _subqueries(exprs: Iterable[Expr]) -> Iterator[Subquery]:
    return (part for expr in exprs for part in expr.walk() if isinstance(part, Subquery))


def _outermost(exprs: Sequence[Expr]) -> list[Subquery]:
    """Return the subqueries that are neither inside another one nor inside an operand that another one is compared
    with.
    """
    found: list[Subquery] = []

    def note(part: Expr) -> Expr:
        if isinstance(part, Subquery):
            found.append(part)
            return part
        return map_operands(part, note)

    for expr in exprs:
        note(expr)
    return found


def _weigh(found: Iterable[Subquery], compilation: Compilation) -> int:
    return sum(_weigh_subquery(expr, compilation) for expr in found)


def _weigh_subquery(expr: Subquery, compilation: Compilation) -> int:
    known = compilation.weights.get(id(expr))
    if known is None:
        few = compilation.subqueries <= _FEW and len(compilation.weights) <= _FEW
        weight = CORRELATED if few or free_columns(expr.plan) else _UNCORRELATED
        # The subquery is kept with its weight, so that no other can get its `id()`.
        known = compilation.weights[id(expr)] = (expr, weight)
    return known[1]


def _groups(found: Sequence[Subquery], compilation: Compilation) -> Iterator[list[Subquery]]:
    group: list[Subquery] = []
    weight = 0
    for expr in found:
        own = _weigh_subquery(expr, compilation)
        if group and weight + own > _SELECT_MAX:
            yield group
            group, weight = [], 0
        group.append(expr)
        weight += own
    if group:
        yield group

"""SEARCH and CYCLE: further columns of a recursive WITH item, added by rewriting its two terms.

SEARCH DEPTH FIRST keeps, in an array of records, the values of the named columns for each row on the path. SEARCH
BREADTH FIRST keeps one record: the depth and the row's own values. CYCLE also keeps such an array, marks a row whose
values are already in it, and continues only from unmarked rows. The recursive term passes on the added columns of the
row that it came from; their new values are computed above it.

Source: PostgreSQL 15, rewriteSearchCycle.c; parse_cte.c: analyzeCTE.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import ArrayOf, Case, Column, Expr, FieldRef, IsNull, Node, Row, with_type
from engine.plan_ir.logical import CteReader, Evaluator, ProjectSet
from engine.plan_ir.rewrite import walk_all
from engine.sql.binder import literals
from engine.sql.binder.blocks import Bound, pass_through, project, refer
from engine.sql.binder.scope import Scope
from engine.sql.parser.grammar.recursion import CycleClause, SearchClause
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import DuplicateColumn, FeatureNotSupported, SqlSyntaxError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


@dataclass(frozen=True, slots=True)
class _Marks:
    """The values of CYCLE's mark column: for a row that closes a cycle, and for any other row."""

    value: Expr
    default: Expr


class Paths:
    """The added columns of one item, in their order: SEARCH's sequence, CYCLE's mark and path.

    names: their names. own: the number of columns that the item has itself.
    """

    def __init__(self, binder: QueryBinder, item: exp.CTE, own: Sequence[str], scope: Scope) -> None:
        self.binder = binder
        self.own = len(own)
        self._search: SearchClause | None = item.meta.get("search")
        self._cycle: CycleClause | None = item.meta.get("cycle")
        self._check_terms(item)
        self._check_search(own)
        self._marks = self._check_cycle(own, scope)
        self._check_both()
        self._columns_of_search = [own.index(c) for c in self._search.columns] if self._search else []
        self._columns_of_cycle = [own.index(c) for c in self._cycle.columns] if self._cycle else []

    @property
    def names(self) -> tuple[str, ...]:
        search = (self._search.sequence,) if self._search else ()
        return (*search, self._cycle.mark, self._cycle.path) if self._cycle else search

    # -- the terms -----------------------------------------------------------------------------------------------

    def begun(self, plan: Node) -> Node:
        """Return the non-recursive term with the added columns."""
        return project(
            self.binder.context,
            plan,
            (*pass_through(plan.columns), *self._first(pass_through(plan.columns))),
            (*(c.name for c in plan.columns), *self.names),
        )

    def _first(self, row: Sequence[Expr]) -> Iterator[Expr]:
        if self._search and self._search.depth_first:
            yield _wrap_in_list(_record(row, self._columns_of_search))
        elif self._search:
            yield _record(row, self._columns_of_search, literals.constant(t.INT8, 0, -1))
        if self._marks:
            yield self._marks.default
            yield _wrap_in_list(_record(row, self._columns_of_cycle))

    def handed_on(self, step: Bound, cte: int) -> Bound:
        """Return the recursive term with the added columns of the row that it has read. Raises FeatureNotSupported if
        they are not available at its top.
        """
        top = step.plan
        if not isinstance(top, (Evaluator, ProjectSet)) or step.requirement:
            self._refuse_term()
        reader = next(n for n in walk_all(top) if isinstance(n, CteReader) and n.cte == cte)
        added = reader.columns[self.own :]
        if not set(added) <= set(top.input.columns):
            self._refuse_term()
        columns = tuple(self.binder.context.new_column(c.name, c.type) for c in added)
        plan = replace(top, columns=(*top.columns, *columns), emit=(*top.emit, *pass_through(added)))
        return replace(step, plan=plan, names=(*step.names, *self.names))

    def _refuse_term(self) -> NoReturn:
        raise FeatureNotSupported(
            "not supported: SEARCH or CYCLE of a recursive term with DISTINCT, GROUP BY, ORDER BY or LIMIT, or which reads the"
            " query in a subquery"
        )

    def extend_step(self, step: Node) -> Node:
        """Replace the added columns that the recursive term passes on by their new values."""
        row, added = pass_through(step.columns[: self.own]), list(step.columns[self.own :])
        emit, condition = list(row), None
        if self._search:
            emit.append(self._sequence(row, added.pop(0)))
        if self._marks:
            mark, path = added
            condition = self.binder.expressions.operator("<>", [refer(mark), self._marks.value], -1)
            here = _record(row, self._columns_of_cycle)
            emit += [self._mark(here, path, mark.type), self._longer(path, here)]
        columns = tuple(self.binder.context.new_column(c.name, c.type) for c in step.columns)
        return Evaluator(columns, step, tuple(emit), condition)

    def _sequence(self, row: Sequence[Expr], before: Column) -> Expr:
        if self._search and self._search.depth_first:
            return self._longer(before, _record(row, self._columns_of_search))
        depth = FieldRef(st.of(t.INT8), refer(before), 0)
        deeper = self.binder.expressions.operator("+", [depth, literals.constant(t.INT8, 1, -1)], -1)
        return with_type(_record(row, self._columns_of_search, deeper), before.type)

    def _longer(self, path: Column, row: Row) -> Expr:
        return with_type(
            self.binder.expressions.function("array_cat", [refer(path), _wrap_in_list(row)], -1), path.type
        )

    def _mark(self, row: Row, path: Column, typ: SqlType) -> Expr:
        assert self._marks
        met = IsNull(
            st.of(t.BOOL), self.binder.expressions.function("array_position", [refer(path), row], -1), negated=True
        )
        return Case(typ, ((met, self._marks.value),), self._marks.default)

    # -- what is wrong with the clauses --------------------------------------------------------------------------

    def _check_terms(self, item: exp.CTE) -> None:
        message = "with a SEARCH or CYCLE clause, the {} side of the UNION must be a SELECT"
        if isinstance(item.this.this, exp.SetOperation):
            raise FeatureNotSupported(message.format("left"))
        if isinstance(item.this.expression, exp.SetOperation):
            raise SqlSyntaxError(message.format("right"))

    def _check_search(self, own: Sequence[str]) -> None:
        if self._search:
            _check_listed("search", self._search.columns, own, self._search.at)
            _check_unused("search sequence", self._search.sequence, own, self._search.at)

    def _check_cycle(self, own: Sequence[str], scope: Scope) -> _Marks | None:
        if self._cycle is None:
            return None
        _check_listed("cycle", self._cycle.columns, own, self._cycle.at)
        bound = self.binder.expressions.bind_all([self._cycle.value, self._cycle.default], scope)
        _, (value, default) = self.binder.expressions.unify(bound, "CYCLE")
        self.binder.expressions.require_equality(replace(value, position=-1))
        _check_unused("cycle mark", self._cycle.mark, own, self._cycle.at)
        _check_unused("cycle path", self._cycle.path, own, self._cycle.at)
        if self._cycle.mark == self._cycle.path:
            _raise_same("cycle mark", "cycle path", self._cycle.at)
        return _Marks(value, default)

    def _check_both(self) -> None:
        if self._search and self._cycle:
            if self._search.sequence == self._cycle.mark:
                _raise_same("search sequence", "cycle mark", self._search.at)
            if self._search.sequence == self._cycle.path:
                _raise_same("search sequence", "cycle path", self._search.at)


def refuse_of_plain(item: exp.CTE) -> None:
    """Raises SqlSyntaxError for the clauses after an item that does not read itself."""
    if "search" in item.meta or "cycle" in item.meta:
        raise SqlSyntaxError("WITH query is not recursive", position=cursor(position(item)))


def _record(row: Sequence[Expr], columns: Sequence[int], *before: Expr) -> Row:
    items = (*before, *(row[index] for index in columns))
    return Row(SqlType(t.RECORD, fields=tuple((f"f{i}", item.type) for i, item in enumerate(items, 1))), items)


def _wrap_in_list(row: Row) -> ArrayOf:
    return ArrayOf(replace(row.type, pg=t.RECORDS), (row,))


def _check_listed(what: str, columns: Sequence[str], own: Sequence[str], at: int) -> None:
    for index, column in enumerate(columns):
        if column not in own:
            raise SqlSyntaxError(f'{what} column "{column}" not in WITH query column list', position=cursor(at))
        if column in columns[:index]:
            raise DuplicateColumn(f'{what} column "{column}" specified more than once', position=cursor(at))


def _check_unused(what: str, name: str, own: Sequence[str], at: int) -> None:
    if name in own:
        raise SqlSyntaxError(f'{what} column name "{name}" already used in WITH query column list', position=cursor(at))


def _raise_same(one: str, other: str, at: int) -> NoReturn:
    raise SqlSyntaxError(f"{one} column name and {other} column name are the same", position=cursor(at))

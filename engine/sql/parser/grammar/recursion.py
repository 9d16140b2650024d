"""SEARCH and CYCLE of a recursive WITH item (gram.y: opt_search_clause, opt_cycle_clause).

The clauses are stored in `meta["search"]` and `meta["cycle"]` of the item's CTE.
"""

from __future__ import annotations

from sqlglot import exp

from engine.sql.parser.grammar.expressions import ExpressionGrammar
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SearchClause:
    """SEARCH DEPTH | BREADTH FIRST BY columns SET sequence. at: its position."""

    depth_first: bool
    columns: tuple[str, ...]
    sequence: str
    at: int


@dataclass(frozen=True, slots=True)
class CycleClause:
    """CYCLE columns SET mark TO value DEFAULT default USING path. at: its position."""

    columns: tuple[str, ...]
    mark: str
    value: exp.Expression
    default: exp.Expression
    path: str
    at: int


class RecursionGrammar(ExpressionGrammar):
    """The grammar of the clauses after a WITH item's query."""

    def recursion_clauses(self, item: exp.CTE) -> None:
        if self.word_at("search"):
            item.meta["search"] = self._search()
        if self.word_at("cycle"):
            item.meta["cycle"] = self._cycle()

    def _search(self) -> SearchClause:
        at = self.next().start - self.base
        depth_first = self.take("depth")
        if not depth_first:
            self.expect("breadth")
        self.expect("first", "by")
        columns = self._columns()
        self.expect("set")
        return SearchClause(depth_first, columns, self.column_id().name, at)

    def _cycle(self) -> CycleClause:
        token = self.next()
        columns = self._columns()
        self.expect("set")
        mark = self.column_id().name
        value: exp.Expression = self.node(exp.Boolean, token, this=True)
        default: exp.Expression = self.node(exp.Boolean, token, this=False)
        if self.take("to"):
            value = self._mark()
            self.expect("default")
            default = self._mark()
        self.expect("using")
        return CycleClause(columns, mark, value, default, self.column_id().name, token.start - self.base)

    def _columns(self) -> tuple[str, ...]:
        return tuple(name.name for name in self.comma_list(self.column_id))

    def _mark(self) -> exp.Expression:
        """Read an AexprConst."""
        token = self.token
        made = self.operand()
        value = made.this if isinstance(made, exp.Cast) and token.text != "cast" else made
        if not isinstance(value, (exp.Literal, exp.Boolean, exp.Null)) or made.meta.get("paren"):
            self.fail(token)
        return made

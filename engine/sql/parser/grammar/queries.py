"""Queries: SELECT, VALUES, TABLE, WITH and set operations (gram.y: SelectStmt)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.tail_clauses import TailGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.lexical.positions import leftmost
from wire.errors import SqlSyntaxError

_WRITES: Final = frozenset(("insert", "update", "delete", "merge"))


class QueryGrammar(TailGrammar):
    """The grammar of queries."""

    @abstractmethod
    def into_target(self) -> object:
        """Read the target of SELECT ... INTO. The reader of statements defines this, and takes the target out of the
        tree (`meta["into"]`).
        """

    # -- whole queries -------------------------------------------------------------------------------------------

    def query(self) -> exp.Expression:
        """Read a SelectStmt, with or without parentheses around it."""
        with_ = self._with() if self.word_at("with") else None
        if self.word_at(*_WRITES) and with_ is not None:
            self.raise_unsupported(f"WITH ... {self.token.text.upper()}")
        body = self._set_operations(0)
        return self._finish(body, with_)

    def query_at(self) -> bool:
        return self.word_at("select", "values", "table", "with") or self._query_may_follow()

    def query_in_parentheses(self) -> exp.Expression:
        """Read a select_with_parens; return the query inside, marked as parenthesized."""
        self.expect_symbol("(")
        query = self.query()
        self.expect_symbol(")")
        query.meta["paren"] = True
        return query

    def _set_operations(self, least: int) -> exp.Expression:
        """Read a select_clause: INTERSECT binds tighter than UNION and EXCEPT, and all associate to the left."""
        left = self._set_operand()
        while self.word_at("union", "intersect", "except"):
            level = 2 if self.word_at("intersect") else 1
            if level <= least:
                return left
            token = self.next()
            distinct = not self.take("all")
            if distinct:
                self.take("distinct")
            kind = {"union": exp.Union, "intersect": exp.Intersect, "except": exp.Except}[token.text]
            left = self.node(kind, token, this=left, expression=self._set_operations(level), distinct=distinct)
        return left

    def _set_operand(self) -> exp.Expression:
        if self.symbol_at("("):
            return self.query_in_parentheses()
        if self.word_at("select"):
            return self._select()
        if self.word_at("values"):
            return self._values()
        if self.word_at("table"):
            return self._table_query()
        self.fail()

    def _finish(self, body: exp.Expression, with_: exp.With | None) -> exp.Expression:
        """Read ORDER BY, LIMIT, OFFSET and FETCH of a query and add its WITH; a query in parentheses already has its
        own.
        """
        clauses, locks = self._tail_clauses()
        if with_ is None and not clauses and not locks:
            return body
        if body.meta.pop("paren", False):
            body = self._merge_clauses(body, with_, clauses)
        if with_ is not None:
            body.set("with_", with_)
        for key, clause in clauses.items():
            body.set(key, clause)
        if locks:
            body.set("locks", [*(body.args.get("locks") or ()), *locks])
        return body

    def _merge_clauses(
        self, body: exp.Expression, with_: exp.With | None, clauses: dict[str, exp.Expression]
    ) -> exp.Expression:
        """Add clauses to a query in parentheses as its own (insertSelectOptions), each at most once."""
        for key, what in (("order", "ORDER BY"), ("offset", "OFFSET"), ("limit", "LIMIT")):
            if key in clauses and body.args.get(key):
                at = leftmost(next(clauses[key].iter_expressions())) + self.base + 1
                raise SqlSyntaxError(f"multiple {what} clauses not allowed", position=at)
        if with_ is not None and body.args.get("with_"):
            raise SqlSyntaxError("multiple WITH clauses not allowed", position=int(with_.meta["start"]) + self.base + 1)
        return body

    # -- WITH ----------------------------------------------------------------------------------------------------

    def _with(self) -> exp.With:
        token = self.next()
        recursive = self.take("recursive")
        return self.node(exp.With, token, expressions=self.comma_list(self._cte), recursive=recursive)

    def _cte(self) -> exp.CTE:
        token = self.token
        name = self.column_id()
        columns = self.names() if self.symbol_at("(") else []
        self.expect("as")
        materialized = None
        if self.take("not", "materialized"):
            materialized = False
        elif self.take("materialized"):
            materialized = True
        self.expect_symbol("(")
        query = self._changing_query(token) if self._changes_at() else self.query()
        self.expect_symbol(")")
        alias = self.node(exp.TableAlias, token, this=name, columns=columns)
        made = self.node(exp.CTE, token, this=query, alias=alias)
        self.recursion_clauses(made)
        if materialized is not None:
            made.set("materialized", materialized)
        return made

    def _changes_at(self) -> bool:
        """Return whether a statement that changes rows comes next."""
        return self.word_at(*_WRITES)

    def _changing_query(self, item: Token) -> exp.Expression:
        """Read a statement that changes rows in place of a query; the reader of statements defines it
        (`meta["changes"]`).

        item: the first token of its WITH item.
        """
        self.raise_unsupported(f"{self.token.text.upper()} in WITH")

    # -- SELECT, VALUES, TABLE -----------------------------------------------------------------------------------

    def _select(self) -> exp.Expression:
        token = self.next()
        made = self.node(exp.Select, token)
        if self.word_at("distinct"):
            made.set("distinct", self._distinct())
            made.set("expressions", self._targets())
        else:
            self.take("all")
            made.set("expressions", self._targets() if self._target_at() else [])
        if self.take("into"):
            made.meta["into"] = self.into_target()
        if self.word_at("from"):
            made.set("from_", self._from())
        where = self.token
        if self.take("where"):
            made.set("where", self.node(exp.Where, where, this=self.expression()))
        if self.word_at("group"):
            made.set("group", self._group())
        having = self.token
        if self.take("having"):
            made.set("having", self.node(exp.Having, having, this=self.expression()))
        if self.take("window"):
            made.set("windows", self.comma_list(self._named_window))
        return made

    def _target_at(self) -> bool:
        """Return whether a select list follows; SELECT may have none."""
        token = self.token
        if token.kind is Kind.END or self.symbol_at(";", ")"):
            return False
        return not self.word_at(
            "into", "from", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for",
            "union", "intersect", "except", "with", "on", "returning",
        )  # fmt: skip

    def _distinct(self) -> exp.Distinct:
        token = self.next()
        made = self.node(exp.Distinct, token)
        if self.take("on"):
            made.set("on", self.node(exp.Tuple, self.token, expressions=self.parenthesized_list(self.expression)))
        return made

    def _targets(self) -> list[exp.Expression]:
        return self.comma_list(self._target)

    def _target(self) -> exp.Expression:
        token = self.token
        if self.take_symbol("*"):
            return self.node(exp.Star, token)
        value = self.expression()
        if self.take("as"):
            return self.node(exp.Alias, token, this=value, alias=self.column_label())
        if self.bare_label_at():
            return self.node(exp.Alias, token, this=value, alias=self.column_label())
        return value

    def _named_window(self) -> exp.Window:
        """Read a window_definition."""
        name = self.column_id()
        self.expect("as")
        window = self.window()
        window.set("this", name)
        return window

    def _group(self) -> exp.Group:
        token = self.token
        self.expect("group", "by")
        made = self.node(exp.Group, token)
        if self.take("distinct"):
            made.set("distinct", True)
        else:
            self.take("all")
        made.set("expressions", self.comma_list(self._group_item))
        return made

    def _group_item(self) -> exp.Expression:
        token = self.token
        if self.symbol_at("(") and self.symbol_at(")", ahead=1):
            self.next()
            self.next()
            return self.node(exp.Tuple, token, expressions=[])
        if self.word_at("rollup", "cube") and self.symbol_at("(", ahead=1):
            self.next()
            self.next()
            kind = exp.Rollup if token.text == "rollup" else exp.Cube
            made = self.node(kind, token, expressions=self.expression_list())
            self.expect_symbol(")")
            return made
        if self.words_at("grouping", "sets"):
            self.expect("grouping", "sets")
            return self.node(exp.GroupingSets, token, expressions=self.parenthesized_list(self._group_item))
        return self.expression()

    def _values(self) -> exp.Expression:
        token = self.next()
        return self.node(exp.Values, token, expressions=self.comma_list(self._values_item))

    def _values_item(self) -> exp.Tuple:
        return self.node(exp.Tuple, self.token, expressions=self.values_row())

    def values_row(self) -> list[exp.Expression]:
        """Read expressions or DEFAULT in parentheses; the binder decides where DEFAULT is allowed."""
        return self.parenthesized_list(self.value_or_default)

    def value_or_default(self) -> exp.Expression:
        if self.word_at("default"):
            return self.node(exp.Var, self.next(), this="DEFAULT")
        return self.expression()

    def _table_query(self) -> exp.Expression:
        """Read TABLE name as SELECT * FROM name."""
        token = self.next()
        table = self._relation()
        star = self.node(exp.Star, token)
        return self.node(exp.Select, token, expressions=[star], from_=self.node(exp.From, token, expressions=[table]))

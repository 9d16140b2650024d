"""FROM: relations, functions, subqueries and joins (gram.y: from_clause, table_ref, joined_table)."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.forms import VALUE_FUNCTIONS
from engine.sql.parser.grammar.recursion import RecursionGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from wire.errors import SqlSyntaxError

_JOIN_WORDS: Final = frozenset(("join", "inner", "left", "right", "full", "cross", "natural"))


class FromGrammar(RecursionGrammar):
    """The grammar of FROM items."""

    def _from(self) -> exp.From:
        token = self.next()
        return self.node(exp.From, token, expressions=self.comma_list(self._table_reference))

    def _table_reference(self) -> exp.Expression:
        """Read a table_ref: an item with all the joins that follow it."""
        item = self._table_item()
        while self.word_at(*_JOIN_WORDS):
            item = self._join(item)
        return item

    def _join(self, left: exp.Expression) -> exp.Join:
        """Read one join; `a JOIN b JOIN c ON x ON y` joins b and c first."""
        token = self.token
        made = self.node(exp.Join, token, left=left)
        if self.take("cross"):
            self.expect("join")
            made.set("kind", "CROSS")
            made.set("this", self._table_item())
            return made
        natural = self.take("natural")
        made.set("kind", self._join_kind())
        self.expect("join")
        right = self._table_item()
        if natural:
            made.set("natural", True)
            made.set("this", right)
            return made
        while self.word_at(*_JOIN_WORDS):
            right = self._join(right)
        made.set("this", right)
        self._join_condition(made)
        return made

    def _join_kind(self) -> str:
        if self.word_at("left", "right", "full"):
            kind = self.next().text.upper()
            self.take("outer")
            return kind
        self.take("inner")
        return "INNER"

    def _join_condition(self, join: exp.Join) -> None:
        if self.take("on"):
            join.set("on", self.expression())
            return
        if not self.word_at("using"):
            self.fail()
        self.next()
        join.set("using", self.names())
        if self.take("as"):
            token = self.token
            join.set("alias", self.node(exp.TableAlias, token, this=self.column_id()))

    def _table_item(self) -> exp.Expression:
        token = self.token
        if self.take("lateral"):
            item = self._lateral_item()
            item.meta["lateral"] = True
            return item
        if self.symbol_at("("):
            return self._parenthesized_item()
        if self.words_at("rows", "from"):
            return self._function_item(token)
        if self.word_at("only"):
            return self._with_alias(self._relation())
        if self._call_at():
            return self._function_item(token)
        relation = self._file() if self.token.kind is Kind.STRING else self._relation()
        if self.word_at("for") and self.word_at("version", "timestamp", ahead=1):
            relation.set("version", self._version())
        item = self._with_alias(relation)
        if self.word_at("tablesample"):
            item.set("sample", self._sample())
        return item

    def _file(self) -> exp.Table:
        """Read a path in quotes, as a Table without a name. PostgreSQL lacks this syntax; DuckDB and Spark have it."""
        token = self.next()
        return self.node(exp.Table, token, file=self.node(exp.Literal, token, this=token.text, is_string=True))

    def _sample(self) -> exp.TableSample:
        """Read a tablesample_clause."""
        start = self.token
        self.expect("tablesample")
        method = self.column_id()
        arguments = self.parenthesized_list(self.expression)
        seed = None
        if self.take("repeatable"):
            self.expect_symbol("(")
            seed = self.expression()
            self.expect_symbol(")")
        return self.node(exp.TableSample, start, this=method, expressions=arguments, seed=seed)

    def _version(self) -> exp.Version:
        """Read FOR VERSION AS OF number or FOR TIMESTAMP AS OF time. PostgreSQL lacks this syntax; Spark, Trino and
        Delta have it.
        """
        self.next()
        token = self.next()
        self.expect("as", "of")
        return self.node(exp.Version, token, this=token.text.upper(), kind="AS OF", expression=self._prefix(bare=False))

    def _lateral_item(self) -> exp.Expression:
        if self.symbol_at("("):
            return self._subquery_item()
        return self._function_item(self.token)

    def _call_at(self) -> bool:
        """Return whether a function call, rather than a relation's name, comes next."""
        ahead = 0
        while self.peek(ahead).kind in (Kind.WORD, Kind.NAME) and self.symbol_at(".", ahead=ahead + 1):
            ahead += 2
        if self.peek(ahead).kind not in (Kind.WORD, Kind.NAME):
            return False
        if ahead == 0 and self.word_at(*VALUE_FUNCTIONS):
            return True
        return self.symbol_at("(", ahead=ahead + 1)

    def _parenthesized_item(self) -> exp.Expression:
        """Read a derived table or a join in parentheses; `((select 1) a join b on true)` shows only late which it is."""
        if self._query_may_follow():
            start = self.at
            try:
                return self._subquery_item()
            except SqlSyntaxError as error:
                if not self.symbol_at("(", ahead=start + 1 - self.at):
                    raise
                self.at = start
                try:
                    return self._joined_item()
                except SqlSyntaxError as other:
                    raise max(error, other, key=lambda e: e.position or 0) from None
        return self._joined_item()

    def _joined_item(self) -> exp.Expression:
        token = self.expect_symbol("(")
        inner = self._table_reference()
        if not isinstance(inner, exp.Join | exp.Paren):
            self.fail()
        self.expect_symbol(")")
        made = self.node(exp.Paren, token, this=inner)
        return self._with_alias(made)

    def _subquery_item(self) -> exp.Expression:
        token = self.token
        query = self.query_in_parentheses()
        made = self._with_alias(self.node(exp.Subquery, token, this=query))
        if made.args.get("alias") is None:
            what, example = (
                ("VALUES", "(VALUES ...)") if isinstance(query, exp.Values) else ("subquery", "(SELECT ...)")
            )
            raise SqlSyntaxError(
                f"{what} in FROM must have an alias",
                hint=f"For example, FROM {example} [AS] foo.",
                position=token.start + 1,
            )
        return made

    def _relation(self) -> exp.Table:
        """Read a relation_expr: [ONLY] name [*]. There is no inheritance, so both are ignored."""
        only = self.take("only")
        enclosed = only and self.take_symbol("(")
        token = self.token
        parts = [self.column_id()]
        while self.take_symbol("."):
            parts.append(self.column_label())
        if len(parts) > 3:
            dotted = ".".join(p.name for p in parts)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        if enclosed:
            self.expect_symbol(")")
        elif not only:
            self.take_symbol("*")
        return self.node(exp.Table, token, **dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))

    def _function_item(self, token: Token) -> exp.Expression:
        """Read a func_table: one call, or ROWS FROM several, as a Table whose rows_from are the calls."""
        several = self.take("rows", "from")
        calls = self.parenthesized_list(self._rows_from_call) if several else [self.function_without_window()]
        made = self.node(exp.Table, token, rows_from=calls)
        if self.take("with", "ordinality"):
            made.set("ordinality", True)
        if self._definition_list_at():
            return self._with_definitions(made)
        return self._with_alias(made)

    def _with_definitions(self, item: exp.Table) -> exp.Table:
        """Read a func_alias_clause with TableFuncElements: names and types of a record's fields."""
        token = self.token
        self.take("as")
        name = None if self.symbol_at("(") else self.column_id()
        item.set("definitions", self.parenthesized_list(self._field))
        if name is not None:
            item.set("alias", self.node(exp.TableAlias, token, this=name, columns=[]))
        return item

    def _field(self) -> exp.ColumnDef:
        token = self.token
        return self.node(exp.ColumnDef, token, this=self.column_id(), kind=self.type_name())

    def _rows_from_call(self) -> exp.Expression:
        call = self.function_without_window()
        if self.word_at("as") and self.symbol_at("(", ahead=1):
            self.raise_unsupported("column definition list of a function in FROM")
        return call

    def _definition_list_at(self) -> bool:
        """Return whether AS (a int, ...) or x (a int, ...) comes next."""
        ahead = 1 if self.word_at("as") else 0
        if self.symbol_at("(", ahead=ahead):
            return ahead == 1
        if not self.column_id_at(ahead) or not self.symbol_at("(", ahead=ahead + 1):
            return False
        return self.column_id_at(ahead + 2) and not self.symbol_at(",", ")", ahead=ahead + 3)

    def _with_alias(self, item: exp.Expression) -> exp.Expression:
        token = self.token
        if not (self.take("as") or self.column_id_at()):
            return item
        name = self.column_id()
        columns = self.names() if self.symbol_at("(") else []
        item.set("alias", self.node(exp.TableAlias, token, this=name, columns=columns))
        return item

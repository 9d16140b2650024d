"""The forms that have a syntax of their own: CASE, CAST, ARRAY, EXTRACT, SUBSTRING ... FROM, CURRENT_DATE, and queries
in parentheses (gram.y: func_expr_common_subexpr, case_expr, array_expr).

A form that PostgreSQL rewrites to a function call yields that call.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.windows import WindowGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from wire.errors import SqlSyntaxError

#: SQL's functions without parentheses.
VALUE_FUNCTIONS: Final = frozenset(
    """
    current_catalog current_date current_role current_schema current_time current_timestamp current_user localtime
    localtimestamp session_user user
    """.split()  # noqa: SIM905 -- a line of words
)
#: Those of them that may have a precision.
_TIMED: Final = frozenset(("current_time", "current_timestamp", "localtime", "localtimestamp"))
_QUERY_WORDS: Final = frozenset(("select", "with", "table"))


class FormGrammar(WindowGrammar):
    """The grammar of special forms."""

    #: The run of opening parentheses that was scanned last, from and to, so that deep nesting costs one scan.
    _run = (0, 0)

    @abstractmethod
    def bare_expression(self) -> exp.Expression:
        """Read a b_expr; a layer above defines it."""

    @abstractmethod
    def query_in_parentheses(self) -> exp.Expression:
        """Read a select_with_parens and return the query itself; a layer above defines it."""

    def _query_if_any(self) -> exp.Subquery | None:
        """Read a query in parentheses if one comes next. `((select 1) + 1)` is recognised as an expression only at its
        end.
        """
        if not self._query_may_follow():
            return None
        token, start = self.token, self.at
        try:
            query = self.query_in_parentheses()
        except SqlSyntaxError as error:
            self._retry(start, error)
            return None
        return self.node(exp.Subquery, token, this=query)

    def _required_query(self) -> exp.Subquery:
        """Read a query in parentheses, where nothing else is allowed."""
        query = self._query_if_any()
        if query is not None:
            return query
        while self.take_symbol("("):
            pass
        self.fail()

    def _retry(self, start: int, error: SqlSyntaxError) -> None:
        """Go back to `start` if an expression may still be read there; raise the error if only a query can have been
        meant.
        """
        if not self.symbol_at("(", ahead=start + 1 - self.at):
            raise error
        self.at = start

    def _query_may_follow(self) -> bool:
        """Return whether a query begins after the opening parentheses here."""
        if not self.symbol_at("("):
            return False
        if not self._run[0] <= self.at < self._run[1]:
            self._run = (self.at, self._after_parentheses())
        ahead = self._run[1] - self.at
        if self.word_at("values", ahead=ahead):
            return self.symbol_at("(", ahead=ahead + 1)
        return self.word_at(*_QUERY_WORDS, ahead=ahead)

    def _after_parentheses(self) -> int:
        """Return the index of the first token that is no opening parenthesis."""
        ahead = 1
        while self.symbol_at("(", ahead=ahead):
            ahead += 1
        return self.at + ahead

    def _argument_list(self) -> list[exp.Expression]:
        found: list[exp.Expression] = []
        while True:
            token = self.token
            if self.take("variadic"):
                found.append(self.node(exp.Variadic, token, this=self._argument()))
                return found
            found.append(self._argument())
            if not self.take_symbol(","):
                return found

    def _argument(self) -> exp.Expression:
        """Read a func_arg_expr: an expression, or name => expression."""
        if self.token.kind in (Kind.WORD, Kind.NAME) and self.symbol_at("=>", ":=", ahead=1):
            token = self.token
            if not self.type_function_name_at():
                self.fail()
            name = self.identifier(self.next())
            self.next()
            return self.node(exp.Kwarg, token, this=name, expression=self.expression())
        return self.expression()

    def _call(self, token: Token, name: str, arguments: list[exp.Expression]) -> exp.Anonymous:
        return self.node(exp.Anonymous, token, this=name, expressions=arguments)

    def _value_function(self) -> exp.Expression:
        """Read CURRENT_DATE, LOCALTIME(3), USER and the like."""
        token = self.next()
        arguments: list[exp.Expression] = []
        if token.text in _TIMED and self.take_symbol("("):
            digits = self.expect_kind(Kind.INTEGER)
            arguments.append(self.node(exp.Literal, digits, this=digits.text, is_string=False))
            self.expect_symbol(")")
        made = self._call(token, token.text, arguments)
        made.meta["keyword"] = True
        return made

    def _list_call(self) -> exp.Expression:
        """Read COALESCE(...), GREATEST(...), GROUPING(...)."""
        token = self.next()
        return self._call(token, token.text, self.parenthesized_list(self.expression))

    def _nullif(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        first = self.expression()
        self.expect_symbol(",")
        second = self.expression()
        self.expect_symbol(")")
        return self._call(token, "nullif", [first, second])

    def _row(self) -> exp.Tuple:
        token = self.next()
        items = self.parenthesized_list(self.expression, empty=True)
        made = self.node(exp.Tuple, token, expressions=items)
        made.meta["row"] = True
        return made

    def _collation_for(self) -> exp.Expression:
        token = self.next()
        self.expect("for")
        self.expect_symbol("(")
        value = self.expression()
        self.expect_symbol(")")
        return self._call(token, "pg_collation_for", [value])

    def _extract(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        field = self.next()
        if field.kind not in (Kind.WORD, Kind.NAME, Kind.STRING):
            self.fail(field)
        name = self.node(exp.Var, field, this=field.text)
        self.expect("from")
        source = self.expression()
        self.expect_symbol(")")
        return self.node(exp.Extract, token, this=name, expression=source)

    def _case(self) -> exp.Expression:
        token = self.next()
        made = self.node(exp.Case, token)
        if not self.word_at("when"):
            made.set("this", self.expression())
        ifs = []
        while self.word_at("when"):
            when = self.next()
            condition = self.expression()
            self.expect("then")
            ifs.append(self.node(exp.If, when, this=condition, true=self.expression()))
        if not ifs:
            self.fail()
        made.set("ifs", ifs)
        if self.take("else"):
            made.set("default", self.expression())
        self.expect("end")
        return made

    def _cast(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        value = self.expression()
        self.expect("as")
        typ = self.type_name()
        self.expect_symbol(")")
        return self.node(exp.Cast, token, this=value, to=typ)

    def _array_operand(self) -> exp.Expression:
        token = self.next()
        if self.symbol_at("["):
            return self._array(token)
        made = self.node(exp.Array, token, expressions=[self._required_query().this])
        made.meta["subquery"] = True
        return made

    def _array(self, token: Token) -> exp.Expression:
        """Read [a, b], or [[a], [b]] without a second ARRAY."""
        self.expect_symbol("[")
        items: list[exp.Expression] = []
        if self.symbol_at("["):
            items = self.comma_list(lambda: self._array(self.token))
        elif not self.symbol_at("]"):
            items = self.expression_list()
        self.expect_symbol("]")
        return self.node(exp.Array, token, expressions=items)

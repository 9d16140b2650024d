"""Operands of expressions: constants, names, parentheses, subscripts, and keywords with a grammar of their own
(gram.y: c_expr).
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.common.keywords import COLUMN_NAME, RESERVED, TYPE_FUNCTION_NAME
from engine.sql.parser.grammar.calls import CallGrammar
from engine.sql.parser.grammar.forms import VALUE_FUNCTIONS
from engine.sql.parser.lexical.lexer import Kind, Token
from wire.errors import SqlSyntaxError

#: Functions of the grammar whose arguments are a plain list.
_LISTED: Final = frozenset(("coalesce", "greatest", "least", "grouping", "xmlconcat"))


class OperandGrammar(CallGrammar):
    """The grammar of operands."""

    def operand(self) -> exp.Expression:
        """Read a c_expr."""
        token = self.token
        if token.kind is Kind.WORD or token.kind is Kind.NAME:
            return self._word_operand()
        if self.symbol_at("("):
            return self._parentheses()
        return self._constant()

    def _atom(self) -> exp.Expression:
        """Read a constant or a parameter that no operator follows."""
        token = self.next()
        if token.kind is Kind.PARAMETER:
            return self.node(exp.Parameter, token, this=token.text)
        return self.node(exp.Literal, token, this=token.text, is_string=token.kind is Kind.STRING)

    def _constant(self) -> exp.Expression:
        token = self.token
        match token.kind:
            case Kind.INTEGER | Kind.DECIMAL:
                self.next()
                return self.node(exp.Literal, token, this=token.text, is_string=False)
            case Kind.STRING:
                self.next()
                return self.node(exp.Literal, token, this=token.text, is_string=True)
            case Kind.PARAMETER:
                return self._parameter()
            case Kind.NATIONAL:
                self.next()
                text = self.node(exp.Literal, token, this=token.text, is_string=True)
                return self.node(exp.Cast, token, this=text, to=self.data_type(token, "bpchar"))
            case Kind.BITS:
                self.next()
                digits = self.node(exp.Literal, token, this=self.sql[token.start] + token.text, is_string=True)
                return self.node(exp.Cast, token, this=digits, to=self.data_type(token, "bit"))
        self.fail()

    def _parameter(self) -> exp.Expression:
        token = self.next()
        return self._indirection(self.node(exp.Parameter, token, this=token.text))

    def _parentheses(self) -> exp.Expression:
        """Read a query, a row or an expression in parentheses, with the subscripts and fields after it."""
        token = self.token
        query = self._query_if_any()
        if query is not None:
            return self._indirection(query)
        self.next()
        first = self.expression()
        if self.symbol_at(","):
            items = [first]
            while self.take_symbol(","):
                items.append(self.expression())
            self.expect_symbol(")")
            return self._overlaps(self.node(exp.Tuple, token, expressions=items))
        self.expect_symbol(")")
        first.meta["paren"] = True
        return self._indirection(first)

    def _overlaps(self, row: exp.Tuple) -> exp.Expression:
        """Return a row, or the test (a, b) OVERLAPS (c, d)."""
        token = self.token
        if not self.take("overlaps"):
            return row
        other = self._row() if self.word_at("row") else self._parentheses()
        if not isinstance(other, exp.Tuple):
            self.fail(token)
        for side, name in ((row, "left"), (other, "right")):
            if len(side.expressions) != 2:
                message = f"wrong number of parameters on {name} side of OVERLAPS expression"
                raise SqlSyntaxError(message, position=int(side.meta["start"]) + self.base + 1)
        return self._call(token, "overlaps", [*row.expressions, *other.expressions])

    def _indirection(self, of: exp.Expression) -> exp.Expression:
        """Read subscripts, fields and `.*` after an operand that may have them."""
        while True:
            token = self.token
            if self.take_symbol("["):
                of = self._subscript(of, token)
            elif self.symbol_at("."):
                self.next()
                star = self.token
                if self.take_symbol("*"):
                    return self.node(exp.Dot, token, this=of, expression=self.node(exp.Star, star))
                of = self.node(exp.Dot, token, this=of, expression=self.column_label())
            else:
                return of

    def _subscript(self, of: exp.Expression, token: Token) -> exp.Expression:
        low = None if self.symbol_at(":") else self.expression()
        if not self.take_symbol(":"):
            self.expect_symbol("]")
            return self.node(exp.Bracket, token, this=of, expressions=[low])
        high = None if self.symbol_at("]") else self.expression()
        self.expect_symbol("]")
        bounds = {name: bound for name, bound in (("this", low), ("expression", high)) if bound is not None}
        return self.node(exp.Bracket, token, this=of, expressions=[self.node(exp.Slice, token, **bounds)])

    def _word_operand(self) -> exp.Expression:
        token = self.token
        if token.kind is Kind.WORD:
            word = token.text
            special = self._special(word, token)
            if special is not None:
                return special
            if self.constant_type_at():
                return self._typed_constant()
            if word in RESERVED:
                self.fail()
        return self._name()

    def _special(self, word: str, token: Token) -> exp.Expression | None:
        """Read a form that begins with a keyword of the grammar; None if the word is a name here."""
        if word in RESERVED:
            return self._reserved_word(word, token)
        if word == "current_schema" and not self.symbol_at("(", ahead=1):
            return self._value_function()
        if word == "collation" and self.word_at("for", ahead=1):
            return self._collation_for()
        if not self.symbol_at("(", ahead=1):
            if word == "interval" and self.peek().kind is Kind.STRING:
                return self._interval_constant()
            return None
        if word in _LISTED:
            return self._list_call()
        match word:
            case "exists":
                self.next()
                return self.node(exp.Exists, token, this=self._required_query().this)
            case "row":
                return self._overlaps(self._row())
            case "extract":
                return self._extract()
            case "position":
                return self._position()
            case "substring":
                return self._substring()
            case "overlay":
                return self._overlay()
            case "trim":
                return self._trim()
            case "nullif":
                return self._nullif()
            case "interval":
                return self._interval_constant()
            case "normalize":
                return self._normalize()
            case "treat" | "xmlelement" | "xmlexists" | "xmlforest" | "xmlparse" | "xmlpi" | "xmlroot":
                self.raise_unsupported(word.upper())
            case "xmlserialize":
                self.raise_unsupported("XMLSERIALIZE")
        return None

    def _reserved_word(self, word: str, token: Token) -> exp.Expression | None:
        if word in VALUE_FUNCTIONS:
            return self._value_function()
        match word:
            case "null":
                self.next()
                return self.node(exp.Null, token)
            case "true" | "false":
                self.next()
                return self.node(exp.Boolean, token, this=word == "true")
            case "case":
                return self._case()
            case "cast":
                return self._cast()
            case "array":
                return self._array_operand()
            case "unique":
                self.raise_unsupported("UNIQUE predicate")
        return None

    def _name(self) -> exp.Expression:
        """Read a column, a function call, or a constant of a named type."""
        token = self.token
        parts = [self.column_label()]
        star: exp.Star | None = None
        while self.symbol_at("."):
            self.next()
            if self.symbol_at("*"):
                star = self.node(exp.Star, self.next())
                break
            parts.append(self.column_label())
        if star is None and self.symbol_at("("):
            return self._function(parts, token)
        if star is None and self.token.kind is Kind.STRING and self._names_type(parts, token):
            return self._generic_constant(parts, token)
        if token.kind is Kind.WORD and token.text in TYPE_FUNCTION_NAME and len(parts) == 1:
            self.fail()
        return self._indirection(self._column(parts, star, token))

    def _names_type(self, parts: list[exp.Identifier], token: Token) -> bool:
        return len(parts) > 1 or token.kind is Kind.NAME or token.text not in COLUMN_NAME

    def _column(self, parts: list[exp.Identifier], star: exp.Star | None, token: Token) -> exp.Expression:
        names = [*parts, star] if star is not None else list(parts)
        if len(names) > 4:
            dotted = ".".join("*" if n is star else n.name for n in names)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        keys = ("this", "table", "db", "catalog")
        return self.node(exp.Column, token, **dict(zip(keys, reversed(names), strict=False)))

    def _typed_constant(self) -> exp.Expression:
        """Read ConstTypename Sconst: `date '2001-01-01'` needs no keyword, `double precision '1'` is one."""
        start = self.at
        token = self.token
        typ = self.builtin_type()
        if self.token.kind is Kind.STRING:
            if typ.args["kind"].name in ("bit", "bpchar") and not self.symbol_at(")", ahead=-1):
                # BIT 'x' and CHAR 'x' have any length (gram.y: ConstBit, ConstCharacter), unlike CAST('x' AS BIT).
                typ.set("expressions", [])
            return self._constant_of(typ, token)
        if self.symbol_at("(", ahead=start + 1 - self.at):
            self.fail()
        self.at = start
        return self._name()

    def function_without_window(self) -> exp.Expression:
        """Read a func_expr_windowless: a call in FROM."""
        token = self.token
        if token.kind is Kind.WORD:
            special = self._special(token.text, token)
            if isinstance(special, exp.Anonymous | exp.Cast | exp.Extract):
                return special
            if special is not None or token.text in RESERVED:
                self.fail(token)
        parts = [self.column_label()]
        while self.take_symbol("."):
            parts.append(self.column_label())
        if not self.symbol_at("("):
            self.fail()
        call = self._call(token, parts[-1].name, [])
        if len(parts) > 1:
            call.set("schema", parts[-2].name)
        self._arguments(call)
        return call

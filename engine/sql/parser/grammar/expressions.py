"""Expressions: PostgreSQL's operators and their precedence (gram.y: a_expr, b_expr).

The parser climbs one table of precedences. It keeps three properties of gram.y: comparisons and BETWEEN, IN, LIKE do
not associate (`a < b < c` is a syntax error at the second `<`); IS binds looser than comparisons; all operators without
a precedence of their own (`||`, `->`, `~`) bind alike, looser than `+`. A `b_expr` (BETWEEN's lower bound, POSITION) is
the same without the keywords that would be ambiguous there.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.operands import OperandGrammar
from engine.sql.parser.lexical.lexer import Kind, Token

# The levels of gram.y, loosest first.
_OR, _AND, _NOT, _IS, _COMPARISON, _RANGE, _OPERATOR, _SUM, _PRODUCT, _POWER, _AT, _COLLATE, _SIGN, _CAST = range(1, 15)

_BINARY: Final[dict[str, tuple[int, type[exp.Expression]]]] = {
    "=": (_COMPARISON, exp.EQ),
    "<>": (_COMPARISON, exp.NEQ),
    "<": (_COMPARISON, exp.LT),
    "<=": (_COMPARISON, exp.LTE),
    ">": (_COMPARISON, exp.GT),
    ">=": (_COMPARISON, exp.GTE),
    "||": (_OPERATOR, exp.DPipe),
    "+": (_SUM, exp.Add),
    "-": (_SUM, exp.Sub),
    "*": (_PRODUCT, exp.Mul),
    "/": (_PRODUCT, exp.Div),
    "%": (_PRODUCT, exp.Mod),
    "^": (_POWER, exp.Pow),
}
#: Symbols that are punctuation, not operators.
_PUNCTUATION: Final = frozenset((",", "(", ")", "[", "]", ".", ";", ":", "::", "..", ":=", "=>"))
_ATOMS: Final = frozenset((Kind.PARAMETER, Kind.INTEGER, Kind.DECIMAL, Kind.STRING))
_WORD_OPERATORS: Final = frozenset(("between", "in", "like", "ilike", "similar"))
_LIKES: Final[dict[str, type[exp.Expression]]] = {"like": exp.Like, "ilike": exp.ILike, "similar": exp.SimilarTo}


class ExpressionGrammar(OperandGrammar):
    """The grammar of expressions."""

    def expression(self) -> exp.Expression:
        """Read an a_expr."""
        if self.token.kind in _ATOMS and (self.symbol_at(",", ahead=1) or self.symbol_at(")", ahead=1)):
            # A shortcut for items of a list, of which there may be tens of thousands.
            return self._atom()
        return self._climb(0, bare=False)

    def bare_expression(self) -> exp.Expression:
        """Read a b_expr."""
        return self._climb(0, bare=True)

    def _climb(self, least: int, bare: bool) -> exp.Expression:
        """Read an expression whose operators bind at least as tightly as `least`."""
        left = self._prefix(bare)
        while True:
            level = self._level(bare)
            if level == 0 or level < least:
                return left
            left = self._infix(left, level, bare)

    def _level(self, bare: bool) -> int:
        """Return the level of the infix or postfix operator that comes next; 0 if there is none."""
        token = self.token
        if token.kind is Kind.OPERATOR:
            return self._symbol_level(token.text)
        if token.kind is not Kind.WORD:
            return 0
        return self._word_level(token.text, bare)

    def _symbol_level(self, symbol: str) -> int:
        if symbol == "::":
            return _CAST
        if symbol in _PUNCTUATION:
            return 0
        found = _BINARY.get(symbol)
        return found[0] if found else _OPERATOR

    def _word_level(self, word: str, bare: bool) -> int:
        if word == "operator":
            return _OPERATOR if self.symbol_at("(", ahead=1) else 0
        if word == "is":
            return 0 if bare and not self._distinct_test_at() else _IS
        if bare:
            return 0
        if word in _WORD_OPERATORS:
            return _RANGE if word != "similar" or self.word_at("to", ahead=1) else 0
        if word == "not":
            return _RANGE if self.word_at(*_WORD_OPERATORS, ahead=1) else 0
        if word == "at":
            return _AT if self.words_at("at", "time") else 0
        return {"or": _OR, "and": _AND, "isnull": _IS, "notnull": _IS, "collate": _COLLATE}.get(word, 0)

    def _distinct_test_at(self) -> bool:
        return self.words_at("is", "distinct") or self.words_at("is", "not", "distinct")

    def _right(self, level: int, bare: bool, *, associates: bool) -> exp.Expression:
        """Read the right operand at `level`. If the level does not associate, another operator of it is an error."""
        right = self._climb(level + 1, bare)
        if not associates and self._level(bare) == level:
            self.fail()
        return right

    def _infix(self, left: exp.Expression, level: int, bare: bool) -> exp.Expression:
        token = self.token
        if token.kind is Kind.OPERATOR:
            if level == _CAST:
                return self._cast_suffix(left)
            return self._symbol_operator(left, level, bare)
        return self._word_operator(left, token, bare)

    def _cast_suffix(self, left: exp.Expression) -> exp.Expression:
        token = self.next()
        return self.node(exp.Cast, token, this=left, to=self.type_name())

    def _symbol_operator(self, left: exp.Expression, level: int, bare: bool) -> exp.Expression:
        token = self.next()
        if not bare and self.word_at("any", "some", "all"):
            right = self._quantified_operand()
        else:
            right = self._right(level, bare, associates=level != _COMPARISON)
        found = _BINARY.get(token.text)
        if found is not None:
            return self.node(found[1], token, this=left, expression=right)
        return self.node(exp.Operator, token, this=left, operator=token.text, expression=right)

    def _word_operator(self, left: exp.Expression, token: Token, bare: bool) -> exp.Expression:
        match token.text:
            case "or" | "and":
                self.next()
                kind, level = (exp.Or, _OR) if token.text == "or" else (exp.And, _AND)
                return self.node(kind, token, this=left, expression=self._right(level, bare, associates=True))
            case "is" | "isnull" | "notnull":
                return self._test(left, bare)
            case "operator":
                return self._named_operator(left, bare)
            case "at":
                self.expect("at", "time", "zone")
                return self.node(exp.AtTimeZone, token, this=left, zone=self._right(_AT, bare, associates=True))
            case "collate":
                self.next()
                return self.node(exp.Collate, token, this=left, expression=self._any_name())
        return self._range_operator(left)

    def _any_name(self) -> exp.Identifier:
        """Read an any_name and return its last part; a schema may only be pg_catalog."""
        token = self.token
        name = self.column_id()
        while self.take_symbol("."):
            if name.name != "pg_catalog":
                self.raise_unsupported(f"schema {name.name}", token)
            name = self.column_label()
        return name

    def _test(self, left: exp.Expression, bare: bool) -> exp.Expression:
        """Read IS ..., ISNULL or NOTNULL."""
        token = self.next()
        null = self.node(exp.Null, token)
        if token.text == "isnull":
            return self.node(exp.Is, token, this=left, expression=null)
        if token.text == "notnull":
            return self._negate(token, self.node(exp.Is, token, this=left, expression=null))
        negated = self.take("not")
        if self.take("distinct", "from"):
            right = self._right(_IS, bare, associates=False)
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self.node(kind, token, this=left, expression=right)
        if self.word_at("normalized") or self.word_at("normalized", ahead=1):
            form = [] if self.word_at("normalized") else [self._normal_form()]
            self.next()
            normal = self._call(token, "is_normalized", [left, *form])
            return self._negate(token, normal) if negated else normal
        test = self.node(exp.Is, token, this=left, expression=self._tested_value())
        return self._negate(token, test) if negated else test

    def _tested_value(self) -> exp.Expression:
        token = self.token
        if self.word_at("null", "true", "false", "unknown"):
            self.next()
            if token.text == "null":
                return self.node(exp.Null, token)
            if token.text == "unknown":
                return self.node(exp.Var, token, this="unknown")
            return self.node(exp.Boolean, token, this=token.text == "true")
        if self.word_at("document"):
            self.raise_unsupported(f"IS {token.text.upper()}")
        self.fail()

    def _negate(self, token: Token, test: exp.Expression) -> exp.Expression:
        return self.node(exp.Not, token, this=test)

    def _named_operator(self, left: exp.Expression | None, bare: bool) -> exp.Expression:
        """Read OPERATOR(schema.+), as infix or, without `left`, as prefix."""
        token = self.next()
        schema, symbol = self._operator_name()
        if left is not None and not bare and self.word_at("any", "some", "all"):
            right = self._quantified_operand()
        else:
            right = self._right(_OPERATOR, bare, associates=True)
        made = self.node(exp.Operator, token, operator=symbol, expression=right)
        if left is not None:
            made.set("this", left)
        if schema is not None:
            made.set("schema", schema)
        return made

    def _operator_name(self) -> tuple[str | None, str]:
        self.expect_symbol("(")
        schema = None
        while self.column_id_at():
            schema = self.column_id().name
            self.expect_symbol(".")
        token = self.expect_kind(Kind.OPERATOR)
        if token.text in _PUNCTUATION:
            self.fail(token)
        self.expect_symbol(")")
        return schema, token.text

    def _range_operator(self, left: exp.Expression) -> exp.Expression:
        """Read [NOT] BETWEEN, IN, LIKE, ILIKE or SIMILAR TO."""
        token = self.token
        negated = self.take("not")
        word = self.next().text
        if word == "between":
            made = self._between(left, token)
        elif word == "in":
            made = self._in(left, token)
        else:
            made = self._like(left, word, token)
        return self._negate(token, made) if negated else made

    def _between(self, left: exp.Expression, token: Token) -> exp.Expression:
        symmetric = self.take("symmetric")
        if not symmetric:
            self.take("asymmetric")
        low = self.bare_expression()
        self.expect("and")
        high = self._right(_RANGE, bare=False, associates=False)
        made = self.node(exp.Between, token, this=left, low=low, high=high)
        if symmetric:
            made.set("symmetric", True)
        return made

    def _in(self, left: exp.Expression, token: Token) -> exp.Expression:
        query = self._query_if_any()
        if query is not None:
            return self.node(exp.In, token, this=left, query=query)
        return self.node(exp.In, token, this=left, expressions=self.parenthesized_list(self.expression))

    def _like(self, left: exp.Expression, word: str, token: Token) -> exp.Expression:
        if word == "similar":
            self.expect("to")
        elif self.word_at("any", "some", "all"):
            return self.node(_LIKES[word], token, this=left, expression=self._quantified_operand())
        pattern = self._right(_RANGE, bare=False, associates=False)
        made = self.node(_LIKES[word], token, this=left, expression=pattern)
        if not self.word_at("escape"):
            return made
        self.next()
        escape = self._right(_RANGE, bare=False, associates=False)
        return self.node(exp.Escape, token, this=made, expression=escape)

    def _quantified_operand(self) -> exp.Expression:
        """Read ANY, SOME or ALL with an array or a query."""
        token = self.next()
        kind = exp.All if token.text == "all" else exp.Any
        query = self._query_if_any()
        if query is not None:
            return self.node(kind, token, this=query.this)
        self.expect_symbol("(")
        array = self.expression()
        self.expect_symbol(")")
        return self.node(kind, token, this=array)

    def _prefix(self, bare: bool) -> exp.Expression:
        token = self.token
        if (
            token.kind is Kind.OPERATOR
            and token.text not in _PUNCTUATION
            and _BINARY.get(token.text, (0,))[0] in (0, _SUM)
        ):
            return self._prefix_operator(bare)
        if token.kind is Kind.WORD:
            if token.text == "not" and not bare:
                self.next()
                return self.node(exp.Not, token, this=self._climb(_NOT, bare))
            if token.text == "operator" and self.symbol_at("(", ahead=1):
                return self._named_operator(None, bare)
        return self.operand()

    def _prefix_operator(self, bare: bool) -> exp.Expression:
        token = self.next()
        if token.text == "-":
            return self.node(exp.Neg, token, this=self._climb(_SIGN, bare))
        level = _SIGN if token.text == "+" else _OPERATOR + 1
        return self.node(exp.Operator, token, operator=token.text, expression=self._climb(level, bare))

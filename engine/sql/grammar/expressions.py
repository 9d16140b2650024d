"""Expressions: PostgreSQL's precedence, constants, function calls and special forms (gram.y: a_expr, b_expr, c_expr).

Precedence climbing over one table. Three of gram.y's habits are kept with care: comparisons and BETWEEN, IN, LIKE do not
associate (`a < b < c` is a syntax error at the second `<`); IS binds looser than comparisons; all operators without a place
of their own (`||`, `->`, `~`) bind alike, looser than `+`. A `b_expr` (DEFAULT, BETWEEN's lower bound, POSITION) is the same
without the words that would be ambiguous there.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sqlglot import exp

from engine.sql.grammar.types import TypeGrammar
from engine.sql.keywords import COLUMN_NAME, RESERVED, TYPE_FUNCTION_NAME
from engine.sql.lexer import Kind, Token
from wire.errors import SqlSyntaxError, WindowingError

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
_WORD_OPERATORS: Final = frozenset(("between", "in", "like", "ilike", "similar"))
_LIKES: Final[dict[str, type[exp.Expression]]] = {"like": exp.Like, "ilike": exp.ILike, "similar": exp.SimilarTo}
#: SQL's functions without parentheses; those in the second set may have a precision.
_VALUES: Final = frozenset(
    (
        "current_date",
        "current_role",
        "current_user",
        "session_user",
        "user",
        "current_catalog",
        "current_schema",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
    )
)
_TIMED: Final = frozenset(("current_time", "current_timestamp", "localtime", "localtimestamp"))
#: Functions of the grammar whose arguments are a plain list.
_LISTED: Final = frozenset(("coalesce", "greatest", "least", "grouping", "xmlconcat"))
_QUERY_WORDS: Final = frozenset(("select", "with", "table"))
_TRIMS: Final = {"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}


class ExpressionGrammar(TypeGrammar):
    """Reads expressions."""

    @abstractmethod
    def query_in_parentheses(self) -> exp.Expression:
        """select_with_parens; the layer above reads it. The query itself is returned."""

    def expression(self) -> exp.Expression:
        """a_expr."""
        return self._climb(0, bare=False)

    def bare_expression(self) -> exp.Expression:
        """b_expr."""
        return self._climb(0, bare=True)

    def expression_list(self) -> list[exp.Expression]:
        found = [self.expression()]
        while self.take_symbol(","):
            found.append(self.expression())
        return found

    # -- operators -----------------------------------------------------------------------------------------------

    def _climb(self, least: int, bare: bool) -> exp.Expression:
        """An expression whose operators bind at least as tightly as `least`."""
        left = self._prefix(bare)
        while True:
            level = self._level(bare)
            if level == 0 or level < least:
                return left
            left = self._infix(left, level, bare)

    def _level(self, bare: bool) -> int:
        """The level of the infix or postfix operator that comes next; 0 if none does."""
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
            return _RANGE
        if word == "not":
            return _RANGE if self.word_at(*_WORD_OPERATORS, ahead=1) else 0
        if word == "at":
            return _AT if self.words_at("at", "time", "zone") else 0
        return {"or": _OR, "and": _AND, "isnull": _IS, "notnull": _IS, "collate": _COLLATE}.get(word, 0)

    def _distinct_test_at(self) -> bool:
        return self.words_at("is", "distinct") or self.words_at("is", "not", "distinct")

    def _right(self, level: int, bare: bool, *, associates: bool) -> exp.Expression:
        """The right operand at `level`; where the level does not associate, another operator of it is an error."""
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
            right = self._quantified()
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
        """any_name, of which the last part counts; a schema may only be pg_catalog."""
        token = self.token
        name = self.column_id()
        while self.take_symbol("."):
            if name.name != "pg_catalog":
                self.unsupported(f"schema {name.name}", token)
            name = self.column_label()
        return name

    def _test(self, left: exp.Expression, bare: bool) -> exp.Expression:
        """IS ..., ISNULL, NOTNULL."""
        token = self.next()
        null = self.node(exp.Null, token)
        if token.text == "isnull":
            return self.node(exp.Is, token, this=left, expression=null)
        if token.text == "notnull":
            return self._negated(token, self.node(exp.Is, token, this=left, expression=null))
        negated = self.take("not")
        if self.take("distinct", "from"):
            right = self._right(_IS, bare, associates=False)
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self.node(kind, token, this=left, expression=right)
        test = self.node(exp.Is, token, this=left, expression=self._tested())
        return self._negated(token, test) if negated else test

    def _tested(self) -> exp.Expression:
        token = self.token
        if self.word_at("null", "true", "false", "unknown"):
            self.next()
            if token.text == "null":
                return self.node(exp.Null, token)
            if token.text == "unknown":
                return self.node(exp.Var, token, this="unknown")
            return self.node(exp.Boolean, token, this=token.text == "true")
        if self.word_at("document", "normalized", "nfc", "nfd", "nfkc", "nfkd"):
            self.unsupported(f"IS {token.text.upper()}")
        self.fail()

    def _negated(self, token: Token, test: exp.Expression) -> exp.Expression:
        return self.node(exp.Not, token, this=test)

    def _named_operator(self, left: exp.Expression | None, bare: bool) -> exp.Expression:
        """OPERATOR(schema.+), as infix or, without `left`, as prefix."""
        token = self.next()
        schema, symbol = self._operator_name()
        if left is not None and not bare and self.word_at("any", "some", "all"):
            right = self._quantified()
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
        """[NOT] BETWEEN, IN, LIKE, ILIKE, SIMILAR TO."""
        token = self.token
        negated = self.take("not")
        word = self.next().text
        if word == "between":
            made = self._between(left, token)
        elif word == "in":
            made = self._in(left, token)
        else:
            made = self._like(left, word, token)
        return self._negated(token, made) if negated else made

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
        self.expect_symbol("(")
        items = self.expression_list()
        self.expect_symbol(")")
        return self.node(exp.In, token, this=left, expressions=items)

    def _like(self, left: exp.Expression, word: str, token: Token) -> exp.Expression:
        if word == "similar":
            self.expect("to")
        elif self.word_at("any", "some", "all"):
            return self.node(_LIKES[word], token, this=left, expression=self._quantified())
        pattern = self._right(_RANGE, bare=False, associates=False)
        made = self.node(_LIKES[word], token, this=left, expression=pattern)
        if not self.word_at("escape"):
            return made
        self.next()
        escape = self._right(_RANGE, bare=False, associates=False)
        return self.node(exp.Escape, token, this=made, expression=escape)

    def _quantified(self) -> exp.Expression:
        """ANY, SOME, ALL with an array or a query."""
        token = self.next()
        kind = exp.All if token.text == "all" else exp.Any
        query = self._query_if_any()
        if query is not None:
            return self.node(kind, token, this=query.this)
        self.expect_symbol("(")
        array = self.expression()
        self.expect_symbol(")")
        return self.node(kind, token, this=array)

    # -- operands ------------------------------------------------------------------------------------------------

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
        return self._operand()

    def _prefix_operator(self, bare: bool) -> exp.Expression:
        token = self.next()
        if token.text == "-":
            return self.node(exp.Neg, token, this=self._climb(_SIGN, bare))
        level = _SIGN if token.text == "+" else _OPERATOR + 1
        return self.node(exp.Operator, token, operator=token.text, expression=self._climb(level, bare))

    def _operand(self) -> exp.Expression:
        """c_expr."""
        token = self.token
        if token.kind is Kind.WORD or token.kind is Kind.NAME:
            return self._word_operand()
        if self.symbol_at("("):
            return self._parenthesized()
        return self._constant()

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
                self.unsupported("bit string constants")
        self.fail()

    def _parameter(self) -> exp.Expression:
        token = self.next()
        index = self.node(exp.Literal, token, this=token.text, is_string=False)
        return self._indirection(self.node(exp.Parameter, token, this=index))

    def _parenthesized(self) -> exp.Expression:
        """A query, a row or an expression in parentheses, with what is taken from it."""
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

    def _query_if_any(self) -> exp.Subquery | None:
        """A query in parentheses if one comes next; `((select 1) + 1)` shows only at its end that it is none."""
        if not self._query_may_follow():
            return None
        token, start = self.token, self.at
        try:
            query = self.query_in_parentheses()
        except SqlSyntaxError as error:
            self._retry(start, error)
            return None
        return self.node(exp.Subquery, token, this=query)

    def _retry(self, start: int, error: SqlSyntaxError) -> None:
        """Go back to where an expression may still be read; not where only a query can have been meant."""
        if not self.symbol_at("(", ahead=start + 1 - self.at):
            raise error
        self.at = start

    def _query_may_follow(self) -> bool:
        """Whether a query begins after the opening parentheses here."""
        if not self.symbol_at("("):
            return False
        ahead = 1
        while self.symbol_at("(", ahead=ahead):
            ahead += 1
        if self.word_at("values", ahead=ahead):
            return self.symbol_at("(", ahead=ahead + 1)
        return self.word_at(*_QUERY_WORDS, ahead=ahead)

    def _overlaps(self, row: exp.Tuple) -> exp.Expression:
        """A row, or the test (a, b) OVERLAPS (c, d)."""
        token = self.token
        if not self.take("overlaps"):
            return row
        other = self._row() if self.word_at("row") else self._parenthesized()
        if not isinstance(other, exp.Tuple):
            self.fail(token)
        for side, name in ((row, "left"), (other, "right")):
            if len(side.expressions) != 2:
                message = f"wrong number of parameters on {name} side of OVERLAPS expression"
                raise SqlSyntaxError(message, position=token.start + 1)
        return self._call(token, "overlaps", [*row.expressions, *other.expressions])

    def _indirection(self, of: exp.Expression) -> exp.Expression:
        """Subscripts, fields and `.*` after an operand that may have them."""
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

    # -- words ---------------------------------------------------------------------------------------------------

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
        """The forms that begin with a keyword of the grammar; None where the word is a name here."""
        if word in RESERVED:
            return self._reserved(word, token)
        if word == "current_schema" and not self.symbol_at("(", ahead=1):
            return self._value_function()
        if not self.symbol_at("(", ahead=1):
            if word == "interval" and self.ahead().kind is Kind.STRING:
                return self._interval_constant()
            return None
        if word in _LISTED:
            return self._listed()
        match word:
            case "exists":
                self.next()
                query = self._query_if_any()
                return self.node(exp.Exists, token, this=query.this) if query is not None else self.fail()
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
            case "normalize" | "treat" | "xmlelement" | "xmlexists" | "xmlforest" | "xmlparse" | "xmlpi" | "xmlroot":
                self.unsupported(word.upper())
            case "xmlserialize":
                self.unsupported("XMLSERIALIZE")
        return None

    def _reserved(self, word: str, token: Token) -> exp.Expression | None:
        if word in _VALUES:
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
                self.unsupported("UNIQUE predicate")
        return None

    def _value_function(self) -> exp.Expression:
        """CURRENT_DATE, LOCALTIME(3), USER and the like."""
        token = self.next()
        arguments: list[exp.Expression] = []
        if token.text in _TIMED and self.take_symbol("("):
            digits = self.expect_kind(Kind.INTEGER)
            arguments.append(self.node(exp.Literal, digits, this=digits.text, is_string=False))
            self.expect_symbol(")")
        made = self._call(token, token.text, arguments)
        made.meta["keyword"] = True
        return made

    def _name(self) -> exp.Expression:
        """A column, a function call, or a constant of a named type."""
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

    # -- constants with a type -----------------------------------------------------------------------------------

    def _typed_constant(self) -> exp.Expression:
        """ConstTypename Sconst: `date '2001-01-01'` needs no keyword, `double precision '1'` is one."""
        start = self.at
        token = self.token
        typ = self.builtin_type()
        if self.token.kind is Kind.STRING:
            return self._constant_of(typ, token)
        self.at = start
        if token.kind is Kind.WORD and self._may_name_column(token) and not self.symbol_at("(", ahead=1):
            return self._name()
        self.at = start + 1
        self.fail()

    def _may_name_column(self, token: Token) -> bool:
        return token.text not in RESERVED

    def _constant_of(self, typ: exp.DataType, token: Token) -> exp.Expression:
        text = self.next()
        literal = self.node(exp.Literal, text, this=text.text, is_string=True)
        made = self.node(exp.Cast, token, this=literal, to=typ)
        made.meta["typed_literal"] = True
        return made

    def _generic_constant(self, parts: list[exp.Identifier], token: Token) -> exp.Expression:
        typ = self.data_type(token, parts[-1].name)
        if len(parts) > 1:
            typ.set("schema", ".".join(p.name for p in parts[:-1]))
        return self._constant_of(typ, token)

    def _interval_constant(self) -> exp.Expression:
        """INTERVAL 'x' [fields] and INTERVAL(p) 'x'; otherwise a column of that name."""
        token = self.next()
        typ = self.data_type(token, "interval")
        if self.take_symbol("("):
            digits = self.expect_kind(Kind.INTEGER)
            typ.set("expressions", [self.node(exp.Literal, digits, this=digits.text, is_string=False)])
            self.expect_symbol(")")
            if self.token.kind is not Kind.STRING:
                self.fail()
            return self._constant_of(typ, token)
        made = self._constant_of(typ, token)
        self.interval_fields(typ)
        return made

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, token: Token, name: str, arguments: list[exp.Expression]) -> exp.Anonymous:
        return self.node(exp.Anonymous, token, this=name, expressions=arguments)

    def _function(self, parts: list[exp.Identifier], token: Token) -> exp.Expression:
        """func_application with WITHIN GROUP, FILTER and OVER."""
        if len(parts) == 1 and token.kind is Kind.WORD and token.text in COLUMN_NAME:
            self.fail()
        if len(parts) > 3:
            dotted = ".".join(p.name for p in parts)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        call = self._call(token, parts[-1].name, [])
        if len(parts) > 1:
            call.set("schema", parts[-2].name)
        self._arguments(call)
        return self._over(self._filtered(self._within_group(call)))

    def function_without_window(self) -> exp.Expression:
        """func_expr_windowless: a call in FROM."""
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

    def _arguments(self, call: exp.Anonymous) -> None:
        self.expect_symbol("(")
        if self.symbol_at("*"):
            star = self.next()
            call.set("expressions", [self.node(exp.Star, star)])
            self.expect_symbol(")")
            return
        if self.take_symbol(")"):
            return
        if self.take("distinct"):
            call.set("distinct", True)
        else:
            self.take("all")
        call.set("expressions", self._argument_list())
        if self.word_at("order"):
            call.set("order", self.order())
        self.expect_symbol(")")

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
        """func_arg_expr: an expression, or name => expression."""
        if self.token.kind in (Kind.WORD, Kind.NAME) and self.symbol_at("=>", ":=", ahead=1):
            token = self.token
            if not self.type_function_name_at():
                self.fail()
            name = self.identifier(self.next())
            self.next()
            return self.node(exp.Kwarg, token, this=name, expression=self.expression())
        return self.expression()

    def _within_group(self, call: exp.Anonymous) -> exp.Expression:
        token = self.token
        if not self.take("within", "group"):
            return call
        if call.args.get("order"):
            message = "cannot use multiple ORDER BY clauses with WITHIN GROUP"
            raise SqlSyntaxError(message, position=token.start + 1)
        if call.args.get("distinct"):
            raise SqlSyntaxError("cannot use DISTINCT with WITHIN GROUP", position=token.start + 1)
        if any(isinstance(a, exp.Variadic) for a in call.expressions):
            raise SqlSyntaxError("cannot use VARIADIC with WITHIN GROUP", position=token.start + 1)
        self.expect_symbol("(")
        order = self.order()
        self.expect_symbol(")")
        return self.node(exp.WithinGroup, token, this=call, expression=order)

    def _filtered(self, call: exp.Expression) -> exp.Expression:
        token = self.token
        if not (self.word_at("filter") and self.symbol_at("(", ahead=1)):
            return call
        self.next()
        self.expect_symbol("(")
        where = self.token
        self.expect("where")
        condition = self.node(exp.Where, where, this=self.expression())
        self.expect_symbol(")")
        return self.node(exp.Filter, token, this=call, expression=condition)

    def _over(self, call: exp.Expression) -> exp.Expression:
        if not self.take("over"):
            return call
        if self.symbol_at("("):
            window = self.window()
        else:
            window = self.node(exp.Window, self.token, alias=self.column_id())
            window.meta["bare"] = True
        window.set("this", call)
        return window

    def _listed(self) -> exp.Expression:
        """COALESCE(...), GREATEST(...), GROUPING(...)."""
        token = self.next()
        self.expect_symbol("(")
        arguments = self.expression_list()
        self.expect_symbol(")")
        return self._call(token, token.text, arguments)

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
        self.expect_symbol("(")
        items = [] if self.symbol_at(")") else self.expression_list()
        self.expect_symbol(")")
        made = self.node(exp.Tuple, token, expressions=items)
        made.meta["row"] = True
        return made

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

    def _position(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        part = self.bare_expression()
        self.expect("in")
        whole = self.bare_expression()
        self.expect_symbol(")")
        return self._call(token, "position", [whole, part])

    def _substring(self) -> exp.Expression:
        """SUBSTRING(a FROM b FOR c) in any order, (a SIMILAR p ESCAPE e), or a plain list."""
        token = self.next()
        self.expect_symbol("(")
        if self.take_symbol(")"):
            return self._call(token, "substring", [])
        arguments = self._argument_list()
        if len(arguments) == 1 and not self.symbol_at(")"):
            arguments += self._substring_words(token)
        self.expect_symbol(")")
        return self._call(token, "substring", arguments)

    def _substring_words(self, token: Token) -> list[exp.Expression]:
        if self.take("similar"):
            pattern = self.expression()
            self.expect("escape")
            return [pattern, self.expression()]
        found: dict[str, exp.Expression] = {}
        while self.word_at("from", "for") and self.token.text not in found:
            word = self.next().text
            found[word] = self.expression()
        if not found:
            self.fail()
        start = found.get("from") or self.node(exp.Literal, token, this="1", is_string=False)
        return [start, found["for"]] if "for" in found else [start]

    def _overlay(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        arguments = self._argument_list() if not self.symbol_at(")") else []
        if len(arguments) == 1 and self.take("placing"):
            arguments.append(self.expression())
            self.expect("from")
            arguments.append(self.expression())
            if self.take("for"):
                arguments.append(self.expression())
        self.expect_symbol(")")
        return self._call(token, "overlay", arguments)

    def _trim(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        name = "btrim"
        if self.word_at(*_TRIMS):
            name = _TRIMS[self.next().text]
        arguments = [] if self.take("from") else self.expression_list()
        if not arguments:
            arguments = self.expression_list()
        elif len(arguments) == 1 and self.take("from"):
            arguments = [*self.expression_list(), *arguments]
        self.expect_symbol(")")
        return self._call(token, name, arguments)

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
        query = self._query_if_any()
        if query is None:
            self.fail()
        made = self.node(exp.Array, token, expressions=[query.this])
        made.meta["subquery"] = True
        return made

    def _array(self, token: Token) -> exp.Expression:
        """[a, b], or [[a], [b]] without a second ARRAY."""
        self.expect_symbol("[")
        items: list[exp.Expression] = []
        if self.symbol_at("["):
            items.append(self._array(self.token))
            while self.take_symbol(","):
                items.append(self._array(self.token))
        elif not self.symbol_at("]"):
            items = self.expression_list()
        self.expect_symbol("]")
        return self.node(exp.Array, token, expressions=items)

    # -- orderings and windows -----------------------------------------------------------------------------------

    def order(self) -> exp.Order:
        """sort_clause."""
        token = self.token
        self.expect("order", "by")
        items = [self._ordered()]
        while self.take_symbol(","):
            items.append(self._ordered())
        return self.node(exp.Order, token, expressions=items)

    def _ordered(self) -> exp.Expression:
        token = self.token
        key = self.expression()
        descending = False
        if self.take("using"):
            symbol = self.next()
            if symbol.text not in ("<", ">"):
                self.unsupported(f"ORDER BY ... USING {self.sql[symbol.start : symbol.end]}", symbol)
            descending = symbol.text == ">"
        elif self.take("desc"):
            descending = True
        else:
            self.take("asc")
        nulls_first = descending
        if self.take("nulls", "first"):
            nulls_first = True
        elif self.take("nulls", "last"):
            nulls_first = False
        return self.node(exp.Ordered, token, this=key, desc=descending, nulls_first=nulls_first)

    def window(self) -> exp.Window:
        """window_specification."""
        token = self.expect_symbol("(")
        window = self.node(exp.Window, token)
        if self.column_id_at() and not self.word_at("partition", "range", "rows", "groups"):
            window.set("alias", self.column_id())
        if self.take("partition", "by"):
            window.set("partition_by", self.expression_list())
        if self.word_at("order"):
            window.set("order", self.order())
        if self.word_at("range", "rows", "groups"):
            window.set("spec", self._frame())
        self.expect_symbol(")")
        return window

    def _frame(self) -> exp.Expression:
        token = self.next()
        between = self.take("between")
        at_start = self.token
        start, start_side = self._frame_bound()
        at_end, end, end_side = at_start, None, None
        if between:
            self.expect("and")
            at_end = self.token
            end, end_side = self._frame_bound()
        self._check_frame(at_start, (start, start_side), at_end, (end, end_side) if between else ("CURRENT ROW", None))
        made = self.node(exp.WindowSpec, token, kind=token.text.upper(), start=start, start_side=start_side)
        if between:
            made.set("end", end)
            made.set("end_side", end_side)
        if self.take("exclude"):
            made.set("exclude", self._excluded())
        return made

    def _excluded(self) -> str | None:
        for words in (("current", "row"), ("group",), ("ties",)):
            if self.take(*words):
                return " ".join(words).upper()
        self.expect("no", "others")
        return None

    def _frame_bound(self) -> tuple[exp.Expression | str, str | None]:
        if self.take("current", "row"):
            return "CURRENT ROW", None
        value: exp.Expression | str
        value = "UNBOUNDED" if self.take("unbounded") else self.expression()
        if not self.word_at("preceding", "following"):
            self.fail()
        return value, self.next().text.upper()

    def _check_frame(
        self,
        at_start: Token,
        start: tuple[exp.Expression | str, str | None],
        at_end: Token,
        end: tuple[exp.Expression | str | None, str | None],
    ) -> None:
        """The frames that gram.y refuses."""

        def refuse(what: str, token: Token) -> None:
            raise WindowingError(what, position=token.start + 1)

        if start == ("UNBOUNDED", "FOLLOWING"):
            refuse("frame start cannot be UNBOUNDED FOLLOWING", at_start)
        if end == ("UNBOUNDED", "PRECEDING"):
            refuse("frame end cannot be UNBOUNDED PRECEDING", at_end)
        if start[1] == "FOLLOWING" and end[0] == "CURRENT ROW":
            refuse("frame starting from following row cannot end with current row", at_end)
        if start[0] == "CURRENT ROW" and end[1] == "PRECEDING":
            refuse("frame starting from current row cannot have preceding rows", at_end)
        if start[1] == "FOLLOWING" and end[1] == "PRECEDING":
            refuse("frame starting from following row cannot have preceding rows", at_end)

"""String functions whose arguments are separated by keywords: NORMALIZE, OVERLAY, POSITION, SUBSTRING, TRIM (gram.y:
func_expr_common_subexpr).
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.parser.grammar.forms import FormGrammar
from engine.sql.parser.lexical.lexer import Token

_TRIMS: Final = {"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}


class StringFormGrammar(FormGrammar):
    """The grammar of string functions that have a syntax of their own."""

    def _normalize(self) -> exp.Expression:
        """Read NORMALIZE(text [, NFC | NFD | NFKC | NFKD])."""
        token = self.next()
        self.expect_symbol("(")
        arguments = [self.expression()]
        if self.take_symbol(","):
            arguments.append(self._normal_form())
        self.expect_symbol(")")
        return self._call(token, "normalize", arguments)

    def _normal_form(self) -> exp.Expression:
        if not self.word_at("nfc", "nfd", "nfkc", "nfkd"):
            self.fail()
        token = self.next()
        return self.node(exp.Literal, token, this=token.text.upper(), is_string=True)

    def _position(self) -> exp.Expression:
        token = self.next()
        self.expect_symbol("(")
        part = self.bare_expression()
        self.expect("in")
        whole = self.bare_expression()
        self.expect_symbol(")")
        return self._call(token, "position", [whole, part])

    def _substring(self) -> exp.Expression:
        """Read SUBSTRING(a FROM b FOR c) in any order, (a SIMILAR p ESCAPE e), or a plain list."""
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

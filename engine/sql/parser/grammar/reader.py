"""Readers of names, by keyword class, and of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from engine.common.keywords import AS_LABEL, COLUMN_NAME, RESERVED, TYPE_FUNCTION_NAME
from engine.sql.parser.grammar.token_reader import TokenReader
from engine.sql.parser.lexical.lexer import Kind, Token

T = TypeVar("T")


class Reader(TokenReader):
    """The grammar of names and lists."""

    # -- names ---------------------------------------------------------------------------------------------------

    def column_id_at(self, ahead: int = 0) -> bool:
        """Return whether a ColId comes next: the name of a table, a column or a cursor."""
        token = self.peek(ahead)
        if token.kind is Kind.NAME:
            return True
        return token.kind is Kind.WORD and token.text not in RESERVED and token.text not in TYPE_FUNCTION_NAME

    def column_id(self) -> exp.Identifier:
        if not self.column_id_at():
            self.fail()
        return self.identifier(self.next())

    def type_function_name_at(self) -> bool:
        """Return whether a type_function_name comes next: an unqualified type or function."""
        token = self.token
        if token.kind is Kind.NAME:
            return True
        return token.kind is Kind.WORD and token.text not in RESERVED and token.text not in COLUMN_NAME

    def column_label(self) -> exp.Identifier:
        """Read a ColLabel: after AS or a dot, any keyword."""
        if self.token.kind not in (Kind.WORD, Kind.NAME):
            self.fail()
        return self.identifier(self.next())

    def bare_label_at(self) -> bool:
        """Return whether a BareColLabel comes next: a column's label without AS."""
        token = self.token
        return token.kind is Kind.NAME or (token.kind is Kind.WORD and token.text not in AS_LABEL)

    def identifier(self, token: Token) -> exp.Identifier:
        return self.node(exp.Identifier, token, this=token.text, quoted=token.kind is Kind.NAME)

    def names(self) -> list[exp.Identifier]:
        """Read name [, ...] in parentheses."""
        return self.parenthesized_list(self.column_id)

    # -- lists ---------------------------------------------------------------------------------------------------

    def comma_list(self, item: Callable[[], T]) -> list[T]:
        """Read item [, ...]."""
        found = [item()]
        while self.take_symbol(","):
            found.append(item())
        return found

    def parenthesized_list(self, item: Callable[[], T], *, empty: bool = False) -> list[T]:
        """Read ( item [, ...] ). empty: whether () is allowed."""
        self.expect_symbol("(")
        found = [] if empty and self.symbol_at(")") else self.comma_list(item)
        self.expect_symbol(")")
        return found

    def behaviour(self) -> bool:
        """Read [CASCADE | RESTRICT] (opt_drop_behavior); return whether it is CASCADE."""
        cascade = self.take("cascade")
        if not cascade:
            self.take("restrict")
        return cascade

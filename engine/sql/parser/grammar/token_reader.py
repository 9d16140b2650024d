"""A cursor over tokens: lookahead, consumption, syntax errors, and nodes with their positions."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from sqlglot import exp

from engine.common.interrupts import check_for_interrupts
from engine.sql.parser.lexical.lexer import Kind, Token
from wire.errors import FeatureNotSupported, SqlSyntaxError

NodeT = TypeVar("NodeT", bound=exp.Expression)
T = TypeVar("T")


class TokenReader:
    """A reader of `tokens` of `sql` from `at`. `base`: the offset in `sql` of the statement that is read. Positions in
    nodes are relative to it; positions in errors are relative to `sql`.
    """

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        self.sql = sql
        self.tokens = tokens
        self.at = 0
        self.base = 0

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, count: int = 1) -> Token:
        """Return the token `count` further on, or the END."""
        at = self.at + count
        return self.tokens[at] if at < len(self.tokens) else self.tokens[-1]

    def next(self) -> Token:
        token = self.tokens[self.at]
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def at_end(self) -> bool:
        return self.tokens[self.at].kind is Kind.END

    def word_at(self, *words: str, ahead: int = 0) -> bool:
        """Return whether the next token (or the one `ahead` of it) is one of these keywords."""
        token = self.peek(ahead)
        return token.kind is Kind.WORD and token.text in words

    def words_at(self, *words: str) -> bool:
        """Return whether the next tokens are these keywords, in this order."""
        return all(self.word_at(word, ahead=i) for i, word in enumerate(words))

    def symbol_at(self, *symbols: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind is Kind.OPERATOR and token.text in symbols

    # -- taking --------------------------------------------------------------------------------------------------

    def take(self, *words: str) -> bool:
        """Consume these keywords if they all come next, otherwise none. Return whether they were consumed."""
        if self.words_at(*words):
            self.at += len(words)
            return True
        return False

    def take_symbol(self, symbol: str) -> bool:
        if self.symbol_at(symbol):
            self.at += 1
            return True
        return False

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                self.fail()

    def expect_symbol(self, symbol: str) -> Token:
        if not self.symbol_at(symbol):
            self.fail()
        return self.next()

    def expect_kind(self, kind: Kind) -> Token:
        if self.token.kind is not kind:
            self.fail()
        return self.next()

    # -- nodes and errors ----------------------------------------------------------------------------------------

    def node(self, node_class: type[NodeT], token: Token, /, **args: Any) -> NodeT:
        """Return a node with the position of `token`."""
        check_for_interrupts()
        made = node_class(**args)
        made.meta["start"] = token.start - self.base
        return made

    def fail(self, token: Token | None = None) -> NoReturn:
        """Raise PostgreSQL's syntax error at `token`, the next one by default."""
        raise self.error(token)

    def error(self, token: Token | None = None) -> SqlSyntaxError:
        token = token or self.token
        if token.kind is Kind.END:
            return SqlSyntaxError("syntax error at end of input", position=token.start + 1)
        source = self.sql[token.start : token.end]
        return SqlSyntaxError(f'syntax error at or near "{source}"', position=token.start + 1)

    def raise_unsupported(self, what: str, token: Token | None = None, hint: str | None = None) -> NoReturn:
        raise FeatureNotSupported(f"not supported: {what}", position=(token or self.token).start + 1, hint=hint)

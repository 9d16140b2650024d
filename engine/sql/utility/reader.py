"""The grammar of queries with what utility statements need beside: nested queries, qualified names, plain values."""

from __future__ import annotations

from engine.sql.grammar.queries import QueryGrammar
from engine.sql.lexer import Kind
from engine.sql.statements import QualifiedName, Query
from wire.errors import SqlSyntaxError


class StatementReader(QueryGrammar):
    """Reads whole statements."""

    def text_since(self, start: int) -> str:
        """The source from `start` to the end of the last token read."""
        return self.sql[start : self.tokens[self.at - 1].end]

    def query_statement(self) -> Query:
        """A query as a statement of its own; positions in its tree count from its beginning."""
        start = self.token.start
        outer, self.base = self.base, start
        tree = self.query()
        self.base = outer
        return Query(tree=tree, text=self.text_since(start), offset=start)

    def name(self) -> str:
        """ColId, as text."""
        return self.column_id().name

    def qualified_name(self) -> QualifiedName:
        token = self.token
        parts = [self.name()]
        while self.take_symbol("."):
            parts.append(self.column_label().name)
        if len(parts) > 3:
            dotted = ".".join(parts)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        if len(parts) == 3:
            self.unsupported(f"a database in the name {'.'.join(parts)}", token)
        return QualifiedName(
            schema=parts[0] if len(parts) == 2 else None, name=parts[-1], position=token.start - self.base
        )

    def number(self) -> str:
        """NumericOnly: a constant with its sign."""
        sign = "-" if self.take_symbol("-") else ""
        if not sign:
            self.take_symbol("+")
        if self.token.kind not in (Kind.INTEGER, Kind.DECIMAL):
            self.fail()
        return sign + self.next().text

    def number_at(self) -> bool:
        ahead = 1 if self.symbol_at("-", "+") else 0
        return self.ahead(ahead).kind in (Kind.INTEGER, Kind.DECIMAL)

    def integer(self) -> int:
        """SignedIconst: an int4."""
        token = self.token
        negative = self.take_symbol("-")
        if not negative:
            self.take_symbol("+")
        digits = self.expect_kind(Kind.INTEGER)
        value = int(digits.text)
        if value > 2**31 - 1:
            self.fail(token if not negative else digits)
        return -value if negative else value

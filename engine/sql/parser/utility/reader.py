"""The grammar of queries, extended by what utility statements need: nested queries, qualified names, plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.catalog.model.objects import DATABASE
from engine.sql.parser.grammar.mutations import MutationGrammar
from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.nodes.statements import MutationStatement, QualifiedName, Query
from wire.common.digits import parse_digits
from wire.errors import FeatureNotSupported, SqlSyntaxError


class StatementReader(MutationGrammar):
    """The reader of whole statements."""

    def text_since(self, start: int) -> str:
        """Return the source from `start` to the end of the last token read."""
        return self.sql[start : self.tokens[self.at - 1].end]

    def query_statement(self) -> Query:
        """Read a query as a statement of its own; positions in its tree count from its beginning."""
        start = self.token.start
        outer, self.base = self.base, start
        tree = self.query()
        self.base = outer
        return Query(tree=tree, text=self.text_since(start), offset=start)

    def mutation_statement(self) -> MutationStatement:
        """Read INSERT, UPDATE, DELETE or MERGE as a statement of its own; positions in its trees count from its
        beginning.
        """
        start = self.token.start
        outer, self.base = self.base, start
        statement = self.mutation()
        self.base = outer
        return replace(statement, text=self.text_since(start), offset=start)

    def name(self) -> str:
        """Read a ColId, as text."""
        return self.column_id().name

    def any_name(self) -> list[str]:
        """Read the parts of a dotted name."""
        parts = [self.name()]
        while self.take_symbol("."):
            parts.append(self.column_label().name)
        return parts

    def bare_name(self) -> QualifiedName:
        """Read the name of an object that belongs to no schema."""
        token = self.token
        return QualifiedName(schema=None, name=self.name(), position=token.start - self.base)

    def qualified_name(self) -> QualifiedName:
        token = self.token
        parts = self.any_name()
        if len(parts) > 3:
            dotted = ".".join(parts)
            raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=token.start + 1)
        return self.relation(parts, token)

    def relation(self, parts: Sequence[str], token: Token) -> QualifiedName:
        """Return the relation with these name parts (makeRangeVarFromNameList), of which the first is at `token`."""
        dotted = ".".join(parts)
        if len(parts) > 3:
            raise SqlSyntaxError(f"improper relation name (too many dotted names): {dotted}")
        if len(parts) == 3 and parts[0] != DATABASE:
            raise FeatureNotSupported(f'cross-database references are not implemented: "{dotted}"')
        schema = parts[-2] if len(parts) > 1 else None
        return QualifiedName(schema=schema, name=parts[-1], position=token.start - self.base)

    def into_target(self) -> tuple[QualifiedName, bool]:
        """Read an OptTempTableName: the name of the table that SELECT ... INTO creates, and whether it is temporary."""
        if self.word_at("unlogged"):
            self.raise_unsupported("SELECT INTO UNLOGGED")
        temporary = self.take_temporary()
        self.take("table")
        return self.qualified_name(), temporary

    def take_temporary(self) -> bool:
        """Read [GLOBAL | LOCAL] {TEMPORARY | TEMP}, if it comes next; return whether it does."""
        if self.word_at("local", "global") and self.word_at("temp", "temporary", ahead=1):
            self.next()
        return self.take("temp") or self.take("temporary")

    def number(self) -> str:
        """Read a NumericOnly: a constant with its sign."""
        sign = "-" if self.take_symbol("-") else ""
        if not sign:
            self.take_symbol("+")
        if self.token.kind not in (Kind.INTEGER, Kind.DECIMAL):
            self.fail()
        return sign + self.next().text

    def number_at(self) -> bool:
        ahead = 1 if self.symbol_at("-", "+") else 0
        return self.peek(ahead).kind in (Kind.INTEGER, Kind.DECIMAL)

    def integer(self) -> int:
        """Read a SignedIconst: an int4."""
        token = self.token
        negative = self.take_symbol("-")
        if not negative:
            self.take_symbol("+")
        digits = self.expect_kind(Kind.INTEGER)
        value = parse_digits(digits.text)
        if value > 2**31 - 1:
            self.fail(token if not negative else digits)
        return -value if negative else value

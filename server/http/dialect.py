"""Translates Trino's syntax into PostgreSQL's.

Only syntax and the names of types are translated. Functions mean what they mean in PostgreSQL, as everywhere on this
member: a call keeps its name and is looked up among PostgreSQL's functions, and a function that PostgreSQL lacks is
refused (42883). sqlglot would replace calls by expressions of its own, some of which give other results: its
`date_diff` rounds where Trino's truncates, `try_cast` becomes a cast that fails. The exceptions are syntax in the form
of calls (CAST, EXTRACT, SUBSTRING ... FROM ...), `if`, and `concat`, which returns null for a null argument in Trino
but ignores it in PostgreSQL.

buenavista's `Rewriter` does the work; `rewrite` is overridden here, because theirs swallows every error and passes on
text that it could not parse.
"""

from __future__ import annotations

import re
from typing import Any, Final

from buenavista.bv_dialects import BVPostgres, BVTrino
from buenavista.rewrite import Rewriter
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.tokenizer_core import TokenType

from engine.common.depth import bounded_depth
from engine.common.disposal import take_apart
from engine.common.interrupts import check_for_interrupts
from engine.sql.trees.engine_dialects import InterruptibleGenerator
from wire.errors import FeatureNotSupported, SqlSyntaxError

_KEPT_FUNCTIONS: Final = ("ARRAY", "CONCAT", "COALESCE", "IF", "NULLIF")
_KEPT_PARSERS: Final = ("CAST", "TRY_CAST", "EXTRACT", "LISTAGG", "OVERLAY", "POSITION", "SUBSTRING", "TRIM")
#: Syntax without an equivalent in PostgreSQL.
_REFUSED: Final[dict[type[exp.Expression], str]] = {
    exp.TryCast: "try_cast",
    exp.Lambda: "lambda expressions",
    exp.MatchRecognize: "MATCH_RECOGNIZE",
}
#: Trino's functions by which its clients write these values.
_NUMBERS: Final = {"infinity": "Infinity", "nan": "NaN"}
_ZONED: Final = (exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMETZ)


class SluiceTrino(BVTrino):
    """See the module's docstring. A `?` is a Placeholder whose name is its position."""

    class Parser(BVTrino.Parser):
        FUNCTIONS = {name: BVTrino.Parser.FUNCTIONS[name] for name in _KEPT_FUNCTIONS}  # noqa: RUF012
        FUNCTION_PARSERS = {name: BVTrino.Parser.FUNCTION_PARSERS[name] for name in _KEPT_PARSERS}  # noqa: RUF012
        PLACEHOLDER_PARSERS = {  # noqa: RUF012
            TokenType.PLACEHOLDER: lambda self: self.expression(exp.Placeholder(this=str(self._prev.start)))
        }

        def _advance(self, times: int = 1) -> None:
            check_for_interrupts()
            super()._advance(times)


class SluicePostgres(BVPostgres):
    """PostgreSQL's SQL, written interruptibly."""

    class Generator(InterruptibleGenerator, PostgresGenerator):
        pass


TRINO: Final = SluiceTrino()
POSTGRES: Final = SluicePostgres()


def read(sql: str) -> exp.Expression:
    """Parse a text that contains one statement. Raises SqlSyntaxError, with a position."""
    try:
        with bounded_depth():
            trees: list[exp.Expression] = [tree for tree in TRINO.parse(sql) if tree is not None]
    except (ParseError, TokenError) as error:
        raise _syntax_error(sql, error) from None
    if len(trees) != 1:
        raise SqlSyntaxError("expected one statement" if trees else "expected a statement")
    return trees[0]


def _syntax_error(sql: str, error: ParseError | TokenError) -> SqlSyntaxError:
    """Return an error with sqlglot's message, without the excerpt of the text that it underlines."""
    details: dict[str, Any] = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    if not details.get("line"):
        return SqlSyntaxError(f"syntax error: {str(error).splitlines()[0]}")
    lines = sql.splitlines(keepends=True)
    start = sum(map(len, lines[: details["line"] - 1])) + details["col"] - len(details.get("highlight") or "")
    return SqlSyntaxError(
        f'syntax error at or near "{details.get("highlight")}"',
        position=max(start, 0) + 1,
    )


class TrinoRewriter(Rewriter):
    """See the module's docstring. `relation` adds relations."""

    def __init__(self) -> None:
        super().__init__(TRINO, POSTGRES)

    def rewrite(self, sql: str) -> str:
        """Return a statement's text in PostgreSQL's SQL. Raises SqlSyntaxError, FeatureNotSupported."""
        return self.rewrite_tree(read(sql))

    def rewrite_tree(self, tree: exp.Expression) -> str:
        """Return a tree as text in PostgreSQL's SQL."""
        with bounded_depth():
            for node in tree.find_all(*_REFUSED):
                raise FeatureNotSupported(f"not supported: {_REFUSED[type(node)]}")
            for placeholder in tree.find_all(exp.Placeholder):
                raise SqlSyntaxError("a parameter without a value", position=int(placeholder.name or 0) + 1)
            rewritten = [self.rewrite_one(tree)]
            try:
                return str(POSTGRES.generate(rewritten[0], copy=False, normalize_functions=False))
            finally:
                take_apart(rewritten)

    def rewrite_one(self, expression: exp.Expression) -> exp.Expression:
        """Return the tree as PostgreSQL's SQL. The tree that is given is changed."""
        named = expression.transform(self._name_subquery, copy=False)
        return super().rewrite_one(named).transform(_in_postgres, copy=False)

    def _name_subquery(self, node: exp.Expression) -> exp.Expression:
        """Name the subquery that replaces a relation by the relation's name: PostgreSQL 15 requires a name for every
        subquery.
        """
        check_for_interrupts()
        if isinstance(node, exp.Table) and not node.alias and exp.table_name(node) in self._relations:
            node.set("alias", exp.TableAlias(this=node.this.copy()))
        return node


def _in_postgres(node: exp.Expression) -> exp.Expression:
    check_for_interrupts()
    match node:
        case exp.Literal(is_string=False) if "e" in node.name.lower():
            # Doubles in Trino, numerics in PostgreSQL.
            return exp.cast(exp.Literal.string(node.name), "double precision", dialect="postgres")
        case exp.HexString():
            return exp.cast(exp.Literal.string("\\x" + node.name), "bytea", dialect="postgres")
        case exp.Anonymous(this=str(name)) if name.lower() in _NUMBERS and not node.expressions:
            return exp.cast(exp.Literal.string(_NUMBERS[name.lower()]), "double precision", dialect="postgres")
        case exp.Cast(this=exp.Literal(is_string=True)) if node.to.this in _ZONED:
            # PostgreSQL would read `UTC+2` as a POSIX zone, whose sign is inverted.
            return exp.Cast(this=exp.Literal.string(re.sub(r"UTC(?=[+-]\d)", "", node.name)), to=node.to)
        case exp.Cast(this=exp.Literal(is_string=True)) if _is_bare_decimal(node.to):
            return exp.Cast(this=node.this, to=_decimal_of(node.name))
        case exp.DataType() if _is_bare_decimal(node) and not isinstance(node.parent, exp.Cast):
            return _decimal(38, 0)
        case exp.Cast() if _is_bare_decimal(node.to):
            return exp.Cast(this=node.this, to=_decimal(38, 0))
    return node


def _is_bare_decimal(typ: exp.Expression) -> bool:
    return isinstance(typ, exp.DataType) and typ.this is exp.DataType.Type.DECIMAL and not typ.expressions


def _decimal_of(text: str) -> exp.DataType:
    """Return the type of Trino's literal DECIMAL '...': precision and scale are those of its digits."""
    digits = text.strip().lstrip("+-")
    return _decimal(max(len(digits.replace(".", "")), 1), len(digits.partition(".")[2]))


def _decimal(precision: int, scale: int) -> exp.DataType:
    return exp.DataType.build(f"decimal({precision}, {scale})", dialect="postgres")

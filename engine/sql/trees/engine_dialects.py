"""The two engines' SQL dialects, as we read and write them.

sqlglot's dialects are made to translate between engines, and so they rewrite what they read and write. Here the text
must match the tree verbatim: function calls are kept by name, NULLS FIRST or LAST is always written, WITHIN GROUP stays
WITHIN GROUP.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.generator import Generator
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.spark import SparkParser

from engine.common.interrupts import check_for_interrupts
from engine.contracts.query_id import EngineName

#: Special syntaxes that remain calls of their own; everything else parses as a plain call.
_SYNTAX: Final = ("CAST", "TRY_CAST", "EXTRACT")


def _ordered_sql(generator: Any, ordered: exp.Ordered) -> str:
    direction = " DESC" if ordered.args.get("desc") else ""
    nulls = "FIRST" if ordered.args.get("nulls_first") else "LAST"
    return f"{generator.sql(ordered, 'this')}{direction} NULLS {nulls}"


def _within_group(generator: Any, node: exp.WithinGroup) -> str:
    order = generator.sql(node, "expression").strip()
    return f"{generator.sql(node, 'this')} WITHIN GROUP ({order})"


def _spark_literal(generator: Any, node: exp.Literal) -> str:
    """Write a string literal without `${`, because Spark substitutes its configuration for `${name}`, even inside a
    string.
    """
    return str(generator.literal_sql(node)).replace("${", "\\u0024{")


def _syntax(parser: type[Parser]) -> dict[str, Any]:
    """Return the special syntaxes that a dialect's parser keeps."""
    return {name: special for name, special in parser.FUNCTION_PARSERS.items() if name in _SYNTAX}


#: Generators, for both engines, of nodes that sqlglot would translate.
_VERBATIM: Final[dict[Any, Any]] = {exp.Ordered: _ordered_sql, exp.WithinGroup: _within_group}


class InterruptibleGenerator(Generator):
    """A generator that checks for interrupts with each node that it writes."""

    def sql(self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True) -> str:
        check_for_interrupts()
        return super().sql(expression, key, comment)


class LocalSql(DuckDB):
    """DuckDB's SQL, verbatim. This includes subscripts, which sqlglot would otherwise count from 0, depending on the
    types.
    """

    INDEX_OFFSET = 0

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _syntax(DuckDBParser)

    class Generator(InterruptibleGenerator, DuckDBGenerator):
        MULTI_ARG_DISTINCT = True
        TRANSFORMS: ClassVar[dict[Any, Any]] = {**DuckDBGenerator.TRANSFORMS, **_VERBATIM}


class SparkSql(Spark):
    """Spark's SQL, verbatim."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _syntax(SparkParser)

        def _parse_grouping_set(self) -> exp.Expr | None:
            """Parse a grouping set, also the empty one, which sqlglot does not read in any dialect."""
            if self._match_pair(TokenType.L_PAREN, TokenType.R_PAREN):
                return exp.Tuple()
            return super()._parse_grouping_set()

    class Generator(InterruptibleGenerator, SparkGenerator):
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **SparkGenerator.TRANSFORMS,
            **_VERBATIM,
            exp.Literal: _spark_literal,
        }


DIALECTS: Final[dict[EngineName, type[Dialect]]] = {"local": LocalSql, "spark": SparkSql}

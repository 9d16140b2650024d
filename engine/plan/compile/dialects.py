"""The two engines' SQL as we write it: how trees become text, and how template snippets become trees.

sqlglot's dialects are made to translate between engines, and so they rewrite what they read and write. Here the text must
say what the tree says, verbatim: function calls are kept by name, NULLS FIRST or LAST is always written, WITHIN GROUP
stays WITHIN GROUP. Both executors and EXPLAIN use `to_sql`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar, Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.spark import SparkParser

from engine.executor import EngineName

#: Special syntaxes that remain calls of their own; everything else parses as a plain call.
_SYNTAX: Final = ("CAST", "TRY_CAST", "EXTRACT")


def _ordered(generator: Any, ordered: exp.Ordered) -> str:
    direction = " DESC" if ordered.args.get("desc") else ""
    nulls = "FIRST" if ordered.args.get("nulls_first") else "LAST"
    return f"{generator.sql(ordered, 'this')}{direction} NULLS {nulls}"


def _within_group(generator: Any, node: exp.WithinGroup) -> str:
    order = generator.sql(node, "expression").strip()
    return f"{generator.sql(node, 'this')} WITHIN GROUP ({order})"


def _spark_literal(generator: Any, node: exp.Literal) -> str:
    """Spark puts its configuration in the place of `${name}`, even inside a string."""
    return str(generator.literal_sql(node)).replace("${", "\\u0024{")


class LocalSql(DuckDB):
    """DuckDB's SQL, verbatim: subscripts too, which would otherwise be counted from 0, by the types of what they are of."""

    INDEX_OFFSET = 0

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in DuckDBParser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }

    class Generator(DuckDBGenerator):
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **DuckDBGenerator.TRANSFORMS,
            exp.Ordered: _ordered,
            exp.WithinGroup: _within_group,
        }


class SparkSql(Spark):
    """Spark's SQL, verbatim."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }

    class Generator(SparkGenerator):
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **SparkGenerator.TRANSFORMS,
            exp.Ordered: _ordered,
            exp.WithinGroup: _within_group,
            exp.Literal: _spark_literal,
        }


DIALECTS: Final[dict[EngineName, type[Dialect]]] = {"local": LocalSql, "spark": SparkSql}


def to_sql(tree: exp.Expression, engine: EngineName, *, pretty: bool = False) -> str:
    """The text of a compiled tree, as its engine reads it. Not of a copy, which would cost as much again: nothing is rewritten."""
    return tree.sql(dialect=DIALECTS[engine], pretty=pretty, comments=False, copy=False)


#: A placeholder's name in a parsed snippet; `placeholder_index` reads it back.
_PLACEHOLDER_NAME: Final = "arg__"
_ALL: Final = "all"
#: A string or a quoted name, kept as it is, or a placeholder.
_SCAN: Final[dict[EngineName, re.Pattern[str]]] = {
    "local": re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(?P<index>\d+|\*)"),
    "spark": re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\$(?P<index>\d+|\*)", re.DOTALL),
}


def _named(match: re.Match[str]) -> str:
    index = match["index"]
    if index is None:
        return match[0]
    return _PLACEHOLDER_NAME + (_ALL if index == "*" else index)


@cache
def snippet(text: str, engine: EngineName) -> exp.Expression:
    """A template's snippet as a tree, shared: copy it before use. `$1` ... have become columns (`placeholder_index`)."""
    tree = sqlglot.parse_one(_SCAN[engine].sub(_named, text), dialect=DIALECTS[engine])
    assert isinstance(tree, exp.Expression)
    for node in tree.walk():
        # Where in the snippet a word stood: nobody asks, and copying it is most of what copying a tree costs.
        node._meta = None
    return tree


def placeholder_index(node: exp.Expression) -> int | None:
    """Which argument (from 1; 0 for `$*`) a snippet's column stands for; None for any other node."""
    if not isinstance(node, exp.Column) or not node.name.startswith(_PLACEHOLDER_NAME):
        return None
    index = node.name[len(_PLACEHOLDER_NAME) :]
    return 0 if index == _ALL else int(index)

"""A compiled tree as text for its engine; for the in-process engine, long strings become values of parameters.

DuckDB takes some 100 ns for each character of a literal, and each step of printing a tree copies the texts below it
while it holds the interpreter's lock: a parameter of 200 MB that became a literal kept its statement busy for 25 s, and
blocked all other clients for seven of these. As the value of a parameter it costs one copy. Other members and Spark
receive text only, with literals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.sql.trees.dialects import to_sql
from wire.dataclass import dataclass

#: The length from which on a string is not printed into the text.
LONG_STRING: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class PrintedStatement:
    """The text of a statement. values: the long strings that the `$name`s in the text stand for."""

    text: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """The number of characters of the text and the values."""
        return len(self.text) + sum(map(len, self.values.values()))


def print_statement(tree: exp.Expression, engine: EngineName) -> PrintedStatement:
    """Print a statement for an engine; the tree stays as it is."""
    if engine != "local" or not any(map(_is_long, tree.find_all(exp.Literal))):
        return PrintedStatement(to_sql(tree, engine))
    tree, values = tree.copy(), dict[str, str]()
    for literal in list(filter(_is_long, tree.find_all(exp.Literal))):
        name = f"string_{len(values) + 1}"
        values[name] = literal.this
        literal.replace(exp.Placeholder(this=name))
    return PrintedStatement(to_sql(tree, engine), values)


def _is_long(literal: exp.Literal) -> bool:
    return literal.is_string and len(literal.this) > LONG_STRING

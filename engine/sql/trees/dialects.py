"""Convert trees to text, and template snippets to trees. Both executors and EXPLAIN use `to_sql`."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import sqlglot
from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.sql.trees.engine_dialects import DIALECTS


def to_sql(tree: exp.Expression, engine: EngineName, *, pretty: bool = False) -> str:
    """Return the text of a compiled tree, as its engine reads it. The tree itself is printed and not a copy, which
    would cost as much again; printing changes nothing.
    """
    return tree.sql(dialect=DIALECTS[engine], pretty=pretty, comments=False, copy=False)


#: A placeholder's name in a parsed snippet; `placeholder_index` reads it back.
_PLACEHOLDER_NAME: Final = "arg__"
_ALL: Final = "all"
#: Matches a string or a quoted name, which stays as it is, or a placeholder.
_SCAN: Final[dict[EngineName, re.Pattern[str]]] = {
    "local": re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(?P<index>\d+|\*)"),
    "spark": re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\$(?P<index>\d+|\*)", re.DOTALL),
}


def _name_placeholder(match: re.Match[str]) -> str:
    index = match["index"]
    if index is None:
        return match[0]
    return _PLACEHOLDER_NAME + (_ALL if index == "*" else index)


@cache
def snippet(text: str, engine: EngineName) -> exp.Expression:
    """Parse a template's snippet into a tree, which is shared: copy it before use. `$1` ... become columns
    (`placeholder_index`).
    """
    tree = sqlglot.parse_one(_SCAN[engine].sub(_name_placeholder, text), dialect=DIALECTS[engine])
    assert isinstance(tree, exp.Expression)
    for node in tree.walk():
        # Drop the tokens' positions in the snippet: nothing uses them, and copying them is most of the cost of copying
        # a tree.
        node._meta = None
    return tree


def placeholder_index(node: exp.Expression) -> int | None:
    """Return the argument (from 1; 0 for `$*`) that a snippet's column stands for; None for any other node."""
    if not isinstance(node, exp.Column) or not node.name.startswith(_PLACEHOLDER_NAME):
        return None
    index = node.name[len(_PLACEHOLDER_NAME) :]
    return 0 if index == _ALL else int(index)

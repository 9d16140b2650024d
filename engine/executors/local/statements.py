"""The sources that a statement for DuckDB reads, found in its tree.

A statement that was compiled here has the tree from which its text was printed. A fragment of another member has only a
text, which is parsed in the dialect in which it was written. The parsed tree is trusted only if printing it reproduces
the text exactly. So a statement that is derived from it differs from the one that was sent only in what was changed
here. Parsing a text takes as long as compiling it, some milliseconds, which would be wasted on a statement that runs
once.

What is kept of a statement does not include its tree: the tree belongs to the compiled statement, and ends with it.
"""

from __future__ import annotations

from typing import Any, Final

import sqlglot
from sqlglot import exp

from engine.common.disposal import end_tree, take_apart
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.planner.codegen.files import FOLDERS_NAME
from engine.sql.trees.copies import copy_tree
from engine.sql.trees.dialects import to_sql
from engine.sql.trees.engine_dialects import DIALECTS
from wire.dataclass import dataclass

_TEXT_LENGTH: Final = 32_768
_TEXTS: Final = 512
#: The total characters of the cached statements; each character corresponds to some 80 bytes of tree.
TEXTS_ROOM: Final = 1 << 19
_READERS: Final = ("READ_PARQUET", "READ_CSV", "READ_JSON")
#: The nodes of a statement that only reads a table's columns.
_SCAN: Final = (
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Subquery, exp.Column, exp.Identifier, exp.Alias, exp.Cast, exp.DataType,
    exp.DataTypeParam, exp.Literal,
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A table function of a statement: the files that it names, or the parameter whose value they are. A reader is
    equal only to itself.

    call: a copy of the call, which must not be changed.
    """

    call: exp.Anonymous
    files: tuple[str, ...]
    parameter: str

    def __del__(self) -> None:
        end_tree(self, "call")


@dataclass(frozen=True, slots=True)
class _Statement:
    readers: tuple[Reader, ...]
    is_scan: bool


_STATEMENTS: Final[WeightedLruCache[str, _Statement | None]] = WeightedLruCache(
    _TEXTS, TEXTS_ROOM, lambda text, _: len(text)
)
_OVER_TABLES: Final[WeightedLruCache[tuple[str, tuple[str, ...]], str]] = WeightedLruCache(_TEXTS)


def readers_of(text: str, tree: exp.Expression | None = None) -> tuple[Reader, ...] | None:
    """Return the statement's table functions over files; None if they cannot be determined. tree: the tree from which
    the text was printed; None if the caller does not have it.
    """
    statement = _read(text, tree) if len(text) <= _TEXT_LENGTH else None
    return None if statement is None else statement.readers


def is_scan(text: str, tree: exp.Expression | None = None) -> bool:
    """Return whether the statement returns a table's rows as they are read: no filter, and no computation but casts.
    tree: as above.
    """
    statement = _read(text, tree) if len(text) <= _TEXT_LENGTH else None
    return statement is not None and statement.is_scan


def over_tables(text: str, names: tuple[str, ...], tree: exp.Expression | None = None) -> str:
    """Return the statement with its readers replaced, in order, by tables of these names. tree: as above."""
    return _OVER_TABLES.get((text, names), lambda: _print_over_tables(text, names, tree))


def _print_over_tables(text: str, names: tuple[str, ...], tree: exp.Expression | None) -> str:
    root = _parse(text) if tree is None else copy_tree(tree)
    assert root is not None, "a statement whose readers are known"
    # Both the tree and the calls that it has no more.
    changed: list[Any] = [root, *(calls := _calls(root))]
    for index, name in enumerate(names):
        calls[index].replace(exp.to_identifier(name))
    printed = to_sql(root, "local")
    del root, calls
    take_apart(changed)
    return printed


def _read(text: str, tree: exp.Expression | None) -> _Statement | None:
    return _STATEMENTS.get(text, lambda: _read_anew(text, tree))


def _read_anew(text: str, tree: exp.Expression | None) -> _Statement | None:
    parsed = [] if tree is not None else [_parse(text)]
    if (tree := tree or parsed[0]) is None:
        return None
    calls = _calls(tree) if any(name in text for name in _READERS) else []
    readers = [_reader(call) for call in calls]
    known = tuple(reader for reader in readers if reader is not None)
    statement = _Statement(known, _is_scan(tree, calls)) if len(known) == len(readers) else None
    del tree, calls
    take_apart(parsed)
    return statement


def _parse(text: str) -> exp.Expression | None:
    try:
        tree = sqlglot.parse_one(text, dialect=DIALECTS["local"])
    except sqlglot.ParseError:
        return None
    return tree if isinstance(tree, exp.Expression) and to_sql(tree, "local") == text else None


def _calls(tree: exp.Expression) -> list[exp.Anonymous]:
    return [node for node in tree.find_all(exp.Anonymous) if node.name.upper() in _READERS]


def _names_folders(option: exp.Expression) -> bool:
    """Return whether an option of a table function computes columns from the files' names. Over rows in memory that
    would be done for each row, and no longer for each file.
    """
    return isinstance(option, exp.EQ) and option.expression.name.startswith(FOLDERS_NAME)


def _reader(call: exp.Anonymous) -> Reader | None:
    if not isinstance(call.parent, exp.Table) or any(map(_names_folders, call.expressions)):
        return None
    paths = call.expressions[0]
    if isinstance(paths, exp.Array):
        return Reader(copy_tree(call), tuple(path.name for path in paths.expressions), "")
    name = paths.name if isinstance(paths, (exp.Placeholder, exp.Parameter)) else ""
    return Reader(copy_tree(call), (), name) if name else None


def _is_scan(tree: exp.Expression, calls: list[exp.Anonymous]) -> bool:
    if len(calls) != 1:
        return False
    [call] = calls
    return all(isinstance(node, _SCAN) or node is call for node in tree.walk(prune=lambda node: node is call))

"""Validation of statements for DuckDB that another member sent: the member that runs one checks that the compiler
could have produced it.

The check uses DuckDB's own tree (`json_serialize_sql`), so that it examines what DuckDB will run, and not another
parser's reading of the text. DuckDB serializes only queries. Every node of the tree must be of a kind that is listed
here. Every function must be one that the compiler emits (`engine.executors.local.fragment_functions`). Every table must
be an input of the fragment or a common table expression in scope. A reader of files takes them from the parameter
`$r<reader>`, whose value this member has determined itself, or names each file in full, without wildcards; the check
returns these files, because `engine.runtime.readable_files` decides whether they may be read.

Rejected: sqlglot's tree, which costs as much, and where its reading of a text differs from DuckDB's, the checked
statement is not the one that runs. A list of forbidden constructs: each release of DuckDB would add to it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Set
from functools import cache
from typing import Any, Final

import duckdb
import msgspec

from engine.common.depth import bounded_depth
from engine.executors.local import udf
from engine.executors.local.fragment_functions import FUNCTIONS, READER_OPTIONS, READERS, TABLE_FUNCTIONS, TOLD
from engine.executors.local.sandbox import CONFINED
from engine.planner.codegen.files import literal_path, plain_path
from engine.planner.codegen.provenance import refusal, require_compilable

_SERIALIZE: Final = "select json_serialize_sql($1, skip_null := true, skip_empty := true, skip_default := true)"
_OPERATOR: Final = re.compile(r"[^\w\s]+|like_escape|not_like_escape")
_FILES: Final = re.compile(r"r\d+")
#: The permitted kinds of expressions.
_CLASSES: Final = frozenset((
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "LAMBDA",
    "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW",
))  # fmt: skip
#: The permitted kinds of queries, of items in FROM, and of modifiers of a query.
_NODES: Final = frozenset((
    "CTE_NODE", "RECURSIVE_CTE_NODE", "SELECT_NODE", "SET_OPERATION_NODE", "BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN",
    "SUBQUERY", "TABLE_FUNCTION", "ASCENDING", "DESCENDING", "DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER",
    "ORDER_DEFAULT", "ORDER_MODIFIER",
))  # fmt: skip

Node = dict[str, Any]
#: A part of the tree and the names of the tables in scope there.
_Part = tuple[Any, Set[str]]


def require_compiled(statement: str, relations: Set[str]) -> tuple[str, ...]:
    """Return the files that a statement names. Raises InsufficientPrivilege unless the compiler could have produced it.

    relations: the names of the fragment's inputs. Takes some milliseconds, in proportion to the text.
    """
    named: list[str] = []
    with bounded_depth():
        found = msgspec.json.decode(_serialize(statement))
        if found["error"]:
            raise refusal(f"it is no query that DuckDB reads ({found.get('error_message', '')})")
        statements = found["statements"]
        if len(statements) != 1:
            raise refusal(f"it is {len(statements)} statements")
        waiting: list[_Part] = [(statements[0], frozenset(relations))]
        while waiting:
            part, tables = waiting.pop()
            if isinstance(part, dict):
                waiting += _below(part, tables, named)
            elif isinstance(part, list):
                waiting += ((each, tables) for each in part)
    return tuple(named)


def _below(node: Node, tables: Set[str], named: list[str]) -> Iterator[_Part]:
    """Check a node, and yield its parts. named: the files that the node names are appended to this list."""
    kind = node.get("type")
    if "class" in node:
        require_compilable(node["class"] in _CLASSES, f"an expression {node['class']}")
    elif isinstance(kind, str):
        require_compilable(kind in _NODES, f"a query's part {kind}")
    if "function_name" in node:
        _require_function(node)
    if kind == "BASE_TABLE":
        _require_table(node, tables)
    if kind == "TABLE_FUNCTION":
        yield from _of_table_function(node, tables, named)
        return
    if "cte_name" in node:
        tables = tables | {node["cte_name"]}
    if "cte_map" in node:
        inner = tables
        for entry in node["cte_map"].get("map", ()):
            yield entry["value"], inner
            inner = inner | {entry["key"]}
        tables = inner
    yield from ((part, tables) for key, part in node.items() if key != "cte_map")


def _require_function(node: Node) -> None:
    name = node["function_name"]
    plain = not node.get("schema") and not node.get("catalog")
    if plain and name in TOLD:
        [asked] = [argument["expression"] for argument in node["arguments"]]
        text = asked.get("literal", {}).get("text", "")
        require_compilable(
            asked["class"] == "CONSTANT" and text.lower() == TOLD[name], "the value of a setting or a variable"
        )
        return
    known = name in FUNCTIONS or name in udf.FUNCTIONS or (node.get("is_operator") and _OPERATOR.fullmatch(name))
    require_compilable(bool(plain and known), f'the function "{name}"')


def _require_table(node: Node, tables: Set[str]) -> None:
    name = node.get("table_name", "")
    plain = not node.get("schema_name") and not node.get("catalog_name")
    require_compilable(plain and name in tables, f'the table "{name}"')


def _of_table_function(node: Node, tables: Set[str], named: list[str]) -> Iterator[_Part]:
    """Check a function in FROM, a reader of files or a function that makes rows of its arguments, and yield its parts."""
    function = node["function"]
    name = function.get("function_name", "")
    require_compilable(not function.get("schema") and not function.get("catalog"), f'the function "{name}"')
    arguments = [argument["expression"] for argument in function.get("arguments", ())]
    if name in READERS:
        require_compilable(not any(argument.get("name") for argument in function["arguments"]), f"options of {name}")
        files, *options = arguments
        if not (files["class"] == "PARAMETER" and _FILES.fullmatch(files["identifier"])):
            named += map(_file, _list_elements(name, files))
        arguments = [_option(name, option) for option in options]
    else:
        require_compilable(name in TABLE_FUNCTIONS, f'the function "{name}" in FROM')
    yield arguments, tables


def _list_elements(reader: str, files: Node) -> Iterator[Node]:
    """Yield the elements of a list of files."""
    listed = files.get("function_name") == "list_value" and not files.get("schema") and not files.get("catalog")
    require_compilable(listed, f"files of {reader} that are no list")
    yield from (argument["expression"] for argument in files.get("arguments", ()))


def _file(path: Node) -> str:
    """Return a file that is named by a literal which DuckDB takes for that file and no other (`literal_path`)."""
    literal = path.get("literal", {})
    text = literal.get("text", "")
    known = path["class"] == "CONSTANT" and isinstance(text, str) and literal_path(plain_path(text)) == text
    require_compilable(known, "a file that is not named by its path")
    return plain_path(text)


def _option(reader: str, option: Node) -> Node:
    """Return the value of a reader's option, which is written as a comparison."""
    column = option.get("left", {}).get("column_names", ())
    known = option.get("type") == "COMPARE_EQUAL" and len(column) == 1 and column[0].lower() in READER_OPTIONS
    require_compilable(known, f"an option of {reader}")
    value: Node = option["right"]
    return value


def _serialize(statement: str) -> bytes:
    with _PARSING:
        [(text,)] = _parser().execute(_SERIALIZE, [statement]).fetchall()
    return str(text).encode()


#: One statement is parsed at a time, which takes milliseconds.
_PARSING: Final = threading.Lock()


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """Open a database that only parses."""
    settings: Mapping[str, Any] = {
        "threads": 1,
        "enable_external_access": False,
        **CONFINED,
        "lock_configuration": True,
    }
    return duckdb.connect(":memory:", config=dict(settings))

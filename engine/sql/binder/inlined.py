"""Functions that look something up in the system catalog, inlined as queries
(`engine.pg_catalog.system_function_sql`).

A call becomes a scalar subquery over system relations, or in FROM a derived table. The planner then needs no special
case for it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.snapshot import TEMPORARY
from engine.pg_catalog.system_function_sql import CALLS, INFORMATION_SCHEMA, TABLES, scalars
from engine.sql.binder.privilege_calls import query_text
from engine.sql.binder.scope import Scope
from engine.sql.parser.lexical.lexer import tokenize
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.trees.copies import copy_tree

#: For constant arguments the session evaluates these, errors included (`engine.session.context.functions`).
_BY_SESSION: Final = ("pg_get_serial_sequence", "current_setting")


def query_of(node: exp.Anonymous, scope: Scope) -> exp.Expression | None:
    """Return the query that a call stands for; None if it is an ordinary function."""
    text = scalars().get((str(node.this), len(node.expressions))) or query_text(
        str(node.this), node.expressions, scope.context.role_oid
    )
    if text is None or node.args.get("schema") not in _schemas(str(node.this)):
        return None
    if scope.context.catalog.oid_of("pg_catalog", "pg_description", ()) is None:
        return None
    if str(node.this) in _BY_SESSION and all(_is_constant(e) for e in node.expressions):
        return None
    return _with_arguments(text, node, scope)


def call_of(node: exp.Anonymous, scope: Scope) -> exp.Expression | None:
    """Return the call of another function that a call stands for; None if it is an ordinary function."""
    text = CALLS.get((str(node.this), len(node.expressions)))
    if text is None or node.args.get("schema") not in _schemas(str(node.this)):
        return None
    (call,) = _with_arguments(text, node, scope).expressions
    assert isinstance(call, exp.Expression), "a select list has expressions"
    return call


def table_of(node: exp.Expression, scope: Scope) -> exp.Expression | None:
    """Return the query that a call in FROM stands for; None if it is an ordinary function."""
    if not isinstance(node, exp.Anonymous):
        return None
    text = TABLES.get((str(node.this), len(node.expressions)))
    if text is None or node.args.get("schema") not in (None, "pg_catalog"):
        return None
    return _with_arguments(text, node, scope)


def _is_constant(node: exp.Expression) -> bool:
    bare = node.this if isinstance(node, exp.Cast) else node
    return isinstance(bare, exp.Literal | exp.Parameter | exp.Boolean)


def _schemas(name: str) -> Sequence[str | None]:
    return ("information_schema",) if name in INFORMATION_SCHEMA else (None, "pg_catalog")


def _with_arguments(text: str, node: exp.Anonymous, scope: Scope) -> exp.Expression:
    tree = query_from(text, scope)
    for parameter in list(tree.find_all(exp.Parameter)):
        argument = node.expressions[int(parameter.name) - 1].copy()
        parameter.replace(argument)
    return tree


def query_from(text: str, scope: Scope) -> exp.Expression:
    """Parse a query text of ours; `{path}` in it is the search path, which begins with temporary tables."""
    path = scope.context.session_path or scope.context.search_path
    return copy_tree(_read(text.replace("{path}", _array(path if TEMPORARY in path else (TEMPORARY, *path)))))


@functools.lru_cache(256)
def _read(text: str) -> exp.Expression:
    return StatementReader(text, tokenize(text)).query()


def _array(names: Sequence[str]) -> str:
    quoted = ("'" + name.replace("'", "''") + "'" for name in names)
    return f"array[{', '.join(quoted)}]::text[]"

"""Functions that look something up in the system catalog, as the queries that they are: PostgreSQL defines some of them in SQL
too (system_functions.sql). A call becomes a scalar subquery over system relations, which whoever plans it knows already.

The names inside are such that no argument can mean one of them by mistake.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.lexer import tokenize
from engine.sql.scope import Scope
from engine.sql.utility.reader import StatementReader

_CLASS: Final = (
    "case $2 when 'pg_class' then 1259 when 'pg_namespace' then 2615 when 'pg_constraint' then 2606 else 0 end"
)
_DESCRIPTION: Final = (
    'select "=text" from (select objoid, classoid, objsubid, description from pg_catalog.pg_description)'
    ' as "=d" ("=oid", "=class", "=sub", "=text")'
)
_DEFINITION: Final = (
    'select "=text" from (select oid, definition from sluice.object_definitions) as "=d" ("=oid", "=text") '
    'where "=oid" = $1'
)
#: By name and number of arguments, which are $1 and so on.
_QUERIES: Final = {
    ("obj_description", 1): f'{_DESCRIPTION} where "=oid" = $1 and "=sub" = 0 limit 1',
    ("obj_description", 2): f'{_DESCRIPTION} where "=oid" = $1 and "=class" = {_CLASS} and "=sub" = 0',
    ("col_description", 2): f'{_DESCRIPTION} where "=oid" = $1 and "=class" = 1259 and "=sub" = $2',
    # The catalog has expressions as text.
    ("pg_get_expr", 2): "select $1",
    ("pg_get_expr", 3): "select $1",
    ("pg_get_constraintdef", 1): _DEFINITION,
    ("pg_get_constraintdef", 2): _DEFINITION,
}


def query_of(node: exp.Anonymous, scope: Scope) -> exp.Expression | None:
    """The query that a call stands for; None where it is a function as others are."""
    text = _QUERIES.get((str(node.this), len(node.expressions)))
    if text is None or node.args.get("schema") not in (None, "pg_catalog"):
        return None
    if scope.context.catalog.oid_of("pg_catalog", "pg_description", ()) is None:
        return None
    tree = StatementReader(text, tokenize(text)).query()
    for parameter in list(tree.find_all(exp.Parameter)):
        argument = node.expressions[int(parameter.name) - 1].copy()
        parameter.replace(argument)
    return tree

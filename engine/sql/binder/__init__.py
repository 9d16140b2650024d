"""The binder: it turns a query's parse tree into a logical plan by PostgreSQL's rules.

    bound = bind_query(query, BindContext(catalog, search_path, input_settings))

`bind` is the entry point, `queries` is the binder of queries, and `handlers` is its dispatch table. `select` binds one
SELECT with the help of `from_clause`, `grouping`, `set_returning`, `sorting` and `labels`; `set_operations` and
`common_tables` bind the clauses that they are named after. `expressions` and its siblings bind expressions. Both
binders build on `engine.sql.binder.scope`.
"""

from engine.sql.binder.bind import BoundQuery, bind_query

__all__ = ["BoundQuery", "bind_query"]

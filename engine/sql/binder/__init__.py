"""From a query's tree to a plan, by PostgreSQL's rules.

    bound = bind_query(query, BindContext(catalog, search_path, input_settings))

`bind` is the entrance, `queries` the binder of queries, `handlers` its dispatch; `select` binds one SELECT with the help of
`from_clause`, `grouping`, `set_returning`, `sorting` and `labels`; `set_operations` and `common_tables` bind what their names
say. Expressions are the work of `expressions` and its siblings. The ground that both stand on is `engine.sql.binder.scope`.
"""

from engine.sql.binder.bind import BoundQuery, bind_query

__all__ = ["BoundQuery", "bind_query"]

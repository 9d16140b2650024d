"""The grammar of queries: PostgreSQL's gram.y read by recursive descent, giving sqlglot trees.

One layer a file, each a class over the one below: `reader` (tokens, names, errors), `types` (type names), `expressions`,
`queries`. `engine.sql.dialect` says what the trees look like; `engine.sql.parser` and `engine.sql.utility` drive it.
"""

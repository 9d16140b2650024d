"""PostgreSQL's regular expressions, understood well enough to be asked of other engines.

`wire.regex.grammar` reads a pattern into a tree, `classes` knows what its character classes hold, `render` writes the
tree for RE2 (DuckDB) or java.util.regex (Spark), and `agreement` decides whether those engines, which take the first match by
preference, find the match that PostgreSQL takes by length. Everything here is pure; the rows are in
`engine.sql.functions.regexp`.
"""

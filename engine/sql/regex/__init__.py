"""PostgreSQL's regular expressions: their translation to other engines, and a matcher of our own.

`wire.regex.grammar` reads a pattern into a tree, `classes` has the members of its character classes, `render` writes
the tree for RE2 (DuckDB) or java.util.regex (Spark), and `agreement` decides whether those engines, which take the
first match by preference, find the match that PostgreSQL takes by length. `matching` matches as PostgreSQL does.
Everything here is pure; the function table's rows are in `engine.sql.functions.regexp`.
"""

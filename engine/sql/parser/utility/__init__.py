"""Readers of statements other than queries: each reads its statement into fields. One file a family, with its
`READERS` by first keyword.

A reader is called at the statement's first keyword and stops after its last token. It returns the statement without
text and offset, which `engine.sql.parser.parse` adds. The grammar is PostgreSQL's (gram.y).
"""

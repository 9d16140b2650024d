"""Statements that are no queries, read into fields: one file a family, each with its `READERS` by first keyword.

A reader is called at the statement's first keyword and stops behind its last token. It returns the statement without text
and offset, which `engine.sql.parser.parse` puts in. The grammar is PostgreSQL's (gram.y).
"""

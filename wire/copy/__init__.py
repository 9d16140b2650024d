"""COPY's formats: rows as bytes, and bytes as rows, a block at a time (copyfromparse.c, copyto.c).

`options` says how a file is written; `reader` cuts what arrives into whole rows and takes them apart; `text` and `quoted` (CSV)
know where a row ends and what a field means; `writer` makes rows for a client. Nothing here knows a table or a type: a field
is text or null.

Rows in which nothing is special go through Arrow's CSV reader (`plain`). In others, fields are found with numpy: the places of
the few bytes that matter (delimiters, ends of lines, backslashes, quotes) are all that is looked at, and a column is taken from
a block with one Arrow kernel.

Rejected: the CSV readers of DuckDB and of Arrow for all rows. Neither has PostgreSQL's text format or lets quotes open in the
middle of a field, and neither says which line is wrong in PostgreSQL's words.
"""

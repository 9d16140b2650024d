"""COPY: rows between a table or a query and the client, as text, CSV (`wire.copy`).

`options` reads what the statement says; `copy_to` is a query whose rows are written in another form; `copy_from` is an INSERT
whose rows come from the client, a block at a time, and so in constant memory: `copy_rows` turns blocks of text into rows,
with the casts that read a column of text anywhere else.
"""

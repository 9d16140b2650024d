"""COPY: transfer rows between a table or a query and the client or files, as text, CSV or binary (`wire.copy`).

`options` reads the statement's options. `copy_to` runs a query and writes its rows in another format. `copy_from` is an
INSERT whose rows come from the client. It handles one block at a time, and so runs in constant memory: `copy_rows`
turns blocks of text into rows, with the same casts that read a column of text elsewhere.
"""

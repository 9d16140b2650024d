"""COPY's formats: rows as bytes, and bytes as rows, a block at a time (copyfromparse.c, copyto.c).

- `options` describes the format of a file.
- `reader` cuts the received bytes into whole rows, and has these split into fields.
- `text` and `quoted` (CSV) find the ends of rows and decode fields.
- `writer` makes rows for a client.

The package knows neither tables nor types: a field is text or null.

Arrow's CSV reader reads rows without special characters (`plain`). For all other rows, numpy finds the few bytes that
matter (delimiters, line ends, backslashes, quotes), and one Arrow kernel takes each column from a block.

Rejected: the CSV readers of DuckDB and of Arrow for all rows. Neither supports PostgreSQL's text format or a quote that
opens in the middle of a field, and neither reports the line of an error with PostgreSQL's message.
"""

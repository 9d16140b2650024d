"""Records of statements from their first byte to their end, the history of those that have ended, and the graphs of their plans.

`server.pgwire.running` makes the records; the `sluice` system tables, `/status` and the console read them.
"""

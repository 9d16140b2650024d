"""Runs a MUTATE: it writes rows into files, describes the files as intents, and records the intents in the session's
catalog.

`run` drives the statement: it finds the files to be rewritten, opens the input as any query is opened, hands its
batches to a `sink` on a thread of the writers' pool, and records the result (`intents`). `violations` makes
PostgreSQL's errors for rows that break a constraint. `unique` looks for duplicate keys before anything is recorded.

Nothing is visible before it is recorded. The files of a statement that fails, is cancelled or loses its client are
removed. A statement sees the files that its table had when the statement began, so an INSERT ... SELECT from its own
target ends.
"""

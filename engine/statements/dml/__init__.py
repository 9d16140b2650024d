"""Running a MUTATE: rows into files, files into intents, intents into the session's catalog.

`run` drives: it finds the files to be written anew, opens the input as any query is opened, hands its batches to a `sink` on a
thread of the writers' pool, and records what came of it (`intents`). `violations` says what PostgreSQL says of a row that may
not be; `unique` looks for keys that are there twice, before anything is recorded.

Nothing is visible before it is recorded, and what was written by a statement that fails, is cancelled or loses its client is
removed. What the statement sees of its own table are the files that were there when it began: so an INSERT ... SELECT from
its own target ends.
"""

"""`sluice sql`: a shell for people, over psycopg.

`statements` takes input apart, `printing` shows results, `plans` draws plans, `describing` answers \\d, `completion` knows names,
`waiting` shows how far a statement has come, `shell` runs what was typed, `prompt` reads it from a terminal.
"""

r"""`sluice sql`: a shell for people, over psycopg.

`statements` splits input, `printing` shows results, `plans` draws plans, `describing` answers \d, `completion`
completes names, `waiting` shows a statement's progress, `shell` runs the input, `prompt` reads it from a terminal.
"""

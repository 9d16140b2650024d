"""The sink of a MUTATE: it checks rows, writes files, and reports what it has written."""

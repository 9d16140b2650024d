"""Suites that the authors of drivers and tools wrote for PostgreSQL, run by their own runners against a member and against a
real PostgreSQL 15, and compared test by test.

`make clients`, or `PYTHONPATH=.:tests .venv/bin/python -m suites NAME ... [--against sluice|postgres|both] [--write]`.

What passes on PostgreSQL is what must pass here. A test that passes there and not here (failed, skipped or missing) needs a
reason in `reasons/NAME.toml`, which people review; one without makes the run fail. `--write` keeps what a run found in
`results/NAME.json` and writes the table in docs/compatibility.md from all of these.

A suite is a file: where its package comes from, which environment and connection it is given, how it is run, what is left out
and why; `__main__` lists them. Rejected: copies of the tests in this repository (they would not be their authors' any more), and
counting what passes without comparing with PostgreSQL on the same machine (suites have tests that fail or skip anywhere).
"""

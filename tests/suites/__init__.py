"""Test suites that the authors of drivers and tools wrote for PostgreSQL, run by their own runners against a member and
against a real PostgreSQL 15, and compared test by test.

`make clients`, or `PYTHONPATH=.:tests .venv/bin/python -m suites NAME ... [--against sluice|postgres|both] [--write]`.

A test that passes on PostgreSQL must pass here. A test that passes there and not here (failed, skipped or missing)
needs a reason in `reasons/NAME.toml`, which people review; without one the run fails. `--write` stores a run's results
in `results/NAME.json` and writes the table in docs/compatibility.md from all of these.

A suite is a file that says where its package comes from, which environment and connection it gets, how it is run, which
tests are left out and why; `__main__` lists the suites. Rejected: copies of the tests in this repository (they would
not be their authors' any more), and counting what passes without comparing with PostgreSQL on the same machine (suites
have tests that fail or skip anywhere).
"""

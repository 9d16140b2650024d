"""From SQL to streams of Arrow batches: it parses, plans, and runs fragments on DuckDB, on Spark, and on other members."""

from engine.common.interpreted_sqlglot import load_from_source

load_from_source()

"""From SQL to streams of Arrow batches: it parses, plans, and runs fragments on DuckDB, on Spark, and on other members."""

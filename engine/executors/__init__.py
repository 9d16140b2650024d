"""The engines that run fragments: DuckDB in process, and Spark."""

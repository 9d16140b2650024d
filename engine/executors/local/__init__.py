"""The local executor: DuckDB in the member's process, and the functions that DuckDB lacks."""

"""From a bound query to compiled fragments: optimizer passes, choice of engine, distribution, code generation, EXPLAIN."""

"""PostgreSQL's SQL: the parser, the binder and the function table."""

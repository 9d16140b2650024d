"""SQL as PostgreSQL has it: parser, binder, function table."""

"""PostgreSQL's regular expressions."""

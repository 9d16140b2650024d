"""PostgreSQL's types: their vocabulary, their Arrow carriers, and their text and binary representations."""

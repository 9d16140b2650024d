"""One client's session on the engine: its context, its transaction, and the dispatch of statements."""

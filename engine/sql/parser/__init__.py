"""The parser, from a query string to parse nodes: lexer, grammar, and a reader for each kind of statement."""

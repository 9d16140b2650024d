"""Parse nodes: statements as the parser returns them, with names folded and nothing bound."""

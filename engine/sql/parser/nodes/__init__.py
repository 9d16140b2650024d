"""Parse nodes: statements as the parser gives them, names folded and nothing bound."""

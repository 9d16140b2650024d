"""Tokens of a query string, and positions in it."""

"""Queries, and EXPLAIN of them."""

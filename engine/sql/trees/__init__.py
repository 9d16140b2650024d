"""Builders of sqlglot trees for the two engines: storage types, literals, keys, and printing."""

"""Builders of sqlglot trees for the two engines: types of storage, literals, keys, and the printed text."""

"""Catalog objects as immutable values: relations, types, roles, privileges, statistics."""

"""Catalog snapshots, who may do what in them, and the conflicts between their changes."""

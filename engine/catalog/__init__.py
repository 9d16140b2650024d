"""Catalog snapshots, the checks of privileges in them, and the conflicts between transactions' changes."""

"""Passes over the logical plan, estimates, and the files that need not be read."""

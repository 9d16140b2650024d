"""Handlers of statements, a room for each kind."""

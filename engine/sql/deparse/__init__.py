"""Stored expressions and definitions: as PostgreSQL prints them, and the names they contain."""

"""Stored expressions and definitions: how PostgreSQL prints them, and the names they contain."""

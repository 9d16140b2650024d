"""Definitions: CREATE, ALTER, DROP, COMMENT, GRANT and roles."""

"""A running member: listeners, sessions, portals, configuration, command line, console."""

import engine  # noqa: F401 - before any import of sqlglot

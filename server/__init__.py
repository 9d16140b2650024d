"""A running member: listeners, sessions, portals, configuration, command line, console."""

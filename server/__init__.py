"""A running member: listeners, sessions, portals, configuration, command line, console."""

from importlib.metadata import version

__version__ = version("sluice")

"""Errors of the configuration, in a module of their own, so that a module that catches them need not import pydantic."""

from __future__ import annotations


class ConfigurationError(Exception):
    """The configuration has mistakes; the message has a line for each, ready to print."""


class AccessError(Exception):
    """Certificates or rules have mistakes; the message begins with the key."""


class CannotStart(Exception):
    """A member does not start; the message tells its operator why."""

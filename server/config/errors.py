"""Errors of the configuration, in a module of their own, so that a module that catches them need not import pydantic."""

from __future__ import annotations


class ConfigurationError(Exception):
    """A configuration with mistakes; the message has a line for each, ready to print."""


class AccessError(Exception):
    """Certificates or rules with mistakes; the message begins with the key."""


class CannotStart(Exception):
    """A member that cannot start; the message gives the operator the reason."""

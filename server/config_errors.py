"""What can be wrong with a configuration: apart from `server.config`, so that who catches it need not import pydantic."""

from __future__ import annotations


class ConfigurationError(Exception):
    """What is wrong with a configuration, a line for each mistake, ready to print."""


class AccessError(Exception):
    """What is wrong with certificates or rules, in words that begin with the key."""

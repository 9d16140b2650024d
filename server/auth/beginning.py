"""The result of a client's admission, from its startup packet or from a login through another door: user, database,
settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Beginning:
    """A client's startup parameters. settings: as sent; those in `options` come first, then the parameters themselves."""

    protocol: tuple[int, int]
    user: str
    database: str
    settings: Mapping[str, str] = field(default_factory=dict)

"""Host addresses that stand for every interface. A socket can listen there; nobody can connect there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: By host, the address at which its own machine reaches a socket that listens there. (Other machines need a name to resolve.)
WILDCARDS: Final[Mapping[str, str]] = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104

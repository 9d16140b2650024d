"""The services of an engine that COPY uses beside those of all statements."""

from __future__ import annotations

from typing import Protocol

from engine.statements.copy.files import CopyRoots
from engine.statements.shared.engine_services import EngineServices


class CopyServices(EngineServices, Protocol):
    """`engine.engine.Engine` provides them."""

    @property
    def copy_roots(self) -> CopyRoots:
        """The folders in which files of COPY may lie."""
        ...

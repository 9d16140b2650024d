"""Errors for expressions that one engine cannot compute."""

from __future__ import annotations

from engine.contracts.query_id import EngineName


class Unsupported(Exception):
    """Raised if `engine` cannot run a fragment because of `what`. The planner tries the other engine, and otherwise
    refuses with 0A000.
    """

    def __init__(self, engine: EngineName, what: str) -> None:
        super().__init__(f"{engine}: {what}")
        self.engine = engine
        self.what = what

"""What other members may have this one run: statements as the compiler makes them, and nothing else.

A `start` brings SQL, made by the initiator, and whoever knows the cluster's secret may send one. So the member that runs it checks
it: `engine.local.statement_check` for DuckDB, `engine.spark.statement_check` for Spark. Which files may be read, also of those
that a text names, is said by `engine.runtime.readable_files`, and where rows are written by `engine.mutation.participant`.

Statements come again, so what passed is remembered by its text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Set
from typing import Final

from engine.executor import EngineName
from engine.local import statement_check as local
from engine.remembered import Remembered
from engine.spark import statement_check as spark
from wire.errors import InsufficientPrivilege

_log: Final = logging.getLogger(__name__)
_TEXTS: Final = 512
#: Characters of all texts that are remembered.
_TEXTS_ROOM: Final = 1 << 20
_CHECKS: Final[dict[EngineName, Callable[[str, Set[str]], tuple[str, ...]]]] = {
    "local": local.require_compiled,
    "spark": spark.require_compiled,
}
#: The relation that a task's statement reads which says who receives which row (`engine.plan.spec.RouterSpec`).
PART: Final = frozenset(("part",))


class PeerStatements:
    """Thread-safe."""

    def __init__(self) -> None:
        self._passed: Remembered[tuple[EngineName, str, frozenset[str]], tuple[str, ...]] = Remembered(
            _TEXTS, _TEXTS_ROOM, lambda key, _: len(key[1])
        )

    def require(self, query: str, engine: EngineName, statement: str, relations: frozenset[str]) -> tuple[str, ...]:
        """The files that the statement names. Raises InsufficientPrivilege unless the compiler could have made it.

        relations: the tables that it may name. Takes some milliseconds the first time.
        """
        try:
            return self._passed.get((engine, statement, relations), lambda: _CHECKS[engine](statement, relations))
        except InsufficientPrivilege as error:
            _log.error("query %s: refused to run a statement for another member: %s", query, error.message)
            raise

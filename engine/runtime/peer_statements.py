"""Checks the statements that other members send to this one: it runs only statements that the compiler could have made.

A `start` message contains SQL that the initiator has compiled, and anyone who knows the cluster's secret can send one.
So the member that runs the SQL checks it: with `engine.executors.local.statement_check` for DuckDB, with
`engine.executors.spark.statement_check` for Spark. `engine.runtime.readable_files` decides which files may be read,
including those that the SQL names; `engine.statements.dml.participant` decides where rows are written.

The same statements arrive repeatedly, so those that have passed are cached by their text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Set
from typing import Final

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.query_id import EngineName
from engine.executors.local import statement_check as local
from engine.executors.spark import statement_check as spark
from wire.errors import InsufficientPrivilege

_log: Final = logging.getLogger(__name__)
_TEXTS: Final = 512
#: The limit of the characters of all cached texts.
_TEXTS_ROOM: Final = 1 << 20
_CHECKS: Final[dict[EngineName, Callable[[str, Set[str]], tuple[str, ...]]]] = {
    "local": local.require_compiled,
    "spark": spark.require_compiled,
}
#: The relation in a task's statement that maps rows to their receivers (`engine.plan_ir.spec.RouterSpec`).
PART: Final = frozenset(("part",))


class PeerStatements:
    """See the module's docstring. Thread-safe."""

    def __init__(self) -> None:
        self._passed: WeightedLruCache[tuple[EngineName, str, frozenset[str]], tuple[str, ...]] = WeightedLruCache(
            _TEXTS, _TEXTS_ROOM, lambda key, _: len(key[1])
        )

    def require(self, query: str, engine: EngineName, statement: str, relations: frozenset[str]) -> tuple[str, ...]:
        """Return the files that the statement names. Raises InsufficientPrivilege unless the compiler could have made
        the statement.

        relations: the tables that it may name. Takes some milliseconds the first time.
        """
        try:
            return self._passed.get((engine, statement, relations), lambda: _CHECKS[engine](statement, relations))
        except InsufficientPrivilege as error:
            _log.error("query %s: refused to run a statement for another member: %s", query, error.message)
            raise

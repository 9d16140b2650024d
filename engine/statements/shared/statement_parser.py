"""Parses query strings into statements. Results are cached; long strings are parsed on a thread."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from engine.common.weighted_lru_cache import CacheFigures, WeightedLruCache
from engine.runtime.planning_pool import SHORT_CHARACTERS, PlanningPool
from engine.sql.parser.masking import names_password
from engine.sql.parser.nodes.statements import Statement
from engine.sql.parser.parse import parse

T = TypeVar("T")
#: The limits of the cache: the number of statements, and of their characters, each of which takes up to 250 bytes.
_PARSED: Final = 1024
_PARSED_ROOM: Final = 1 << 19
#: The number of characters from which a text is refused while the member takes more memory than it may. It may be one
#: constant, which takes few steps, but is kept as a setting or in a prepared statement.
_HEAVY_CHARACTERS: Final = 1 << 18
#: The average number of characters of a long text for each node of its trees.
_NODE_CHARACTERS: Final = 5


class StatementParser:
    """The parser that the sessions of a member share. planning: parses long texts."""

    def __init__(self, planning: PlanningPool) -> None:
        self._planning = planning
        self._parsed: WeightedLruCache[str, Sequence[Statement]] = WeightedLruCache(
            _PARSED, _PARSED_ROOM, lambda sql, _: len(sql)
        )

    async def parse(self, sql: str) -> Sequence[Statement]:
        """Run `parse(sql)`. Results are cached for texts of ordinary length without passwords; a long text is parsed
        without blocking other sessions. Raises SqlError.
        """
        if len(sql) > _HEAVY_CHARACTERS:
            self._planning.require_memory()
        if len(sql) > SHORT_CHARACTERS:
            statements = await self._planning.run(functools.partial(parse, sql), long=True)
            self._dispose_after(statements, len(sql) // _NODE_CHARACTERS)
            return statements
        if names_password(sql):
            return parse(sql)
        return self._parsed.get(sql, lambda: parse(sql))

    async def translate(self, call: Callable[[], T], characters: int) -> T:
        """Run a call that reads a text of so many characters in another dialect: a long one blocks no other session,
        and ends when it is interrupted, if it checks for that (`engine.common.interrupts`). Raises what the call raises.
        """
        return call() if characters <= SHORT_CHARACTERS else await self._planning.run(call, long=True)

    def _dispose_after(self, statements: Sequence[Statement], nodes: int) -> None:
        """Free the trees of a long text piece by piece once its last statement is dropped."""
        if statements:
            *before, last = statements
            self._planning.dispose_with(last, [*before, *filter(gc.is_tracked, gc.get_referents(last))], nodes)

    def figures(self) -> CacheFigures:
        """Return the hits, misses and entries of the cache."""
        return self._parsed.figures()

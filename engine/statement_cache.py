"""Bound and optimised queries, kept so that a repeated statement costs neither parse nor plan.

The key is everything binding looked at: the text, the parameter types and digits, the catalog's version, the search path,
and the settings by which literals are read. What a plan read of the file system is checked on each use instead: a table
whose files changed makes the entry stale.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final

from engine import session_functions
from engine.api import ResultColumn
from engine.catalog.files import refresh
from engine.catalog.objects import Relation, Table
from engine.distribution import CompiledQuery
from engine.plan.logical import Final as FinalNode
from engine.plan.logical import TableReader
from engine.plan.rewrite import walk_all
from engine.sql.accesses import Requirement
from engine.sql.scope import RowLock
from wire import types as t

_STATEMENTS: Final = 512
_COMPILED: Final = 8


@dataclass
class PlannedQuery:
    """A query ready for any engine.

    plan: after all passes. columns, parameters: as Describe tells them. reads: the relations it names directly.
    locks: the relations of which FOR UPDATE asks for rows. requirements: what has to be permitted whenever it runs.
    schemas: those that it names, which have to be usable already when it is prepared.
    compiled: what it was compiled to, by the session's terms, the members, parameter values and context; the last few.
    """

    plan: FinalNode
    columns: tuple[ResultColumn, ...]
    parameters: tuple[t.PgType, ...]
    reads: tuple[Relation, ...]
    locks: tuple[RowLock, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    schemas: frozenset[str] = frozenset()
    compiled: OrderedDict[Hashable, CompiledQuery] = field(default_factory=OrderedDict)

    @functools.cached_property
    def tables(self) -> tuple[Table, ...]:
        readers = (node.table for node in walk_all(self.plan) if isinstance(node, TableReader))
        return tuple(table for table in readers if isinstance(table, Table))

    @functools.cached_property
    def context_names(self) -> frozenset[str]:
        """The names of the session values that it refers to."""
        return session_functions.context_names(self.plan)

    @functools.cached_property
    def calls_session(self) -> bool:
        """Whether it calls functions that read or change the session (`engine.session_functions`)."""
        return session_functions.used(self.plan)

    def fresh(self) -> bool:
        """Whether the files of its tables are still those it was planned for."""
        return all(refresh(table) is table for table in self.tables)

    def remember(self, key: Hashable, query: CompiledQuery) -> None:
        self.compiled[key] = query
        if len(self.compiled) > _COMPILED:
            self.compiled.popitem(last=False)


class StatementCache:
    """Least recently used entries go first. Used from the loop's thread only."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, PlannedQuery] = OrderedDict()

    def find(self, key: Hashable) -> PlannedQuery | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def keep(self, key: Hashable, entry: PlannedQuery) -> None:
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > _STATEMENTS:
            self._entries.popitem(last=False)

    def statistics(self) -> Mapping[str, int]:
        return {"cached": len(self._entries)}

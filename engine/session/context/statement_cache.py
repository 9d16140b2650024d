"""Caches bound and optimised queries, so that a repeated statement is neither parsed nor planned again.

The key is everything that binding depends on: the text, the parameter types and digits, the catalog's version, the
search path, and the settings by which literals are read. What a plan read of the file system is checked on each use
instead: a table whose files have changed makes the entry stale. A query over system relations alone has no version in
its key: the questions that it asked of the catalog are asked again.

Each commit to the catalog invalidates the other entries, and they stay until others take their room. So the cache is
bounded in bytes too. The size of an entry is estimated from the nodes of its plan and the length of the text; the
factors are measured (`sys.getsizeof` of all that an entry reaches: 207 to 229 bytes a node of a plan, 1,100 to 1,300
more for each time that it is compiled).
"""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from engine.catalog.model.objects import Relation, Table
from engine.common.weighted_lru_cache import CacheFigures
from engine.contracts.sessions import ResultColumn
from engine.lakes.foreign_files import refresh
from engine.lakes.local_disks import are_local, look_up, paths_of
from engine.pg_catalog import is_system
from engine.plan_ir.logical import Root, TableReader
from engine.plan_ir.requirements import Requirement
from engine.plan_ir.rewrite import size, walk_all
from engine.plan_ir.volatility import is_constant_plan
from engine.session.context import functions
from engine.session.context.recording_catalog import Question
from engine.session.context.row_calls import Split, split
from engine.sql.binder.scope import RowLock
from engine.statements.shared.distribution import CompiledQuery
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings

T = TypeVar("T")
_STATEMENTS: Final = 512
_COMPILED: Final = 8
_ROOM_BYTES: Final = 64 << 20
#: The maximum size of an entry; a larger plan is not kept.
_ENTRY_BYTES: Final = _ROOM_BYTES // 8
_NODE_BYTES: Final = 256
_COMPILED_NODE_BYTES: Final = 1280
_FILE_BYTES: Final = 256
#: The number of files whose times may be read on the event loop's thread: a tenth of a millisecond.
_LISTED_HERE: Final = 16


@dataclass
class PlanCosts:
    """The costs of a query's plans (`engine.statements.query.plan_cache`). custom: the number of custom plans made.
    custom_total: the sum of their costs. generic: the cost of the generic plan; None: not known yet.
    """

    custom: int = 0
    custom_total: float = 0.0
    generic: float | None = None


def lists_many(tables: Iterable[Table]) -> bool:
    """Return whether it takes long to find the current files of tables: folders are listed, logs are read."""
    foreign = [table for table in tables if table.storage is None]
    return any(table.lake for table in foreign) or sum(len(table.files) for table in foreign) > _LISTED_HERE


@dataclass
class PlannedQuery:
    """A query ready for any engine.

    - plan: after all passes
    - columns, parameters: as Describe reports them
    - reads: the relations that it names directly
    - locks: the relations whose rows FOR UPDATE asks for
    - requirements: the privileges that each execution needs
    - schemas: those that it names; USAGE on them is needed even to prepare it
    - primary_keys: OIDs of those without which its GROUP BY would be an error
    - compiled: the last few compilations, by the session's terms, the members, parameter values and context
    - generic: compilations for any values, by the same key without the values; None if the plan depends on values
    - costs: of its plans
    - length: of its text
    - keys: the keys of the cache under which planning it again would give the same
    - kept: whether the cache has it
    - of_session: it reads rows that are the session's (`engine.session.context.system_rows`)
    - read_by: the settings by which its literals were read, and are read whenever it is bound again
    - answers: to the questions that binding asked of the catalog
    - holds_at: the last state of the catalog in which the answers were found to be the same
    """

    plan: Root
    columns: tuple[ResultColumn, ...]
    parameters: tuple[t.PgType, ...]
    reads: tuple[Relation, ...]
    locks: tuple[RowLock, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    schemas: frozenset[str] = frozenset()
    primary_keys: tuple[int, ...] = ()
    compiled: OrderedDict[Hashable, CompiledQuery] = field(default_factory=OrderedDict)
    generic: OrderedDict[Hashable, CompiledQuery | None] = field(default_factory=OrderedDict)
    costs: PlanCosts = field(default_factory=PlanCosts)
    length: int = 0
    keys: frozenset[Hashable] = frozenset()
    kept: bool = False
    of_session: bool = False
    read_by: InputSettings = field(default_factory=InputSettings)
    answers: Mapping[Question, Any] = field(default_factory=dict)
    holds_at: Hashable = None

    def with_plan(self, plan: Root) -> PlannedQuery:
        """Return the query over other rows of the system relations. The result is not cached."""
        return replace(
            self,
            plan=plan,
            compiled=OrderedDict(),
            generic=OrderedDict(),
            costs=PlanCosts(),
            keys=frozenset(),
            kept=False,
        )

    @functools.cached_property
    def tables(self) -> tuple[Table, ...]:
        readers = (node.table for node in walk_all(self.plan) if isinstance(node, TableReader))
        return tuple(table for table in readers if isinstance(table, Table))

    @functools.cached_property
    def reads_system(self) -> bool:
        """Whether it reads system relations and no others."""
        tables = [node.table for node in walk_all(self.plan) if isinstance(node, TableReader)]
        return bool(tables) and all(is_system(table) for table in tables)

    @functools.cached_property
    def is_by_number(self) -> bool:
        """Whether it reads system relations only and its parameters are OIDs or other whole numbers, so that one plan
        serves all values.
        """
        return self.reads_system and all(parameter in t.WHOLE_NUMBERS for parameter in self.parameters)

    @functools.cached_property
    def context_names(self) -> frozenset[str]:
        """The names of the session values that it refers to."""
        return functions.context_names(self.plan)

    @functools.cached_property
    def calls_session(self) -> bool:
        """Whether it calls functions that read or change the session (`engine.session.context.functions`)."""
        return functions.uses_session_functions(self.plan)

    @functools.cached_property
    def split(self) -> Split:
        """The plan, split into the part that engines run and the calls that are made for its rows."""
        return split(self.plan)

    @functools.cached_property
    def is_constant(self) -> bool:
        """Whether it returns the same rows whenever it runs."""
        return is_constant_plan(self.plan)

    def survey(self) -> None:
        """Compute the cached properties that each execution needs, on the thread that planned the query, so that no
        walk of the plan blocks other sessions.
        """
        look_up(self.paths)
        _ = (
            self.size,
            self.files,
            self.lists_many,
            self.reads_system,
            self.context_names,
            self.calls_session,
            self.is_constant,
        )
        if self.calls_session:
            _ = self.split

    def fresh(self) -> bool:
        """Return whether the files of its tables are still those for which it was planned. Blocks on listings of
        folders.
        """
        look_up(self.paths)
        return all(refresh(table) is table for table in self.tables)

    @functools.cached_property
    def files(self) -> int:
        """The number of its tables' files."""
        return sum(len(table.files) for table in self.tables)

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths that `fresh` and a compilation look at."""
        return paths_of(self.tables)

    @functools.cached_property
    def lists_many(self) -> bool:
        """Whether `fresh` lists many files, or reads a log."""
        return lists_many(self.tables)

    @property
    def may_wait(self) -> bool:
        """Whether `fresh` may take long: it looks at many files, or at some that are not on local disks."""
        return self.lists_many or not are_local(self.paths)

    @functools.cached_property
    def size(self) -> int:
        """The number of the plan's nodes."""
        return size(self.plan)

    @property
    def bytes(self) -> int:
        """The approximate memory that it takes."""
        return self._planned_bytes + (len(self.compiled) + len(self.generic)) * self._compiled_bytes

    @functools.cached_property
    def _planned_bytes(self) -> int:
        files = sum(len(table.files) + (len(table.storage.added) if table.storage else 0) for table in self.tables)
        return _NODE_BYTES * self.size + 2 * self.length + _FILE_BYTES * files

    @property
    def _compiled_bytes(self) -> int:
        return _COMPILED_NODE_BYTES * self.size + self.length

    def remember(self, key: Hashable, query: CompiledQuery) -> None:
        """Keep a compilation, unless it is too large."""
        self._keep(self.compiled, key, query)

    def remember_generic(self, key: Hashable, query: CompiledQuery | None) -> None:
        """Keep a generic compilation."""
        self._keep(self.generic, key, query)

    def _keep(self, kept: OrderedDict[Hashable, T], key: Hashable, query: T) -> None:
        if self.bytes + self._compiled_bytes > _ENTRY_BYTES:
            return
        kept[key] = query
        if len(kept) > _COMPILED:
            kept.popitem(last=False)


class StatementCache:
    """The cache of planned queries. The least recently used entries are evicted first. Used on the loop's thread only."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, PlannedQuery] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    def find(self, key: Hashable) -> PlannedQuery | None:
        entry = self._entries.get(key)
        if entry is None:
            self._misses += 1
        else:
            self._hits += 1
            self._entries.move_to_end(key)
        return entry

    def keep(self, key: Hashable, entry: PlannedQuery) -> None:
        if (before := self._entries.pop(key, None)) is not None:
            self._note_drop(before)
        if entry.bytes > _ENTRY_BYTES:
            return
        self._entries[key] = entry
        entry.kept = True
        self._bytes += entry.bytes
        self._make_room()

    def remember(self, entry: PlannedQuery, key: Hashable, query: CompiledQuery) -> None:
        """Keep a compilation of an entry, which may have been evicted."""
        with self._counted(entry):
            entry.remember(key, query)

    def remember_generic(self, entry: PlannedQuery, key: Hashable, query: CompiledQuery | None) -> None:
        """Keep a generic compilation, as `remember` keeps a custom one."""
        with self._counted(entry):
            entry.remember_generic(key, query)

    @contextlib.contextmanager
    def _counted(self, entry: PlannedQuery) -> Iterator[None]:
        before = entry.bytes
        yield
        if entry.kept:
            self._bytes += entry.bytes - before
            self._make_room()

    def statistics(self) -> Mapping[str, int]:
        return {"cached": len(self._entries), "cached_bytes": self._bytes}

    def figures(self) -> CacheFigures:
        """Return the hits and misses so far, and the number of entries."""
        return CacheFigures(self._hits, self._misses, len(self._entries))

    def _make_room(self) -> None:
        while len(self._entries) > _STATEMENTS or self._bytes > _ROOM_BYTES:
            self._note_drop(self._entries.popitem(last=False)[1])

    def _note_drop(self, entry: PlannedQuery) -> None:
        entry.kept = False
        self._bytes -= entry.bytes

"""Temporary views in Spark named `storage.relation_name`, over the DataFrames of `engine.executors.spark.tables` and
`engine.executors.spark.scanning`; and temporary functions (`engine.executors.spark.function_task`).

A view is made once per session and version of a table. It holds Spark's list of the files and their schema, so a
repeated query does not ask the file system. Where another member chose the name and cannot see the files, a name may
come to stand for a later version. The view is then replaced, and statements that were analysed before keep the old one.

While a statement is analysed, its names are pinned: they are neither dropped for those of another statement nor
replaced by another version. A name is busy while a thread makes, replaces or drops it, which may take long (it lists
files) and happens without the lock. A statement waits until none of its names is busy, or is pinned in another version.
It holds no name while it waits, so two statements cannot wait for each other. A cancel ends the wait, and so does
`spark.wait_timeout` where a name is pinned in another version. The wait for a busy name has no bound of its own: the
statement would otherwise list the same files itself.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from engine.catalog.model.objects import Table
from engine.common.interrupts import check_for_interrupts
from engine.planner.codegen.scan import Scan
from engine.planner.codegen.task_function import TaskFunction
from wire.errors import SqlError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The objects that a statement refers to by name.
Named = Table | Scan | TaskFunction

_VIEWS_MAX: Final = 500
_FUNCTIONS_MAX: Final = 500
#: The time after which a waiting statement looks for a cancel.
_POLL_SECONDS: Final = 0.1


class _Names:
    """The views and functions of one session: with the version of each view, the least recently used first; the number
    of statements that are analysed with each name; and the busy names.
    """

    def __init__(self) -> None:
        self.views: OrderedDict[str, int] = OrderedDict()
        self.functions: OrderedDict[str, int] = OrderedDict()
        self.pins: Counter[str] = Counter()
        self.busy: set[str] = set()

    def versions_like(self, what: Named) -> OrderedDict[str, int]:
        return self.functions if isinstance(what, TaskFunction) else self.views

    def has(self, name: str, what: Named) -> bool:
        return self.versions_like(what).get(name) == _version(what)

    def are_free(self, named: Mapping[str, Named]) -> bool:
        """Return whether none of these has to be replaced with which a statement is analysed in another version."""
        return all(self.has(name, what) or not self.pins[name] for name, what in named.items())

    def pin(self, named: Mapping[str, Named]) -> list[str]:
        """Pin names. Returns those that the caller has to make; they are busy."""
        missing = []
        for name, what in named.items():
            if self.has(name, what):
                self.versions_like(what).move_to_end(name)
            else:
                missing.append(name)
        self.pins.update(named.keys())
        self.busy.update(missing)
        return missing

    def note_made(self, name: str, what: Named) -> None:
        known = self.versions_like(what)
        known[name] = _version(what)
        known.move_to_end(name)
        self.busy.discard(name)

    def unpin(self, names: Iterable[str]) -> None:
        self.pins.subtract(names)
        self.pins = +self.pins

    def take_oldest(self, known: OrderedDict[str, int], most: int) -> tuple[str, ...]:
        """Forget names that no statement uses until no more than `most` are left. Returns them; they are busy."""
        free = [name for name in known if not self.pins[name] and name not in self.busy]
        taken = tuple(free[: max(len(known) - most, 0)])
        for name in taken:
            del known[name]
        self.busy.update(taken)
        return taken


class Views:
    """The views and functions of each session. Thread-safe. wait_timeout: the seconds that a statement waits for names
    that are pinned in another version.
    """

    def __init__(self, wait_timeout: float) -> None:
        self._wait_timeout = wait_timeout
        self._changed = threading.Condition()
        self._sessions: WeakKeyDictionary[SparkSession, _Names] = WeakKeyDictionary()

    @contextlib.contextmanager
    def pin(self, session: SparkSession, named: Mapping[str, Named]) -> Iterator[None]:
        """Create the views and functions that the session lacks: a view for each relation under that name, of a table
        in that version, and each function. They stay as they are during the block, which analyses the statement.

        Raises SqlError for files that cannot be read and for a wait that is too long, and QueryCanceled.
        """
        with self._changed:
            names = self._sessions.setdefault(session, _Names())
            self._wait_free(names, named)
            missing = names.pin(named)
        try:
            for name in missing:
                _make(session, name, named[name])
                with self._changed:
                    names.note_made(name, named[name])
                    self._changed.notify_all()
            yield
        finally:
            with self._changed:
                names.unpin(named.keys())
                names.busy.difference_update(missing)
                views = names.take_oldest(names.views, _VIEWS_MAX)
                functions = names.take_oldest(names.functions, _FUNCTIONS_MAX)
                self._changed.notify_all()
            self._drop(names, views, session.catalog.dropTempView)
            self._drop(names, functions, lambda name: _drop_function(session, name))

    def _wait_free(self, names: _Names, named: Mapping[str, Named]) -> None:
        """Wait until a statement can pin its names. Raises SqlError."""
        waited = 0.0
        while (is_busy := not names.busy.isdisjoint(named)) or not names.are_free(named):
            if waited >= self._wait_timeout:
                raise SqlError(
                    f"could not complete the query: it has waited for Spark for {self._wait_timeout:.0f} s",
                    sqlstate="58000",
                    detail="It was waiting for a statement that is analysed with another version of the same table.",
                    hint="The statement may be repeated.",
                )
            begun = time.monotonic()
            self._changed.wait(_POLL_SECONDS)
            waited = 0.0 if is_busy else waited + time.monotonic() - begun
            check_for_interrupts()

    def _drop(self, names: _Names, taken: tuple[str, ...], drop: Callable[[str], object]) -> None:
        try:
            for name in taken:
                drop(name)
        finally:
            if taken:
                with self._changed:
                    names.busy.difference_update(taken)
                    self._changed.notify_all()


def _version(what: Named) -> int:
    """Return the version of a table; a scan has a name for each version of what it reads."""
    return what.version if isinstance(what, Table) else 0


def _make(session: SparkSession, name: str, what: Named) -> None:
    if isinstance(what, TaskFunction):
        _register(session, what)
    else:
        _frame(session, what).createOrReplaceTempView(name)


def _drop_function(session: SparkSession, name: str) -> None:
    session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")


def _frame(session: SparkSession, relation: Table | Scan) -> DataFrame:
    from engine.executors.spark.scanning import read_scan
    from engine.executors.spark.tables import read_table

    return read_table(session, relation) if isinstance(relation, Table) else read_scan(session, relation)


def _register(session: SparkSession, function: TaskFunction) -> None:
    from engine.executors.spark.task_registration import register

    register(session, function)

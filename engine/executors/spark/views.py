"""Temporary views in Spark named `storage.relation_name`, over the DataFrames of `engine.executors.spark.tables` and
`engine.executors.spark.scanning`; and temporary functions (`engine.executors.spark.function_task`).

A view is made once per session and version of a table. It holds Spark's list of the files and their schema, so a
repeated query does not ask the file system. Where another member chose the name and cannot see the files, a name may
come to stand for a later version. The view is then replaced, and statements that were analysed before keep the old one.

While a statement is analysed, its names are pinned: they are neither dropped for those of another statement nor
replaced by another version. A statement that needs another version waits until they are free. It holds no pin while it
waits, so two statements cannot wait for each other.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from engine.catalog.model.objects import Table
from engine.planner.codegen.scan import Scan
from engine.planner.codegen.task_function import TaskFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The objects that a statement refers to by name.
Named = Table | Scan | TaskFunction

_VIEWS_MAX: Final = 500
_FUNCTIONS_MAX: Final = 500


class _Names:
    """The views and functions of one session: with the version of each view, the least recently used first; and the
    number of statements that are analysed with each name.
    """

    def __init__(self) -> None:
        self.views: OrderedDict[str, int] = OrderedDict()
        self.functions: OrderedDict[str, int] = OrderedDict()
        self.pins: Counter[str] = Counter()

    def is_free(self, versions: Mapping[str, int]) -> bool:
        """Return whether no view of these has to be replaced that a statement is analysed with."""
        return not any(
            self.pins[name] and self.views.get(name, version) != version for name, version in versions.items()
        )

    def unpin(self, names: Mapping[str, Named]) -> None:
        self.pins.subtract(names.keys())
        self.pins = +self.pins

    def drop_oldest(self, known: OrderedDict[str, int], most: int, drop: Callable[[str], object]) -> None:
        """Drop names that nobody uses until no more than `most` are left."""
        free = [name for name in known if not self.pins[name]]
        for name in free[: max(len(known) - most, 0)]:
            drop(name)
            del known[name]


class Views:
    """The views and functions of each session. Thread-safe."""

    def __init__(self) -> None:
        self._unpinned = threading.Condition()
        self._sessions: WeakKeyDictionary[SparkSession, _Names] = WeakKeyDictionary()

    @contextlib.contextmanager
    def pin(self, session: SparkSession, named: Mapping[str, Named]) -> Iterator[None]:
        """Create the views and functions that the session lacks: a view for each relation under that name, of a table
        in that version, and each function. They stay as they are during the block, which analyses the statement.

        Raises SqlError for files that cannot be read.
        """
        relations = {name: what for name, what in named.items() if not isinstance(what, TaskFunction)}
        # A scan has a name for each version of what it reads.
        versions = {name: what.version if isinstance(what, Table) else 0 for name, what in relations.items()}
        with self._unpinned:
            names = self._sessions.setdefault(session, _Names())
            self._unpinned.wait_for(lambda: names.is_free(versions))
            for name, relation in relations.items():
                if names.views.get(name) != versions[name]:
                    _frame(session, relation).createOrReplaceTempView(name)
                    names.views[name] = versions[name]
                names.views.move_to_end(name)
            for name, what in named.items():
                if isinstance(what, TaskFunction):
                    if name not in names.functions:
                        _register(session, what)
                        names.functions[name] = 0
                    names.functions.move_to_end(name)
            names.pins.update(named.keys())
        try:
            yield
        finally:
            with self._unpinned:
                names.unpin(named)
                names.drop_oldest(names.views, _VIEWS_MAX, session.catalog.dropTempView)
                names.drop_oldest(names.functions, _FUNCTIONS_MAX, lambda name: _drop_function(session, name))
                self._unpinned.notify_all()


def _drop_function(session: SparkSession, name: str) -> None:
    session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")


def _frame(session: SparkSession, relation: Table | Scan) -> DataFrame:
    from engine.executors.spark.scanning import read_scan
    from engine.executors.spark.tables import read_table

    return read_table(session, relation) if isinstance(relation, Table) else read_scan(session, relation)


def _register(session: SparkSession, function: TaskFunction) -> None:
    from engine.executors.spark.task_registration import register

    register(session, function)

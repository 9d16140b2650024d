"""Temporary views in Spark named `storage.relation_name`, over the DataFrames of `engine.executors.spark.tables` and
`engine.executors.spark.scanning`; and temporary functions (`engine.executors.spark.function_task`).

A view is made once per session and version of a table. It holds Spark's list of the files and their schema, so a
repeated query does not ask the file system. Where another member chose the name and cannot see the files, a name may
come to stand for a later version. The view is then replaced, and statements that were analysed before keep the old one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
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


class Views:
    """The views and functions of each session. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: WeakKeyDictionary[SparkSession, OrderedDict[str, int]] = WeakKeyDictionary()
        self._functions: WeakKeyDictionary[SparkSession, OrderedDict[str, None]] = WeakKeyDictionary()

    def require(self, session: SparkSession, named: Mapping[str, Named]) -> None:
        """Create the views and functions that the session lacks: a view for each relation under that name, of a table
        in that version, and each function.

        Raises SqlError for files that cannot be read.
        """
        relations = {name: what for name, what in named.items() if not isinstance(what, TaskFunction)}
        functions = {name: what for name, what in named.items() if isinstance(what, TaskFunction)}
        with self._lock:
            self._require_views(session, relations)
            self._require_functions(session, functions)

    def _require_views(self, session: SparkSession, relations: Mapping[str, Table | Scan]) -> None:
        known = self._views.setdefault(session, OrderedDict())
        for name, relation in relations.items():
            # A scan has a name for each version of what it reads.
            version = relation.version if isinstance(relation, Table) else 0
            if known.get(name) != version:
                _frame(session, relation).createOrReplaceTempView(name)
                known[name] = version
            known.move_to_end(name)
        while len(known) > max(_VIEWS_MAX, len(relations)):
            session.catalog.dropTempView(known.popitem(last=False)[0])

    def _require_functions(self, session: SparkSession, functions: Mapping[str, TaskFunction]) -> None:
        known = self._functions.setdefault(session, OrderedDict())
        for name, function in functions.items():
            if name not in known:
                _register(session, function)
                known[name] = None
            known.move_to_end(name)
        while len(known) > max(_FUNCTIONS_MAX, len(functions)):
            session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {known.popitem(last=False)[0]}")


def _frame(session: SparkSession, relation: Table | Scan) -> DataFrame:
    from engine.executors.spark.scanning import read_scan
    from engine.executors.spark.tables import read_table

    return read_table(session, relation) if isinstance(relation, Table) else read_scan(session, relation)


def _register(session: SparkSession, function: TaskFunction) -> None:
    from engine.executors.spark.task_registration import register

    register(session, function)

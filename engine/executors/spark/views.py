"""Temporary views in Spark under `storage.relation_name`, over the frames of `engine.executors.spark.tables` and
`engine.executors.spark.scanning`.

A view is made once per session and version of a table; it holds Spark's list of the files and their schema, so that a
repeated query asks the file system nothing. Where another member chose the name and cannot see the files, a name may come to
stand for a later version: then the view is replaced, and what was analysed before keeps the old one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from engine.catalog.model.objects import Table
from engine.planner.codegen.scan import Scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VIEWS_MAX: Final = 500


class Views:
    """The views of each session. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[SparkSession, OrderedDict[str, int]] = WeakKeyDictionary()

    def require(self, session: SparkSession, relations: Mapping[str, Table | Scan]) -> None:
        """Make sure that the session has a view of each relation, by that name; of a table, of that version.

        Raises SqlError for files that cannot be read.
        """
        with self._lock:
            known = self._known.setdefault(session, OrderedDict())
            for name, relation in relations.items():
                # A scan has a name for each version of what it reads.
                version = relation.version if isinstance(relation, Table) else 0
                if known.get(name) != version:
                    _frame(session, relation).createOrReplaceTempView(name)
                    known[name] = version
                known.move_to_end(name)
            while len(known) > max(_VIEWS_MAX, len(relations)):
                session.catalog.dropTempView(known.popitem(last=False)[0])


def _frame(session: SparkSession, relation: Table | Scan) -> DataFrame:
    from engine.executors.spark.scanning import read_scan
    from engine.executors.spark.tables import read_table

    return read_table(session, relation) if isinstance(relation, Table) else read_scan(session, relation)

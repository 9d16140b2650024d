"""The driver's side of a scan (`engine.planner.codegen.scans`): the files to read, split into units for tasks, and the
relation that the tasks produce.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.udf import _create_udf
from pyspark.util import PythonEvalType

from engine.catalog.model.objects import Table
from engine.executors.spark.scan_task import NOTHING, ScanUnits, Unit
from engine.lakes import stores
from engine.planner.codegen.files import literal_path
from engine.planner.codegen.scan import Scan
from engine.planner.codegen.scans import READER
from engine.planner.distribute.splits import ReadFile, files_to_read

#: The bytes of the columns read that make a task: the least that Spark assigns to a task for files that it reads itself.
_TASK_BYTES: Final = 4 << 20
#: The end of an unbounded range of rows, for files whose row groups are not known.
_ALL_ROWS: Final = 1 << 62


def read_scan(session: SparkSession, scan: Scan) -> DataFrame:
    """Return a scan's rows, with columns under their labels in storage types. Blocks, because it reads footers."""
    table = scan.reader.table
    assert isinstance(table, Table), "a table of the catalog"
    tasks = tuple(_tasks(files_to_read(scan.reader, table, scan.parameters), ranged=scan.ranged))
    known = {stores.store_of(file) for file in table.files if stores.is_remote(file)}
    labels = tuple(label for label, _ in scan.columns)
    time_zone = session.conf.get("spark.sql.session.timeZone")
    assert time_zone is not None, "each session has one"
    task = ScanUnits(scan.statement, READER, labels, tasks, tuple(known), time_zone)
    schema = ", ".join(f"{label} {typ}" for label, typ in scan.columns) or f"{NOTHING} boolean"
    numbers = session.range(0, len(tasks), 1, max(1, len(tasks)))
    udf = _create_udf(task, schema, PythonEvalType.SQL_MAP_ARROW_ITER_UDF, "scan")
    return DataFrame(numbers._jdf.mapInArrow(udf(numbers["id"])._jc, False, None), session)


def _tasks(files: Iterable[ReadFile], *, ranged: bool) -> Iterator[tuple[Unit, ...]]:
    """Yield the units of each task: files and runs of row groups, small ones combined."""
    gathered: list[Unit] = []
    gathered_bytes = 0
    for file in files:
        for unit, size in _units(file, ranged=ranged):
            gathered.append(unit)
            gathered_bytes += size
            if gathered_bytes >= _TASK_BYTES:
                yield tuple(gathered)
                gathered, gathered_bytes = [], 0
    if gathered:
        yield tuple(gathered)


def _units(file: ReadFile, *, ranged: bool) -> Iterator[tuple[Unit, int]]:
    """Yield the units of a file with their sizes: as many row groups at a time as make a task, or the whole file."""
    path = literal_path(file.name)
    if not ranged or not file.groups:
        yield Unit(path, 0, _ALL_ROWS if ranged else None), file.size
        return
    first, size, end = file.groups[0].first, 0, file.groups[0].first
    for group, bytes_ in zip(file.groups, file.sizes, strict=True):
        if size >= _TASK_BYTES or group.first != end:
            if end > first:
                yield Unit(path, first, end), size
            first, size = group.first, 0
        size, end = size + bytes_, group.end
    yield Unit(path, first, end), size

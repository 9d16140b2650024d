"""Files that Spark's own Parquet writer makes, described from their footers.

If a statement only adds rows, and the only constraint to check is NOT NULL, no row has to pass through a Python worker:
Spark's writer runs at full speed without us, and the footers tell the number of rows and nulls, and the least and
greatest values. They also reveal a null in a column that may have none; then tasks write the rows again with the sink,
which reports the offending row.

This applies to the types that Spark's files store as ours do (`engine.storage.types`). It excludes floats and
character(n), whose footers must not state least and greatest values, and the types that our files store in another form
than Spark.

It works only on this machine: the member makes the files durable, and fsync works only on the machine whose page cache
holds their pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from engine.catalog.model.objects import DataFile, Table, TableColumn
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import Mutate
from engine.storage import disk
from engine.storage.durable import sync
from engine.storage.staging import file_name
from engine.storage.statistics import FileStatistics
from engine.storage.types import file_schema, file_type
from engine.writers.write_result import Written
from wire.types import pg_types as t

_THE_SAME: Final = frozenset(
    (
        t.BOOL, t.INT2, t.INT4, t.INT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.NAME, t.CHAR, t.JSON, t.JSONB, t.UUID, t.BYTEA,
        t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ,
    )
)  # fmt: skip


def by_spark_alone(plan: Mutate) -> bool:
    """Return whether Spark's own writer makes the same files as ours would, for a statement whose rows tasks may write."""
    storage = plan.table.storage
    assert storage is not None, "a stored table"
    if plan.parts is not None:
        return False
    judged = plan.checks or plan.changed or plan.dropped or plan.twice
    if plan.kind != "insert" or judged or plan.columns or storage.partition_by or storage.sort_by:
        return False
    columns = plan.table.written_columns
    if plan.rows != plan.input.columns or len({column.file_column.lower() for column in columns}) < max(
        len(columns), 1
    ):
        return False
    return all(_is_the_same(given, column) for given, column in zip(plan.rows, columns, strict=True))


def _is_the_same(given: Column, column: TableColumn) -> bool:
    """Return whether values arrive in the type that files store; a numeric must have the digits of its column."""
    return (
        column.type.pg in _THE_SAME and given.type.pg in _THE_SAME and file_type(given.type) == file_type(column.type)
    )


def take_over_files(table: Table, area: Path, made: Path) -> Written | None:
    """Move the files that Spark has made into the area under our names, and make them durable. Returns None if a column
    that may have no nulls has some. made: the folder of Spark's files. May block for long.
    """
    schema = file_schema(table.written_columns)
    files = []
    for number, path in enumerate(sorted(made.glob("part-*.parquet"))):
        statistics = FileStatistics(schema)
        footer = pq.read_metadata(path)
        assert footer.schema.to_arrow_schema().types == schema.types, "files of Spark's are as ours"
        statistics.add_groups(footer)
        if any(statistics.nulls[column.file_column] for column in table.columns if not column.nullable):
            return None
        if statistics.rows:
            sync(path)
            named = area / file_name(number)
            disk.current_disk().rename(path, named)
            files.append(DataFile(named.name, named.stat().st_size, statistics.rows, (), statistics.json()))
    return Written(sum(file.rows for file in files), tuple(files))

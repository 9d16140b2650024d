"""COPY FROM of Parquet and JSON files: an INSERT of the rows of an unnamed foreign table.

The statement is planned as any INSERT ... SELECT, and runs where the planner chooses: in process, or on Spark, whose
tasks then write the rows that they read. Columns are matched by name. A column that the files lack gets its default,
unless the statement names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from engine.catalog.model.objects import FileFormat, Table
from engine.lakes.foreign_files import list_files
from engine.lakes.infer import infer_columns
from engine.plan_ir.logical import Mutate
from engine.sql.binder.mutations.copying import bind_file_copy
from engine.sql.binder.scope import BindContext
from wire.errors import UndefinedFile, WrongObjectType


def plan(
    path: Path, shown: str, file_format: FileFormat, target: exp.Table, names: Sequence[exp.Identifier] | None,
    where: exp.Expression | None, context: BindContext,
) -> Mutate:  # fmt: skip
    """Plan the INSERT. Blocks on the file system. Raises SqlError."""
    try:
        files, version = list_files(str(path), file_format)
    except (UndefinedFile, WrongObjectType) as error:
        error.message = error.message.replace(str(path), shown)
        raise
    columns = infer_columns(files, file_format, {})
    source = Table(0, "", path.name, columns, file_format, str(path), files, version, {})
    return bind_file_copy(target, names, source, where, context)

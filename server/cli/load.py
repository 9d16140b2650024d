"""`sluice load`: loads files of this machine into a table of a running member, over a PostgreSQL connection.

All files are loaded in one transaction: either all rows are visible afterwards or none. Any PostgreSQL server can be
the target.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
from psycopg import sql
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from server.cli.load_files import Reading, SourceFile, source_files
from wire.dataclass import dataclass
from wire.errors import SqlError


class LoadError(Exception):
    """An error, ready to print."""


@dataclass(frozen=True, slots=True)
class Loaded:
    rows: int
    size: int
    seconds: float

    def __str__(self) -> str:
        rate = self.rows / max(self.seconds, 1e-9)
        return f"{self.rows:,} rows, {self.size / 1e6:,.1f} MB in {self.seconds:.1f} s ({rate:,.0f} rows/s)"


def load(
    connection: psycopg.Connection[Any],
    table: str,
    paths: Sequence[Path],
    reading: Reading,
    console: Console,
    *,
    create: bool,
) -> Loaded:
    """Load the files, showing the progress. create: create the table with the columns of the first file. Raises
    LoadError; then nothing is loaded.
    """
    started = time.monotonic()
    try:
        files = [file for path in paths for file in source_files(path, reading)]
        with _progress(console) as progress, connection.transaction():
            if create:
                connection.execute(_creation(table, files[0]))
            known = [c.name for c in connection.execute(_select_nothing(table)).description or ()]
            rows = sum(_load_file(connection, table, known, file, progress) for file in files)
    except psycopg.Error as error:
        raise LoadError(_error_text(error)) from error
    except SqlError as error:
        raise LoadError("\n".join(line for line in (error.message, error.hint) if line)) from error
    except (OSError, UnicodeDecodeError, pa.ArrowException, duckdb.Error) as error:
        raise LoadError(str(error)) from error
    return Loaded(rows, sum(file.size for file in files), time.monotonic() - started)


def _load_file(
    connection: psycopg.Connection[Any], table: str, known: Sequence[str], file: SourceFile, progress: Progress
) -> int:
    task = progress.add_task(file.path.name, total=file.size)
    with connection.cursor() as cursor:
        with cursor.copy(_copy(table, file, file.names(known))) as copy:
            for piece in file.pieces():
                copy.write(piece.data)
                progress.update(task, completed=piece.done)
        progress.update(task, completed=file.size)
        return cursor.rowcount


# -- statements ---------------------------------------------------------------------------------------------------------


def _identifier(table: str) -> sql.Identifier:
    return sql.Identifier(*table.split("."))


def _select_nothing(table: str) -> sql.Composed:
    return sql.SQL("select * from {} limit 0").format(_identifier(table))


def _creation(table: str, file: SourceFile) -> sql.Composed:
    # Safe as SQL: type names are PostgreSQL's own and do not come from the file.
    columns: list[sql.Composable] = []
    for column in file.columns():
        typ = sql.SQL(f"{column.type}")
        columns.append(sql.SQL("{} {}").format(sql.Identifier(column.name), typ))
    return sql.SQL("create table {} ({})").format(_identifier(table), sql.SQL(", ").join(columns))


def _copy(table: str, file: SourceFile, names: Sequence[str] | None) -> sql.Composed:
    columns = sql.SQL("") if names is None else sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Identifier, names)))
    options: sql.Composable = sql.SQL("format text")
    if file.form == "csv":
        options = sql.SQL("format csv, header {}, delimiter {}, null {}").format(
            sql.Literal(names is not None), sql.Literal(file.delimiter), sql.Literal(file.null)
        )
    return sql.SQL("copy {} {} from stdin ({})").format(_identifier(table), columns, options)


# -- progress -----------------------------------------------------------------------------------------------------------


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    return Progress(TextColumn("{task.description}"), *columns, console=console, disable=not console.is_terminal)


def _error_text(error: psycopg.Error) -> str:
    told = error.diag
    lines = (told.message_primary or str(error).strip(), told.message_detail, told.message_hint, told.context)
    return "\n".join(line for line in lines if line)

"""TPC-H data for tests, generated once a session by tpchgen-cli, and the same tables in a PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from engine.lakes.infer import infer_columns

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")


def generate(folder: Path, scale: float, file_format: str, parts: int = 1) -> Path:
    """`folder` with one file a table in `file_format` (parquet or csv), or with a folder of several a table."""
    tool = Path(sys.executable).with_name("tpchgen-cli")
    several = ("--parts", str(parts)) if parts > 1 else ()
    subprocess.run(
        [str(tool), file_format, "-s", f"{scale:g}", "--output-dir", str(folder), *several],
        check=True,
        capture_output=True,
    )
    return folder


def load_into_postgres(connection: psycopg.Connection[Any], parquet: Path, csv: Path) -> None:
    """The tables with the column types that Sluice infers from the Parquet files, filled from the CSV files."""
    for table in TABLES:
        columns = infer_columns((str(parquet / f"{table}.parquet"),), "parquet", {})
        definitions = [
            sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(str(column.type))) for column in columns
        ]
        connection.execute(
            sql.SQL("create table {} ({})").format(sql.Identifier(table), sql.SQL(", ").join(definitions))
        )
        statement = sql.SQL("copy {} from stdin (format csv, header)").format(sql.Identifier(table))
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write((csv / f"{table}.csv").read_bytes())
    connection.execute("analyze")

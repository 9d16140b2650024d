"""The command line and a member do not import modules before they need them. The test compares lists of modules, which
are the same on every machine, not times.
"""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

from engine.catalog.model import objects
from server.cli import main

#: Not before a command runs that needs them.
_NOT_BY_THE_COMMAND_LINE = (
    "duckdb", "engine", "msgspec", "numpy", "psycopg", "pyarrow", "pydantic", "rich", "server.config.config", "server.serving",
    "sqlglot", "wire", "yaml",
)  # fmt: skip
#: With the console, the HTTP door, the configuration, Spark, a table of Iceberg, a client that proves its password.
_NOT_BY_A_MEMBER = (
    "asn1crypto", "buenavista", "fastapi", "fsspec", "prometheus_client", "psycopg", "py4j", "pydantic", "pyiceberg",
    "pyspark", "scramp", "server.config.config", "server.http.console", "server.http.door", "starlette", "typer", "uvicorn",
    "xml.etree", "yaml",
)  # fmt: skip


def test_the_command_line_imports_no_engine() -> None:
    assert _loaded("server.cli.main", _NOT_BY_THE_COMMAND_LINE) == []


def test_a_member_imports_what_every_start_needs() -> None:
    assert _loaded("server.serving", _NOT_BY_A_MEMBER) == []


def test_what_is_looked_for_would_be_found() -> None:
    assert _loaded("server.http.console", ("starlette", "prometheus_client")) == ["starlette"]


def test_the_command_line_knows_the_formats_of_files() -> None:
    """It has the literal once more, since it may not import the engine's."""
    assert get_args(main.FileFormat) == get_args(objects.FileFormat)


def _loaded(module: str, names: tuple[str, ...]) -> list[str]:
    """Return the names that a process has loaded when it has imported a module."""
    code = f"import sys, {module}; print(*(name for name in {names!r} if name in sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return told.stdout.split()

"""A check that VACUUM leaves the files that tables have and no other: it removes the files of statements that did not
complete.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import psycopg

from support.answers import value
from support.member_process import wait_until

#: More than `sluice.vacuum_retention`.
_OLD_SECONDS: Final = 7200.0


def require_swept(session: psycopg.Connection[Any], folder: Path) -> None:
    """Wait until VACUUM has left only the tables' files. A commit appears in Delta's logs a moment later; until then
    VACUUM must keep the files that it removed. folder: the folder of the members' catalog and tables.
    """
    wait_until(lambda: _swept(session, folder))


def _swept(session: psycopg.Connection[Any], folder: Path) -> bool:
    then = time.time() - _OLD_SECONDS
    for path in (folder / "tables").rglob("*"):
        with suppress(FileNotFoundError):
            os.utime(path, (then, then))
    session.execute("vacuum")
    named = value(session, "select sum(files) from sluice.tables")
    elsewhere = {"_delta_log", *_dropped(folder)}
    there = [path for path in folder.glob("tables/*/**/*.parquet") if not elsewhere & set(path.parts)]
    assert len(there) >= named, "a file that a table has is gone"
    return len(there) == named and not list(folder.glob("tables/*/_staging-*"))


def _dropped(folder: Path) -> set[str]:
    """Return the folders of dropped tables, which are kept for statements that still read them."""
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        return {location for (location,) in catalog.execute("select location from dropped")}

"""Debian's packages that tests compare with or connect through: `make client-packages` installs them.

A test that needs one asks with `require` or is marked with `needs`; without it, it is skipped for `REASON`, and the end of a run
says in one line how many were.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

REASON: Final = "they need packages that are not installed; `make client-packages` installs them"


def require(found: object) -> None:
    """Skip the test if a program or library was not found: None or False."""
    if not found:
        pytest.skip(REASON)


def needs(program: str) -> pytest.MarkDecorator:
    """A mark for tests that start a program."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=REASON)


_SERVER_FOLDERS: Final = (
    "/usr/lib/postgresql/15/bin",
    "/usr/pgsql-15/bin",
    "/opt/homebrew/opt/postgresql@15/bin",
)


def postgres_programs() -> Path | None:
    """The folder of PostgreSQL 15's server programs, or None where it is not installed."""
    found = shutil.which("postgres")
    candidates = [*map(Path, _SERVER_FOLDERS), *([Path(found).parent] if found else [])]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)

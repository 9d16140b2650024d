"""Debian's packages that tests compare with or connect through; `make client-packages` installs them.

A test that needs one calls `require` or is marked with `needs`. Without the package the test is skipped with `REASON`,
and one line at the end of a run counts these tests.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

REASON: Final = "they need packages that are not installed; `make client-packages` installs them"


def require(found: object) -> None:
    """Skip the test if a program or library was not found, that is if `found` is None or False."""
    if not found:
        pytest.skip(REASON)


def needs(program: str) -> pytest.MarkDecorator:
    """Return a mark for tests that start a program."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=REASON)


_SERVER_FOLDERS: Final = (
    "/usr/lib/postgresql/15/bin",
    "/usr/pgsql-15/bin",
    "/opt/homebrew/opt/postgresql@15/bin",
)


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL 15's server programs, or None where it is not installed."""
    found = shutil.which("postgres")
    candidates = [*map(Path, _SERVER_FOLDERS), *([Path(found).parent] if found else [])]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)

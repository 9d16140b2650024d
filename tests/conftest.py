"""Fixtures and options that all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import PostgresServer, binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL 15, one for the whole session; skips where its packages are not installed."""
    if binaries() is None:
        pytest.skip("PostgreSQL 15's server programs are not installed")
    with PostgresServer() as server:
        yield server

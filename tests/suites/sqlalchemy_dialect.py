"""SQLAlchemy's dialect compliance suite: `sqlalchemy.testing.suite` with SQLAlchemy's own requirements of PostgreSQL,
from its source distribution, whose test/dialect/test_suite.py runs exactly it; over psycopg and over asyncpg.

The version is the one of the project's environment, and the suite runs in that environment, whose pytest, psycopg and
asyncpg are those that it requires. It needs a schema `test_schema`, which is created before (README.unittests.rst,
"Database Configuration").
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

from suites import workshop
from suites.outcomes import Outcome, Outcomes
from suites.servers import Server
from suites.suite import Suite

_VERSION: Final = version("sqlalchemy")


def _suite(driver: str) -> Suite:
    name = f"sqlalchemy-{driver}"

    def run(server: Server) -> Outcomes:
        server.execute("create schema test_schema")
        arguments = [
            "test/dialect/test_suite.py", "--dburi", server.url(driver), "-q", "--timeout", "300",
            # The project's own plugins for pytest that this suite does not know.
            "-p", "no:asyncio",
        ]  # fmt: skip
        outcomes = workshop.pytest(
            Path(sys.executable),
            arguments,
            folder=workshop.unpacked("sqlalchemy", _VERSION),
            report=f"{name}-{server.kind}",
            minutes=90,
            more={},
        )
        return _plain(outcomes)

    return Suite(
        name=name,
        title=f"SQLAlchemy's dialect compliance suite, {driver}",
        package=f"sqlalchemy {_VERSION}, {driver} {version(driver)}",
        bar=0.95,
        run=run,
        family="sqlalchemy",
    )


def _plain(outcomes: Outcomes) -> dict[str, Outcome]:
    """Names without what SQLAlchemy puts into those of classes: the URL and the server's version."""
    return {re.sub(r"_postgresql\+\w+?_\d+_\d+(?=::|$)", "", test): outcome for test, outcome in outcomes.items()}


PSYCOPG: Final = _suite("psycopg")
ASYNCPG: Final = _suite("asyncpg")

"""Fixtures and options that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.postgres_server import Database, PostgresServer, binaries
from support.recoveries import lines


@pytest.fixture(scope="session")
def postgres_packages() -> None:
    """Skips where PostgreSQL 15's packages are not installed: for those that start one of their own."""
    if binaries() is None:
        pytest.skip("PostgreSQL 15's server programs are not installed")


@pytest.fixture(scope="session")
def postgres(postgres_packages: None) -> Iterator[PostgresServer]:
    """A running PostgreSQL 15, one for the whole session."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_database(postgres: PostgresServer) -> Iterator[Database]:
    """A database of the test's own in PostgreSQL, with the name that a member's has."""
    with postgres.database("sluice") as made:
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if measured := lines():
        terminalreporter.section("recoveries")
        for line in measured:
            terminalreporter.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew; read the diff as code")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text equals that of tests/golden/<name>, or becomes it with --rewrite."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--rewrite"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no golden file {name}; run with --rewrite"
        assert text == path.read_text(), f"{name} differs; run with --rewrite and read the diff"

    return check

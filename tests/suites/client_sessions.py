"""One session each with clients whose authors publish no test suite for a server: the files in `sessions/`, run with
the real driver.

odbc_session.py      psqlODBC through unixODBC and pyodbc
jdbc_session.py      pgjdbc, driven by Py4J, in this project's environment
python_session.py    ADBC, connectorx, pandas, polars, ibis, pgcli
*.test.mjs           node-postgres and postgres.js, by node's own runner
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from suites import workshop
from suites.outcomes import Outcomes, read_junit
from suites.servers import Server
from suites.suite import Suite

_FILES: Final = Path(__file__).parent / "sessions"
_TESTS: Final = Path(__file__).parents[1]
_ODBC: Final = ("pyodbc==5.5.0", "pytest")
_PYTHON: Final = (
    "adbc-driver-postgresql==1.13.0", "connectorx==0.4.6", "pandas==3.1.1", "polars==2.1.0", "ibis-framework[postgres]==12.0.0",
    "pgcli==4.7.1", "psycopg[binary]==3.3.9", "sqlalchemy==2.1.9", "pyarrow==26.0.1", "pytest",
)  # fmt: skip


def _pytest(name: str, python: Callable[[], Path], more: dict[str, str]) -> Callable[[Server], Outcomes]:
    def run(server: Server) -> Outcomes:
        return workshop.pytest(
            python(),
            [*workshop.NO_SETTINGS, "-q", f"{name}_session.py"],
            folder=_FILES,
            report=f"session-{name}-{server.kind}",
            minutes=10,
            more={**server.environment(), **more},
        )

    return run


def _node(name: str) -> Callable[[Server], Outcomes]:
    def run(server: Server) -> Outcomes:
        folder = _modules()
        report = workshop.FOLDER / f"session-{name}-{server.kind}.xml"
        workshop.run(
            [
                "node", "--test", "--test-timeout=120000", "--test-reporter=junit", f"--test-reporter-destination={report}",
                f"{name}.test.mjs",
            ],
            folder=folder,
            output=workshop.FOLDER / f"session-{name}-{server.kind}.txt",
            minutes=10,
            more=server.environment(),
        )  # fmt: skip
        return read_junit(report)

    return run


def _modules() -> Path:
    """The sessions of node beside their packages, which npm has fetched."""
    if shutil.which("npm") is None:
        raise workshop.SuiteError("npm is not installed")
    folder = workshop.FOLDER / "node"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (_FILES / "package.json").read_text()
    told = folder / "package.json"
    if not (folder / "node_modules").exists() or told.read_text() != wanted:
        told.write_text(wanted)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    for session in _FILES.glob("*.mjs"):
        shutil.copy(session, folder)
    return folder


def _suite(name: str, title: str, package: str, run: Callable[[Server], Outcomes]) -> Suite:
    return Suite(name=f"session-{name}", title=title, package=package, bar=1.0, run=run)


SUITES: Final[Sequence[Suite]] = (
    _suite(
        "jdbc",
        "A session with pgjdbc",
        "libpostgresql-jdbc-java (Debian)",
        _pytest("jdbc", lambda: Path(sys.executable), {"PYTHONPATH": str(_TESTS)}),
    ),
    _suite(
        "odbc",
        "A session with psqlODBC",
        "odbc-postgresql (Debian), pyodbc 5.5.0",
        _pytest("odbc", lambda: workshop.environment("session-odbc", _ODBC), {}),
    ),
    _suite(
        "python",
        "A session each with ADBC, connectorx, pandas, polars, ibis, pgcli",
        "PyPI: 1.13.0, 0.4.6, 3.1.1, 2.1.0, 12.0.0, 4.7.1",
        _pytest("python", lambda: workshop.environment("session-python", _PYTHON), {}),
    ),
    _suite("node_postgres", "A session with node-postgres", "npm: pg 8.23.1", _node("node_postgres")),
    _suite("postgres_js", "A session with postgres.js", "npm: postgres 3.4.9", _node("postgres_js")),
)

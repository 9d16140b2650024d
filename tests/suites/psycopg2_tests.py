"""psycopg2's own tests, from its source distribution, run over the binary package of the same version. They read the
connection parameters from PSYCOPG2_TESTDB_*.
"""

from __future__ import annotations

from typing import Final

from suites import workshop
from suites.outcomes import Outcomes
from suites.servers import Server
from suites.suite import LeftOut, Suite

_VERSION: Final = "2.9.10"
_REQUIREMENTS: Final = (f"psycopg2-binary=={_VERSION}", "pytest", "pytest-timeout")


def _run(server: Server) -> Outcomes:
    told = {
        "PSYCOPG2_TESTDB": server.database,
        "PSYCOPG2_TESTDB_HOST": server.host,
        "PSYCOPG2_TESTDB_PORT": str(server.port),
        "PSYCOPG2_TESTDB_USER": server.user,
    }
    return workshop.pytest(
        workshop.environment("psycopg2", _REQUIREMENTS),
        [*workshop.NO_SETTINGS, "tests", "-q", "--timeout", "300"],
        folder=workshop.unpacked("psycopg2", _VERSION),
        report=f"psycopg2-{server.kind}",
        minutes=25,
        more=told,
    )


SUITE: Final = Suite(
    name="psycopg2",
    title="psycopg2's own tests",
    package=f"psycopg2 {_VERSION} (source distribution)",
    bar=0.90,
    run=_run,
    left_out=(LeftOut("*test_lobject*", "large objects"),),
)

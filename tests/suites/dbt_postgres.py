"""dbt-postgres's adapter tests: `tests/functional/adapter` of its source distribution, which run the tests of
dbt-tests-adapter for every adapter.

They have their own environment, because dbt pins many packages. psycopg2 is the driver. Each test class makes a schema
and a dbt project, runs dbt commands in it and compares tables. The roles that its tests of grants name
(test.env.example) are created before.
"""

from __future__ import annotations

from typing import Final

from suites import workshop
from suites.outcomes import Outcomes
from suites.servers import Server
from suites.suite import Suite

_VERSION: Final = "1.11.0"
_ADAPTER_TESTS: Final = "1.20.0"
_REQUIREMENTS: Final = (
    f"dbt-postgres=={_VERSION}",
    f"dbt-tests-adapter=={_ADAPTER_TESTS}",
    "dbt-core==1.11.16",
    "freezegun",
    "pytest<10",
    "pytest-mock",
    "pytest-timeout",
    "pytest-xdist",
)
_ROLES: Final = tuple(f"dbt_test_user_{number}" for number in (1, 2, 3))


def _run(server: Server) -> Outcomes:
    server.execute(*(f"create role {role}" for role in _ROLES))
    return workshop.pytest(
        workshop.environment("dbt-postgres", _REQUIREMENTS),
        # Two at once: a dbt command takes seconds to begin, and it is the clients that need them.
        ["tests/functional/adapter", "-q", "--color=no", "-n", "2", "--timeout", "600"],
        folder=workshop.unpacked("dbt-postgres", _VERSION),
        report=f"dbt-postgres-{server.kind}",
        minutes=90,
        more={
            "POSTGRES_TEST_HOST": server.host,
            "POSTGRES_TEST_PORT": str(server.port),
            "POSTGRES_TEST_USER": server.user,
            "POSTGRES_TEST_PASS": "none is asked for",
            "POSTGRES_TEST_DATABASE": server.database,
            "POSTGRES_TEST_THREADS": "4",
            **{f"DBT_TEST_USER_{number}": role for number, role in enumerate(_ROLES, 1)},
            "DO_NOT_TRACK": "1",
        },
    )


SUITE: Final = Suite(
    name="dbt-postgres",
    title="dbt-postgres's adapter tests",
    package=f"dbt-postgres {_VERSION}, dbt-tests-adapter {_ADAPTER_TESTS}",
    bar=0.85,
    run=_run,
)

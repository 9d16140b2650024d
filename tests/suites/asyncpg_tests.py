"""asyncpg's own tests, from its source distribution, run against the released package in the suite's own environment,
because the source has the tests but no compiled protocol. With PGHOST they use the given server instead of starting
one.
"""

from __future__ import annotations

from typing import Final

from suites import workshop
from suites.outcomes import Outcomes
from suites.servers import Server
from suites.suite import LeftOut, Suite

_VERSION: Final = "0.32.0"
_REQUIREMENTS: Final = (f"asyncpg=={_VERSION}", "distro", "uvloop", "pytest", "pytest-timeout")
_CLUSTERS: Final = "starts PostgreSQL servers of its own, with standbys, certificates or a pg_hba.conf"


def _run(server: Server) -> Outcomes:
    return workshop.pytest(
        workshop.environment("asyncpg", _REQUIREMENTS),
        [str(workshop.unpacked("asyncpg", _VERSION) / "tests"), "-q", "--timeout", "300", "--tb=native"],
        # Not in the source's folder, whose package would be found first.
        folder=workshop.FOLDER,
        report=f"asyncpg-{server.kind}",
        minutes=25,
        more={**server.environment(), "USE_UVLOOP": "0"},
    )


SUITE: Final = Suite(
    name="asyncpg",
    title="asyncpg's own tests",
    package=f"asyncpg {_VERSION} (source distribution)",
    bar=0.90,
    run=_run,
    left_out=(
        LeftOut("*test_connect.TestConnectionAttributes::*", _CLUSTERS),
        LeftOut("*test__sourcecode*", "looks at asyncpg's sources"),
    ),
)

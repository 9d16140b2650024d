"""pg8000's own tests, from its source distribution. They connect as postgres with the password pw, to the database of that name,
at PGHOST and PGPORT."""

from __future__ import annotations

from typing import Final

from suites import workshop
from suites.outcomes import Outcomes
from suites.servers import Server
from suites.suite import LeftOut, Suite

_VERSION: Final = "1.31.6"
_REQUIREMENTS: Final = (
    f"pg8000=={_VERSION}", "pytest", "pytest-timeout", "pytest-mock", "pytest-benchmark", "pytz", "docutils",
)  # fmt: skip


def _run(server: Server) -> Outcomes:
    return workshop.pytest(
        workshop.environment("pg8000", _REQUIREMENTS),
        [*workshop.NO_SETTINGS, "test", "-q", "--timeout", "300", "--benchmark-disable"],
        folder=workshop.unpacked("pg8000", _VERSION),
        report=f"pg8000-{server.kind}",
        minutes=25,
        more={"PGHOST": server.host, "PGPORT": str(server.port)},
    )


SUITE: Final = Suite(
    name="pg8000",
    title="pg8000's own tests",
    package=f"pg8000 {_VERSION} (source distribution)",
    bar=0.90,
    run=_run,
    left_out=(LeftOut("test.*.auth.*", "need servers that are set up for one way of authentication each"),),
)

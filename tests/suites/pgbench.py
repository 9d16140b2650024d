"""pgbench, from PostgreSQL's own package: each mode is a test. Modes are each way to initialise, and each built-in
script in each protocol.

A mode passes when pgbench ends with status 0 and reports no failed transaction; tpcb-like also requires that branches,
tellers and accounts have the same sum afterwards (TPC-B's condition of consistency). There is one client: several that
change the one row of pgbench_branches get 40001 here where PostgreSQL lets them wait (docs/compatibility.md,
isolation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import psycopg
from support.packages import postgres_programs

from suites import workshop
from suites.outcomes import Outcome, Outcomes
from suites.servers import Server
from suites.suite import LeftOut, Suite

_SCRIPTS: Final = ("tpcb-like", "simple-update", "select-only")
_PROTOCOLS: Final = ("simple", "extended", "prepared")
#: The last is the one that the scripts run over.
_INITS: Final[Sequence[tuple[str, Sequence[str]]]] = (
    ("server-side data", ("--init-steps=dtGvp",)),
    ("foreign keys", ("--foreign-keys",)),
    ("partitions", ("--partitions=3",)),
    ("unlogged", ("--unlogged-tables",)),
    ("client-side data", ()),
)
_TRANSACTIONS: Final = 20
_SUMS: Final = """
select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers),
       (select sum(bbalance) from pgbench_branches)
"""


def _run(server: Server) -> Outcomes:
    return dict(_modes(server))


def _modes(server: Server) -> Iterator[tuple[str, Outcome]]:
    for name, flags in _INITS:
        yield f"pgbench::init, {name}", _called(server, f"init {name}", ["--initialize", "--quiet", *flags])
    for script in _SCRIPTS:
        for protocol in _PROTOCOLS:
            flags = [
                "--builtin",
                script,
                "--protocol",
                protocol,
                "--transactions",
                str(_TRANSACTIONS),
                "--random-seed=1",
            ]
            outcome = _called(server, f"{script} {protocol}", flags)
            if outcome.state == "passed" and script == "tpcb-like":
                outcome = _consistent(server)
            yield f"pgbench::{script}, {protocol}", outcome
    flags = ["--builtin", "select-only", "--client", "4", "--connect", "--transactions", str(_TRANSACTIONS)]
    yield (
        "pgbench::select-only, 4 clients, a connection for each transaction",
        _called(server, "select-only connect", flags),
    )


def _called(server: Server, mode: str, flags: Sequence[str]) -> Outcome:
    folder = postgres_programs()
    if folder is None:
        raise workshop.SuiteError("pgbench is not installed: make client-packages")
    output = workshop.FOLDER / f"pgbench-{server.kind}-{mode.replace(' ', '-')}.txt"
    status = workshop.run(
        [str(folder / "pgbench"), *flags, "--random-seed=1"]
        if "--builtin" in flags
        else [str(folder / "pgbench"), *flags],
        folder=Path("/"),
        output=output,
        minutes=5,
        more=server.environment(),
    )
    told = output.read_text()
    failed = re.search(r"number of failed transactions: ([1-9].*)", told)
    return Outcome("passed") if status == 0 and not failed else Outcome("failed", f"exit status {status}\n{told}")


def _consistent(server: Server) -> Outcome:
    with psycopg.connect(host=server.host, port=server.port, user=server.user, dbname=server.database) as connection:
        sums = connection.execute(_SUMS).fetchone()
    assert sums is not None
    return Outcome("passed") if len(set(sums)) == 1 else Outcome("failed", f"the sums differ: {sums}")


SUITE: Final = Suite(
    name="pgbench",
    title="pgbench: initialise in 4 ways, 3 scripts in 3 protocols, 4 clients that connect anew",
    package="postgresql-15 (Debian)",
    bar=1.0,
    run=_run,
    left_out=(
        LeftOut(
            "pgbench::init, partitions",
            "tables are partitioned by PARTITION BY alone (tables.md), not with PARTITION OF",
        ),
    ),
)

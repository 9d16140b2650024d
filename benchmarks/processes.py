"""Short statements of many clients: a server of two processes compared with one of one process."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.member import Member, running

_PGBENCH: Final = Path("/usr/lib/postgresql/15/bin/pgbench")
_CLIENTS: Final = 16
_SECONDS: Final = 8
_BAR: Final = 1.7
#: The scripts that pgbench repeats.
_STATEMENTS: Final = {
    "select 1": "select 1;\n",
    "nation aggregate": "select n_regionkey, count(*) from nation group by 1;\n",
    "nation by key": "\\set key random(0, 24)\nselect n_name from nation where n_nationkey = :key;\n",
}


def _run(ground: Ground) -> Iterator[Figure]:
    rates: dict[int, dict[str, float]] = {}
    for processes in (1, 2):
        with running(ground, f"processes-{processes}", SLUICE_PROCESSES=str(processes)) as member:
            rates[processes] = {name: _rate(ground, member, script) for name, script in _STATEMENTS.items()}
    for name in _STATEMENTS:
        yield Figure(f"{name}, one process", rates[1][name], "/s")
        yield Figure(
            f"{name}, two processes relative to one", rates[2][name] / rates[1][name], "x", _BAR, at_least=True
        )


def _rate(ground: Ground, member: Member, script: str) -> float:
    """Return the statements per second of all clients together."""
    file = ground.scratch / "processes.sql"
    file.write_text(script)
    command = [
        str(_PGBENCH), "--no-vacuum", "--protocol=prepared", f"--client={_CLIENTS}", "--jobs=1", f"--time={_SECONDS}",
        f"--file={file}", member.dsn,
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"tps = ([\d.]+) \(without", done.stdout)
    if found is None:
        raise RuntimeError(f"pgbench told no rate:\n{done.stdout}{done.stderr}")
    return float(found[1])


MEASURE: Final = Measure(
    "processes",
    "Short statements of sixteen clients, two processes relative to one",
    f"`pgbench --protocol=prepared --client={_CLIENTS}` runs each statement for {_SECONDS} s, on `sluice serve "
    "--processes 1` and then on `--processes 2`. pgbench itself runs on the same two cores.",
    _run,
)

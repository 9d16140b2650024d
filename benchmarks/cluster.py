"""A cluster for a benchmark: `sluice cluster up`, with its members as processes on this machine, without Spark until a
query needs it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from benchmarks.ground import TABLES, Ground

_COMMAND: Final = (sys.executable, "-m", "server.cli.main", "cluster")


class Cluster:
    """A running cluster; see `running`. consoles: the addresses of the members' consoles. pids: their process ids."""

    def __init__(self, folder: Path) -> None:
        self._members = json.loads((folder / "cluster.json").read_text())["members"]
        self.consoles: list[str] = [member["console"] for member in self._members]
        self.pids: list[int] = [int(member["pid"]) for member in self._members]

    def connect(self, distribution: str, **settings: str) -> psycopg.Connection[tuple[Any, ...]]:
        """Connect to the first member, with the local engine; `settings`: further settings of `sluice`."""
        host, _, port = self._members[0]["listen"].rpartition(":")
        wished = {"engine": "local", "distribution": distribution, **settings}
        options = " ".join(f"-c sluice.{name}={value}" for name, value in wished.items())
        return psycopg.connect(host=host, port=port, dbname="sluice", user="bench", options=options, autocommit=True)


@contextlib.contextmanager
def running(ground: Ground, name: str, members: int, data: Path) -> Iterator[Cluster]:
    """Run a cluster whose members know each other and the tables of `data`, which has a folder per table; it is ended
    on exit.

    name: of its directory.
    """
    folder = ground.folder(name)
    _command("up", "--listen", "127.0.0.1:0", "--members", str(members), "--data", str(folder))
    try:
        cluster = Cluster(folder)
        with cluster.connect("off") as connection:
            for table in TABLES:
                connection.execute(
                    sql.SQL("create foreign table {} options (path {}, format 'parquet')").format(
                        sql.Identifier(table), sql.Literal(str(data / table / "*.parquet"))
                    )
                )
        yield cluster
    finally:
        _command("down", "--data", str(folder))


def _command(*words: str) -> None:
    done = subprocess.run([*_COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"sluice cluster {words[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")

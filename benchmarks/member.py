"""A member for a benchmark: `sluice serve` as a process of its own, with 2 cores and 1 GB of heap for its Spark."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from benchmarks.ground import CORES, HEAP, TABLES, Ground

_READY_SECONDS: Final = 180


class Member:
    """A running member over the tables of a ground; see `running`."""

    def __init__(self, process: subprocess.Popen[str], words: dict[str, str]) -> None:
        self._process = process
        self.console = words["console"]
        self._host, _, self._port = words["listen"].rpartition(":")

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Send SIGKILL. Returns when the process is gone."""
        self._process.kill()
        self._process.wait()

    @property
    def dsn(self) -> str:
        return f"host={self._host} port={self._port} dbname=sluice user=bench"

    def connect(self, engine: str, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        """Connect with `sluice.engine` set at start-up, as a client would do it. `more`: arguments for
        psycopg.connect.
        """
        options = f"-c sluice.engine={engine}"
        return psycopg.connect(
            host=self._host,
            port=self._port,
            dbname="sluice",
            user="bench",
            options=options,
            **{"autocommit": True, **more},
        )

    def status(self) -> dict[str, Any]:
        """Return the member's state from its console."""
        with urllib.request.urlopen(f"{self.console}status", timeout=30) as answer:
            status: dict[str, Any] = json.load(answer)
        return status

    def wait_spark(self) -> None:
        """Wait until Spark has started. Raises RuntimeError if it could not start."""
        deadline = time.monotonic() + _READY_SECONDS
        while (state := self.status()["engines"]["spark"]) != "ready":
            if state != "starting" or time.monotonic() > deadline:
                raise RuntimeError(f"Spark is not ready: {state}")
            time.sleep(0.1)


@contextlib.contextmanager
def running(
    ground: Ground, name: str, configuration: str = "", *, spark: bool = True, **environment: str
) -> Iterator[Member]:
    """Run a member that knows the tables; it is ended on exit.

    name: of its data directory. configuration: TOML below the `[spark]` section. spark: whether to wait until its Spark
    has started; else Spark is never needed. The member's log is in the scratch folder.
    """
    start = "" if spark else 'start = "lazy"\n'
    with started(ground.folder(name), start + configuration, **environment) as member:
        if spark:
            member.wait_spark()
        with member.connect("auto") as connection:
            for table in TABLES:
                register(connection, table, ground.table(table))
        yield member


@contextlib.contextmanager
def started(data: Path, configuration: str = "", **environment: str) -> Iterator[Member]:
    """Run a member over this data directory; it is yielded when it accepts clients, and ended on exit, unless it was
    killed before.
    """
    config = data / "sluice.toml"
    config.write_text(f'[spark]\nmaster = "local[{CORES}]"\ndriver_memory = "{HEAP}"\n{configuration}')
    command = [
        sys.executable, "-m", "server.cli.main", "serve", "--config", str(config), "--data", str(data), "--log-level", "warning",
        "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0",
    ]  # fmt: skip
    with (data / "member.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )
    try:
        yield _ready(process, data / "member.log")
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _ready(process: subprocess.Popen[str], log: Path) -> Member:
    assert process.stdout is not None
    words = dict(word.split("=", 1) for word in process.stdout.readline().split() if "=" in word)
    if "listen" not in words:
        raise RuntimeError(f"the member did not start:\n{log.read_text()[-2000:]}")
    return Member(process, words)


def register(connection: psycopg.Connection[Any], table: str, path: Path) -> None:
    """Create a foreign table of a Parquet file."""
    connection.execute(
        sql.SQL("create foreign table {} options (path {}, format 'parquet')").format(
            sql.Identifier(table), sql.Literal(str(path))
        )
    )

"""PySpark without Sluice, in a process of its own: the same statements over the same files with the same settings.

The parent (`running`) writes a statement a line as JSON; the child answers with the number of rows of
`spark.sql(...).toArrow()`. The exchange costs well under a millisecond more. `engine.executors.spark.session` starts
the child's Spark as it starts a member's, so that both have the same settings, down to the number of shuffle
partitions.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from benchmarks.ground import CORES, HEAP, TABLES, Ground
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.session import SparkRuntime


class RawSpark:
    """The parent's end."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, statement: str) -> int:
        """Run a statement and fetch its rows. Returns their number."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the raw PySpark process has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"raw PySpark: {answer['error']}")
        return int(answer["rows"])


@contextlib.contextmanager
def running(ground: Ground) -> Iterator[RawSpark]:
    """Run a PySpark process over the ground's tables; it is ended on exit."""
    folder = ground.folder("raw-spark")
    with (folder / "stderr.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.raw_spark", str(ground.data), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        raw = RawSpark(process)
        raw.run("select 1")
        yield raw
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def _serve(data: Path, folder: Path, answers: IO[str]) -> None:
    runtime = SparkRuntime(SparkConfig(f"local[{CORES}]", HEAP), folder)
    try:
        session = runtime.session("UTC")
        for table in TABLES:
            session.read.parquet(str(data / f"{table}.parquet")).createOrReplaceTempView(table)
        for line in sys.stdin:
            print(json.dumps(_answer(session, json.loads(line))), file=answers, flush=True)
    finally:
        runtime.stop()


def _answer(session: Any, statement: str) -> dict[str, Any]:
    try:
        return {"rows": session.sql(statement).toArrow().num_rows}
    except Exception as error:  # noqa: BLE001
        return {"error": str(error)[:1000]}


def main() -> None:
    """Run the child. Spark's output goes to standard error; only answers go to the parent."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with answers:
        _serve(Path(sys.argv[1]), Path(sys.argv[2]), answers)


if __name__ == "__main__":
    main()

"""Spark Thrift Server (HiveServer2's protocol) from PySpark's own jars, on the loopback interface, and PyHive's connection."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyspark

from benchmarks.ground import CORES, Ground

_CLASS: Final = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_START_SECONDS: Final = 180
#: The server holds a whole result in the driver: with the 1 GB of a member's Spark, orders fails with OutOfMemoryError.
HEAP: Final = "4g"


@contextlib.contextmanager
def running(ground: Ground) -> Iterator[int]:
    """Run a Thrift Server with the cores of a member's Spark and more heap; it is ended on exit. Yields its port."""
    folder = ground.folder("thrift-server")
    home = Path(pyspark.__file__).parent
    port = free_port()
    command = [
        str(home / "bin" / "spark-submit"), "--class", _CLASS, "--master", f"local[{CORES}]", "--driver-memory", HEAP,
        "--conf", "spark.sql.catalogImplementation=in-memory", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1", "spark-internal",
        "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1", "--hiveconf", f"hive.server2.thrift.port={port}",
        "--hiveconf", "hive.server2.authentication=NOSASL",
    ]  # fmt: skip
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "SPARK_HOME": str(home)}
        )
    try:
        _wait(process, port, folder / "server.log")
        yield port
    finally:
        process.terminate()
        process.wait()


def connect(port: int) -> Any:
    """Return a PyHive connection."""
    from pyhive import hive

    return hive.connect("127.0.0.1", port, username="bench", auth="NOSASL")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise RuntimeError(f"Spark Thrift Server did not start:\n{log.read_text()[-2000:]}")

"""The parts of the connection to Spark that a member needs before PySpark is imported.

The same holds for every module that `engine.executors.spark.executor` imports: PySpark is imported by the thread that
starts Spark, through `engine.executors.spark.session`, and a member that never starts Spark does not import it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from engine.executors.engine_config import SparkConfig

#: The assumed cores of a cluster whose configuration does not set them.
_CLUSTER_CORES: Final = 16


def is_embedded(master: str) -> bool:
    """Return whether Spark's tasks run on this machine, below the driver."""
    return master.startswith("local")


def embedded_cores(master: str) -> int:
    """Return the number of tasks that an embedded Spark runs at once."""
    inner = master.removeprefix("local").strip("[]").split(",")[0]
    return int(inner) if inner.isdecimal() else len(os.sched_getaffinity(0)) if inner == "*" else 1


def expected_cores(config: SparkConfig) -> int:
    """Return the number of tasks that Spark is expected to run at once, before it has started and reports the actual
    number.
    """
    if is_embedded(config.master):
        return embedded_cores(config.master)
    conf = config.conf
    if (most := conf.get("spark.cores.max", "")).isdecimal():
        return int(most)
    executors, cores = conf.get("spark.executor.instances", ""), conf.get("spark.executor.cores", "1")
    return int(executors) * int(cores) if executors.isdecimal() and cores.isdecimal() else _CLUSTER_CORES


@contextlib.contextmanager
def own_connection() -> Iterator[None]:
    """Give the calling thread its own connection to the JVM for the block. The connection, and the Java thread at its
    other end, end with the block.
    """
    # Imported on first use, on the caller's thread, because PySpark takes long to import.
    from pyspark import SparkContext

    try:
        yield
    finally:
        client: Any = getattr(SparkContext._gateway, "_gateway_client", None)
        connection = None if client is None else client.get_thread_connection()
        if connection is not None:
            connection.close()
            with contextlib.suppress(ValueError):
                client.deque.remove(connection)

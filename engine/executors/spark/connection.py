"""The parts of Spark's connection that a member needs before PySpark is imported.

Everything that `engine.executors.spark.executor` imports is like this: PySpark is imported by the thread that starts Spark, by
way of `engine.executors.spark.session`, and a member whose Spark is never started does without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def is_embedded(master: str) -> bool:
    """Whether Spark's tasks run on this machine, below the driver."""
    return master.startswith("local")


@contextlib.contextmanager
def own_connection() -> Iterator[None]:
    """For a thread's use of Spark: its connection to the JVM, and the Java thread at the other end, end with the block."""
    # On first use, on the thread of whoever uses Spark: PySpark takes long to import.
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

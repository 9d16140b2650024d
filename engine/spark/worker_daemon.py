"""The process that forks Spark's Python workers, with what a sender needs imported already.

Spark starts one such daemon per executor (`spark.python.daemon.module`) and forks a worker from it when it needs one. A
worker forked from PySpark's own daemon imports Arrow first, which takes as long as a short query.
"""

from __future__ import annotations

import gc

import pyspark.daemon
import pyspark.worker

import engine.spark.worker

__all__ = ["engine", "pyspark"]

if __name__ == "__main__":
    gc.freeze()
    pyspark.daemon.manager()  # type: ignore[no-untyped-call]

"""The process that forks Spark's Python workers, with the modules that a sender needs already imported.

Spark starts one such daemon per executor (`spark.python.daemon.module`) and forks a worker from it when it needs one. A
worker that is forked from PySpark's own daemon imports Arrow first, which takes as long as a short query.

Spark puts archives of PySpark before everything else on the module search path. Modules that are imported from an
archive are compiled again at each import, and each task causes the directories of all archives to be read again
(`importlib.invalidate_caches` in `pyspark.worker_util`). So where the archives are part of an installed PySpark, the
modules are imported from the installation.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def _prefer_installed() -> None:
    """Remove archives that are part of an installed PySpark from the module search path:
    `pyspark/python/lib/NAME.zip`.
    """
    for entry in [path for path in sys.path if path.endswith(".zip")]:
        package = Path(entry).resolve().parent.parent.parent
        if package.name == "pyspark" and (package / "__init__.py").exists() and str(package.parent) in sys.path:
            sys.path.remove(entry)
            sys.path_importer_cache.pop(entry, None)


_prefer_installed()

import pyspark.daemon  # noqa: E402 - the search path is set above
import pyspark.worker  # noqa: E402

import engine.executors.spark.worker  # noqa: E402

__all__ = ["engine", "pyspark"]

if __name__ == "__main__":
    gc.freeze()
    pyspark.daemon.manager()  # type: ignore[no-untyped-call]

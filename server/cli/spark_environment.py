"""`sluice spark-env`: packs the Python libraries that Spark's tasks import, for executors on machines of their own.

Executors run Python: in the tasks that send rows to members, and in those that compute functions that Spark lacks. The
code of Sluice is shipped with each application; its libraries are not. This command packs the libraries, as they are
installed beside it, into an archive that Spark copies to each executor and unpacks there:

    bin/python          starts the interpreter of the executor's machine with the libraries
    site-packages/      the libraries, of this interpreter's version and this machine's kind

    [spark.conf]
    "spark.archives" = "/path/env.tar.gz#environment"
    "spark.pyspark.python" = "./environment/bin/python"

The archive contains neither the interpreter, because one to which a virtual environment refers cannot be moved, nor
PySpark, because Spark brings its own.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import shlex
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: The libraries that `engine` and `wire` import in a task, with their dependencies.
_DISTRIBUTIONS: Final = (
    "arro3-core", "asn1crypto", "deltalake", "duckdb", "fsspec", "msgspec", "numpy", "pyarrow", "python-dateutil", "pytz", "scramp",
    "six", "sqlglot", "typing_extensions",
)  # fmt: skip
_LIBRARIES: Final = "site-packages"
_INTERPRETER: Final = "bin/python"
#: Where Spark unpacks the archive, below an executor's working directory.
_UNPACKED: Final = "environment"
#: Spark passes the modules of PySpark and of Sluice in PYTHONPATH.
_LAUNCHER: Final = """#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}$here/{libraries}" exec {python} "$@"
"""


def default_python() -> str:
    """Return the interpreter that executors must have: one of this interpreter's version, found on the PATH."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def pack(target: Path, python: str) -> None:
    """Write the archive. python: the interpreter on the executors' machines. Raises OSError, and PackageNotFoundError
    for a library that is not installed.
    """
    files = [found for name in _DISTRIBUTIONS for found in _files(name)]
    with tarfile.open(target, "x:gz", compresslevel=6) as archive:
        launcher = _LAUNCHER.format(libraries=_LIBRARIES, python=shlex.quote(python)).encode()
        entry = tarfile.TarInfo(_INTERPRETER)
        entry.size, entry.mode = len(launcher), 0o755
        archive.addfile(entry, io.BytesIO(launcher))
        for name, path in files:
            archive.add(path, f"{_LIBRARIES}/{name}", recursive=False)


def _files(distribution: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of an installed library with their names, except commands and compiled bytecode."""
    for file in importlib.metadata.distribution(distribution).files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            yield str(file), Path(str(file.locate()))


def configuration(target: Path) -> str:
    """Return the section of a member's configuration file that makes its executors use the archive."""
    return "\n".join(
        [
            "[spark.conf]",
            f'"spark.archives" = {json.dumps(f"{target.resolve()}#{_UNPACKED}")}',
            f'"spark.pyspark.python" = "./{_UNPACKED}/{_INTERPRETER}"',
        ]
    )

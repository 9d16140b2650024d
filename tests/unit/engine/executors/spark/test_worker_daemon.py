"""The daemon imports the installed PySpark, although Spark's archives of it come first on the module search path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

INSTALLED = Path(pyspark.__file__).parent
ARCHIVES = sorted((INSTALLED / "python" / "lib").glob("*.zip"))
_PRINT = "import engine.executors.spark.worker_daemon as daemon; print(daemon.pyspark.__file__)"


def _imported(paths: list[str], *options: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *options, "-c", _PRINT]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_the_installed_one() -> None:
    assert len(ARCHIVES) == 2
    assert Path(_imported([*map(str, ARCHIVES), *sys.path])) == INSTALLED / "__init__.py"


def test_archives_of_another_installation_stay(tmp_path: Path) -> None:
    """Executors run the PySpark that fits their JVM."""
    other = [tmp_path / archive.name for archive in ARCHIVES]
    for link, archive in zip(other, ARCHIVES, strict=True):
        link.hardlink_to(archive)
    assert _imported([*map(str, other), *sys.path]).startswith(str(tmp_path))


@pytest.mark.parametrize("entry", ["/archive.zip", "archive.zip"])
def test_other_archives_stay(entry: str) -> None:
    assert Path(_imported([entry, *sys.path])) == INSTALLED / "__init__.py"

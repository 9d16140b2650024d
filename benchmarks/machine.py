"""Describes the machine and the versions on which figures are taken."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Final

import psutil

_PACKAGES: Final = ("pyspark", "duckdb", "pyarrow", "psycopg", "sqlglot", "uvloop")


def describe() -> list[str]:
    """Return lines that describe the machine and the versions."""
    memory = psutil.virtual_memory().total / (1 << 30)
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return [
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB of memory, "
        f"{platform.system()} {platform.release().split('-')[0]}",
        f"Python {platform.python_version()}, Java {_java()}, {packages}",
    ]


def busy() -> float:
    """Return the load average of the last minute: the other load of the machine, if called before a run."""
    return os.getloadavg()[0]


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.processor()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'"([^"]+)"', told)
    return found[1] if found else told.splitlines()[0]

"""The environment of a measure: TPC-H data of one scale, a scratch folder, and a console for messages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from rich.console import Console

TABLES: Final = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
CORES: Final = 2
HEAP: Final = "1g"


@dataclass(frozen=True, slots=True)
class Ground:
    """data: the folder of the tables' Parquet files. scratch: an empty folder, removed at the end."""

    data: Path
    scratch: Path
    console: Console

    def table(self, name: str) -> Path:
        return self.data / f"{name}.parquet"

    def rows(self, name: str) -> int:
        return int(pq.read_metadata(self.table(name)).num_rows)

    def folder(self, name: str) -> Path:
        """Create a folder of that name in the scratch folder."""
        path = self.scratch / name
        path.mkdir()
        return path

    def of_scale(self, scale: float, parts: int) -> Path:
        """Return the folder with TPC-H of another scale, in which each larger table has a folder with `parts` files."""
        return tpch_data(self.data.parent, scale, self.console, parts)

    def say(self, words: str) -> None:
        self.console.print(f"  {words}", style="dim", highlight=False)


def tpch_data(folder: Path, scale: float, console: Console, parts: int = 1) -> Path:
    """Return the folder with TPC-H Parquet files of that scale below `folder`; they are generated if they do not
    exist.

    parts: 1: a file per table, `lineitem.parquet`; more: a folder per table, `lineitem`, with up to that many files.
    """
    several = ("--parts", str(parts)) if parts > 1 else ()
    target = folder / "-".join(["tpch", f"{scale:g}", *several[1:]])
    if all((target / (table if several else f"{table}.parquet")).exists() for table in TABLES):
        return target
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tool = Path(sys.executable).with_name("tpchgen-cli")
    with console.status(f"generating TPC-H data at scale {scale:g} ..."):
        subprocess.run(
            [str(tool), "parquet", "-s", f"{scale:g}", "--output-dir", str(partial), *several],
            check=True,
            capture_output=True,
        )
    shutil.rmtree(target, ignore_errors=True)
    return partial.rename(target)

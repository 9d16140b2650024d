"""Parquet files that changed a while ago: what is cached of a file that changed a moment ago is not kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write_aged(path: Path, rows: pa.Table, *, age: float = 10.0, row_group_size: int | None = None) -> str:
    """Write a Parquet file whose modification time is `age` seconds ago. Returns its path."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path, row_group_size=row_group_size)
    changed = time.time() - age
    os.utime(path, (changed, changed))
    return str(path)

"""Figures of a member that belong to no single room: its memory, and the hit rates of the process's caches."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from engine.common.resident_memory import resident_bytes
from engine.common.weighted_lru_cache import CacheFigures
from engine.planner.optimizer import input_size
from engine.storage import delta


def memory_figures(limit: int) -> Mapping[str, int]:
    """Return the bytes that the process has, those of them that Arrow has, and the limit; 0: no limit."""
    return {"resident_bytes": resident_bytes(), "arrow_bytes": pa.total_allocated_bytes(), "limit_bytes": limit}


def cache_figures() -> Mapping[str, CacheFigures]:
    """Return the figures of the caches that all engines of the process share, by their names."""
    return {**input_size.cache_figures(), "table_versions": delta.cache_figures()}

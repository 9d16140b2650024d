"""Makes written data survive a power failure."""

from __future__ import annotations

from pathlib import Path

from engine.storage import disk


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, durable. Raises OSError."""
    disk.current_disk().sync(path)

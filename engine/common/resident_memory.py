"""The resident memory of the process, as Linux counts it."""

from __future__ import annotations

import os
from typing import Final

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the resident memory of the process, in bytes."""
    with open("/proc/self/statm", "rb") as sizes:
        return int(sizes.read().split()[1]) * _PAGE_BYTES

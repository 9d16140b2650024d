"""Options of a foreign table that say how a file of its format is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: The names of the options, by format.
FILE_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "parquet": (),
    "json": (),
    "csv": ("header", "delimiter", "quote", "escape", "null"),
}

"""Options of a foreign table that say how its files are read, by format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wire.dataclass import dataclass

#: The names of the options, by format.
FILE_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "parquet": (),
    "json": (),
    "csv": ("header", "delimiter", "quote", "escape", "null"),
}


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The special characters of CSV files; none of them is empty."""

    delimiter: str
    quote: str
    escape: str

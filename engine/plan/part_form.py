"""The parts of a folder that a COPY TO makes, where they are rows as COPY writes them rather than a table's files."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from wire.carriers import NumericScale
from wire.copying.options import Layout


class PartForm(Struct, frozen=True):
    """form: json: the only column has the objects. layout, encoding: of the others, as `engine.copying.options.CopyFormat`.

    digits: each column's display and minimum (`wire.text_output.EncodedColumn`), which the columns of a table do not have.
    """

    form: Literal["text", "csv", "json"]
    layout: Layout
    encoding: str | None
    digits: tuple[tuple[NumericScale, int], ...]

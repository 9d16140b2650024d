"""The format of the parts in a folder that COPY TO writes, if they hold rows as COPY writes them rather than a table's
files.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from wire.copy.options import Layout
from wire.types.carriers import NumericScale


class PartForm(Struct, frozen=True):
    """The format of a part. form: json: the only column has the objects. layout, encoding: of the other formats, as
    `engine.statements.copy.options.CopyFormat`.

    digits: each column's display and minimum (`wire.types.output.EncodedColumn`), which the columns of a table do not
    have.
    """

    form: Literal["text", "csv", "json"]
    layout: Layout
    encoding: str | None
    digits: tuple[tuple[NumericScale, int], ...]

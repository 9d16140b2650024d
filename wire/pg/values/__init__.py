"""Values by type on the PostgreSQL wire: decoding of Bind's parameters, and encoding of result columns in the binary
format.

`parameters` decodes one value at a time, since parameters come one at a time; `binary` encodes whole columns. The text
formats are in `wire.types.input` and `wire.types.output`, which the engine shares.
"""

from __future__ import annotations

from wire.pg.values.parameters import decode_parameter

__all__ = ["decode_parameter"]

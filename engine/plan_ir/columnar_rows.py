"""Rows of VALUES stored by column: thousands of rows whose columns are lists of constants or parameters become a few
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, overload

from engine.plan_ir.expr import Const, Constants, Expr, Parameters

#: The number of rows from which constants are stored as data. Fewer are looked at in little time.
MANY: Final = 32


class ColumnarRows(Sequence[tuple[Expr, ...]]):
    """Rows of expressions, stored by column. columns: for each column its expressions in the order of the rows; all
    have the same length.
    """

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Sequence[Expr]]) -> None:
        self.columns = tuple(columns)

    @property
    def is_data(self) -> bool:
        """Whether there is nothing in it that a pass could rewrite."""
        return all(isinstance(column, Constants | Parameters) for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, index: int) -> tuple[Expr, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> ColumnarRows: ...
    def __getitem__(self, index: int | slice) -> tuple[Expr, ...] | ColumnarRows:
        if isinstance(index, slice):
            return ColumnarRows([column[index] for column in self.columns])
        return tuple(column[index] for column in self.columns)

    def __iter__(self) -> Iterator[tuple[Expr, ...]]:
        return zip(*self.columns, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnarRows) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(self.columns)

    def __repr__(self) -> str:
        return f"ColumnarRows({self.columns!r})"


def gather_rows(columns: Sequence[Sequence[Expr]]) -> tuple[tuple[Expr, ...], ...] | ColumnarRows:
    """Return rows of the columns' expressions: as data, which no pass looks at, if they are many and each column has
    constants of one type only.
    """
    if columns and len(columns[0]) >= MANY:
        gathered = [constants for column in columns if (constants := _gather(column)) is not None]
        if len(gathered) == len(columns):
            return ColumnarRows(gathered)
    return tuple(zip(*columns, strict=True))


def _gather(column: Sequence[Expr]) -> Constants | None:
    typ = column[0].type
    if not all(isinstance(cell, Const) and cell.type == typ for cell in column):
        return None
    return Constants(typ, tuple(cell.value for cell in column if isinstance(cell, Const)))

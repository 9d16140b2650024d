"""ANALYZE's statistics of a column in the form that selectivity estimates use, with values as file statistics have
them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from engine.catalog.model.objects import Table
from engine.catalog.model.statistics import ColumnStatistics
from engine.planner.optimizer.column_bounds import native
from engine.planner.optimizer.selectivity import Known
from wire.types import pg_types as t
from wire.types.input import parse_text
from wire.types.text_settings import InputSettings

_SETTINGS: Final = InputSettings()
#: Types whose constants may be spelled differently from equal values.
_NOT_COMPARED: Final = (t.BPCHAR, t.CHAR)


def statistics_by_column(table: Table) -> dict[str, ColumnStatistics]:
    """Return the statistics of a table's columns, by the names that its files give them."""
    found = table.statistics
    if found is None:
        return {}
    columns = ((column.file_column, found.of(column.number, column.type.pg.oid)) for column in table.columns)
    return {name: known for name, known in columns if known is not None}


@lru_cache(maxsize=4096)
def known_statistics(column: ColumnStatistics, rows: float) -> Known:
    """Convert a column's statistics. rows: of the table."""
    pg = t.BY_OID.get(column.type)
    values = column.values(rows) or max(rows, 1.0)
    if pg is None or pg in _NOT_COMPARED:
        return Known(values, nulls=column.nulls)
    common = {
        value: part
        for text, part in zip(column.common, column.frequencies, strict=True)
        if (value := _value(text, pg)) is not None
    }
    bounds = [value for text in column.bounds if (value := _value(text, pg)) is not None]
    least, greatest = _value(column.least, pg), _value(column.greatest, pg)
    between = None if least is None or greatest is None else (least, greatest)
    return Known(values, between, column.nulls, common, bounds, analysed=True)


def _value(text: str | None, pg: t.PgType) -> Any:
    return None if text is None else native(parse_text(pg, text, settings=_SETTINGS), pg)

"""Measures DataRow encoding alone: batches of `orders` in memory to the bytes of the protocol, on one core
(`wire.pg.datarow`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground
from engine.catalog.model.objects import TableColumn
from engine.contracts.output_cast import carrier_of, carry_to
from engine.lakes.infer import infer_columns
from wire.pg.datarow import EncodedColumn, RowEncoder
from wire.types.text_settings import OutputSettings

_BATCH_ROWS: Final = 10_000
_RUNS: Final = 5
_FORMATS: Final = {"text": 0, "binary": 1}
_INTEGERS: Final = ("o_orderkey", "o_custkey")


def _run(ground: Ground) -> Iterator[Figure]:
    path = str(ground.table("orders"))
    columns = infer_columns((path,), "parquet", {})
    for what, chosen in {"all nine columns": columns, "two integers": _only(columns, _INTEGERS)}.items():
        batches = _carried(path, chosen)
        for form, code in _FORMATS.items():
            encoder = RowEncoder([_encoded(column) for column in chosen], (code,), OutputSettings())
            rates = [_rate(encoder, batches) for _ in range(_RUNS)]
            yield Figure(f"orders, {what}, {form}", median(rates) / 1e6, "M rows/s")


def _only(columns: Sequence[TableColumn], names: Sequence[str]) -> Sequence[TableColumn]:
    return [column for column in columns if column.name in names]


def _carried(path: str, columns: Sequence[TableColumn]) -> list[pa.RecordBatch]:
    schema = pa.schema([pa.field(column.name, carrier_of(column.type)) for column in columns])
    with pq.ParquetFile(path) as file:
        read = file.iter_batches(_BATCH_ROWS, columns=[column.name for column in columns])
        return [carry_to(batch, schema) for batch in read]


def _encoded(column: TableColumn) -> EncodedColumn:
    return EncodedColumn(column.type.pg, column.type.typmod, column.type.display, column.type.minimum)


def _rate(encoder: RowEncoder, batches: Sequence[pa.RecordBatch]) -> float:
    started = time.process_time()
    for batch in batches:
        encoder.encode(batch)
    seconds = time.process_time() - started
    return sum(int(batch.num_rows) for batch in batches) / seconds


MEASURE: Final = Measure(
    "encode",
    "Encoding rows as DataRow messages",
    f"`orders` as Arrow batches of {_BATCH_ROWS:,} rows in memory, encoded by `RowEncoder` in the benchmark's "
    f"process: rows per second of its processor time, median of {_RUNS} passes over the table.",
    _run,
)

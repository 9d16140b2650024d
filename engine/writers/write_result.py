"""The result of writing a statement's rows, and its encoding for the way to the initiator: from members, and from
Spark's tasks.

It travels as rows of `INTENTS`: one for each batch of RETURNING's rows, as an Arrow IPC stream, so that none is larger
than a batch of the input was; and a last one with everything else. Spark's tasks keep RETURNING's rows in files beside
those of the table (`engine.writers.returned_rows`), because a job's result passes through its driver's heap, and they
send only the files' names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import pyarrow as pa

from engine.catalog.model.objects import DataFile
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """The result of one writer, or of all writers of a statement.

    rows: the number of changed rows. returned: RETURNING's rows; returned_in: files in the statement's folder that have
    more. passed_over: the keys because of which rows were passed over (indexes of `Mutate.again`). given: the last
    value that each writer took of each sequence (its OID). moved: the old values of `Mutate.before` and the new ones,
    of changed rows; only on the member that writes and has requested them: they do not travel.
    """

    rows: int
    files: tuple[DataFile, ...]
    returned: tuple[pa.RecordBatch, ...] = ()
    passed_over: tuple[int, ...] = ()
    given: tuple[tuple[int, int], ...] = ()
    moved: tuple[pa.RecordBatch, ...] = ()
    returned_in: tuple[str, ...] = ()


class _Told(msgspec.Struct, frozen=True):
    files: tuple[DataFile, ...]
    passed_over: tuple[int, ...]
    given: tuple[tuple[int, int], ...]
    returned_in: tuple[str, ...]


INTENTS: Final = pa.schema([("changed", pa.int64()), ("told", pa.utf8()), ("returned", pa.binary())])
#: The same schema for Spark.
INTENTS_ON_SPARK: Final = "changed bigint, told string, returned binary"
_TOLD: Final = msgspec.json.Decoder(_Told)


def encode_result(written: Written) -> Iterator[pa.RecordBatch]:
    """Encode the result as rows of `INTENTS`."""
    for batch in written.returned:
        yield _row(0, None, _encode(batch))
    rest = _Told(written.files, written.passed_over, written.given, written.returned_in)
    yield _row(written.rows, msgspec.json.encode(rest).decode(), None)


def written_by(intents: Iterable[pa.RecordBatch]) -> Written:
    """Merge the results of several writers. Raises msgspec.MsgspecError, pa.ArrowInvalid for rows that are no results."""
    named = [pa.RecordBatch.from_arrays(batch.columns, schema=INTENTS) for batch in intents]
    rows = pa.Table.from_batches(named, INTENTS).to_pylist()
    all_told = [_TOLD.decode(row["told"]) for row in rows if row["told"] is not None]
    returned = (pa.ipc.open_stream(row["returned"]) for row in rows if row["returned"] is not None)
    return Written(
        sum(row["changed"] for row in rows),
        tuple(file for one in all_told for file in one.files),
        tuple(batch for stream in returned for batch in stream),
        tuple(sorted({key for one in all_told for key in one.passed_over})),
        tuple(given for one in all_told for given in one.given),
        returned_in=tuple(name for one in all_told for name in one.returned_in),
    )


def _row(changed: int, rest: str | None, returned: bytes | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"changed": changed, "told": rest, "returned": returned}], schema=INTENTS)


def _encode(batch: pa.RecordBatch) -> bytes:
    encoded = pa.BufferOutputStream()
    with pa.ipc.new_stream(encoded, batch.schema) as stream:
        stream.write_batch(batch)
    return encoded.getvalue().to_pybytes()  # type: ignore[no-any-return]

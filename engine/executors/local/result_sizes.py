"""A bound on what functions whose results are longer than their arguments take for the rows of a batch.

DuckDB computes a function for all rows of a vector, 2,048 at most, before it looks at an interrupt, and its memory limit
does not count the texts that the function makes. `repeat(x, 10000000)` would take 20 GB and the process with it, where
PostgreSQL holds one value at a time. So a call reserves the bytes of its long results before they are made:

    sluice_reserve(bytes)   true for each row, or an error

`engine.sql.functions.result_sizes` builds the calls, for rows whose results are long only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.executors.local.udf import arrow_function
from wire.errors import OutOfMemory

#: The maximum number of bytes of the long results of a batch; a single result may be as long as a text may be.
BATCH_BYTES_MAX: Final = 512 << 20
#: The same for all batches that are computed at the same time.
_TOTAL_BYTES_MAX: Final = 2 << 30
#: The maximum number of bytes of a text.
TEXT_BYTES_MAX: Final = 1 << 30
#: Seconds for which the bytes of another thread's last batch count.
_SECONDS: Final = 10.0


def require_room(total: int, longest: int, others: int = 0) -> None:
    """Raise OutOfMemory if the results of a batch have too many bytes. longest: those of one result; others: those of
    other batches.
    """
    if total > max(BATCH_BYTES_MAX, longest) or others + total > _TOTAL_BYTES_MAX:
        raise OutOfMemory(
            "out of memory",
            detail=f"The results of a function for some of the rows have {total} bytes.",
            hint="Process shorter values, or fewer rows with long values.",
        )


class Reservations:
    """The bytes of the last batch of each thread. clock: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[int, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def reserve(self, total: int, longest: int, thread: int) -> None:
        """Reserve the bytes of a batch for a thread, in place of its preceding batch. longest: those of one result.

        Raises OutOfMemory if there are too many.
        """
        now = self._clock()
        with self._lock:
            self._last = {
                key: (since, size)
                for key, (since, size) in self._last.items()
                if key != thread and now - since < _SECONDS
            }
            others = sum(size for _since, size in self._last.values())
            require_room(total, longest, others)
            self._last[thread] = now, total


_RESERVATIONS: Final = Reservations()


@arrow_function("sluice_reserve", ["BIGINT"], "BOOLEAN")
def _reserve(sizes: Any) -> pa.Array:
    # DuckDB evaluates constant calls in branches that it does not take: longer texts are refused where they are made.
    sizes = pc.min_element_wise(sizes, TEXT_BYTES_MAX)
    _RESERVATIONS.reserve(pc.sum(sizes).as_py() or 0, pc.max(sizes).as_py() or 0, threading.get_ident())
    return pa.repeat(True, len(sizes))

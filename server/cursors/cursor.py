"""A position in the rows of one execution: the object behind SQL cursors and protocol portals.

Rows are pulled from the execution's stream on demand. Rows that were given are kept only if the cursor may move
backward: always with SCROLL (on disk beyond a limit), never with NO SCROLL or for a protocol portal, and if neither was
specified, only up to the limit in memory. In the last case PostgreSQL decides by the plan; here a cursor that has
outgrown the limit refuses to move backward, as PostgreSQL's does if the plan cannot: it raises an error and never gives
other rows.

The arithmetic of positions is PostgreSQL's, endpoints included (pquery.c: PortalRunSelect, DoPortalRunFetch,
DoPortalRewind): `position` is the number of the current row, 0 before the first; `at_end` means beyond the last.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final, Literal

import pyarrow as pa

from engine.contracts.sessions import Execution
from server.cursors.row_buffer import RowBuffer
from wire.common.batch_sizes import fits
from wire.errors import ObjectNotInPrerequisiteState, ProgramLimitExceeded

#: Bytes of rows that a cursor keeps in memory; beyond them, rows of a SCROLL or WITH HOLD cursor go to disk.
KEPT_BYTES_MAX: Final = 4 << 20

Direction = Literal["forward", "backward", "absolute", "relative"]


class Cursor:
    """See the module's docstring.

    Arguments:
        execution: owned by the cursor from here on; closed when its last row was read, or by `close`.
        scroll: True for SCROLL, False for NO SCROLL, None if neither was specified.
        rows_max: how far the cursor may move; 0: without limit.
    """

    def __init__(self, execution: Execution, scroll: bool | None = False, rows_max: int = 0) -> None:
        self.position = 0
        self.at_start = True
        self.at_end = False
        self._scroll = scroll
        self._rows_max = rows_max
        self._execution: Execution | None = execution
        # `_kept`: the kept rows, which begin after row `_kept_from`. Without it, `_rest` is the rest of the last batch.
        self._kept = None if scroll is False else RowBuffer(KEPT_BYTES_MAX)
        self._kept_from = 0
        self._rest: pa.RecordBatch | None = None
        #: The arrival of the first rows, by the monotonic clock.
        self.first_at: float | None = None

    @property
    def scrollable(self) -> bool:
        return self._scroll is not False

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing of the execution is left to release."""
        return self._execution is None

    # -- movement: one batch ---------------------------------------------------------------------------------------

    async def next_batch(self, limit: int | None, bytes_max: int | None = None) -> pa.RecordBatch | None:
        """Return at most `limit` rows after the position, and move the position behind them. Returns None if there are
        no more.

        bytes_max: the approximate size of the rows; at least one row is returned. Raises ProgramLimitExceeded beyond
        `rows_max`.
        """
        batch = await self._rows_ahead()
        if batch is None:
            return None
        limit = _smaller_limit(batch, limit, bytes_max)
        if limit is not None and batch.num_rows > limit:
            if self._kept is None:
                self._rest = batch.slice(limit)
            batch = batch.slice(0, limit)
        self._require_within(self.position + batch.num_rows)
        self.position += batch.num_rows
        self.at_start = False
        return batch

    def _require_within(self, rows: int) -> None:
        if 0 < self._rows_max < rows:
            raise ProgramLimitExceeded(
                f"the statement gives more than {self._rows_max} rows",
                hint="Add a LIMIT, or ask for fewer. The limit is sluice.rows_max, which ALTER ROLE sets.",
            )

    async def _rows_ahead(self) -> pa.RecordBatch | None:
        """Return the rows after the position that are available in one batch."""
        if self._kept is not None:
            at = self.position - self._kept_from
            if at < self._kept.rows:
                return await self._kept.read(at, self._kept.rows - at)
        if self._rest is not None:
            rest, self._rest = self._rest, None
            return rest
        return await self._pull()

    async def _pull(self) -> pa.RecordBatch | None:
        """Pull the next batch of the execution, and keep it if rows are kept. At its end the execution is closed."""
        if self._execution is None:
            return None
        batch: pa.RecordBatch | None = await self._execution.stream.next_batch()
        if self.first_at is None:
            self.first_at = time.monotonic()
        if batch is None:
            await self._release()
        elif self._kept is not None:
            await self._keep(self._kept, batch)
        return batch

    async def _keep(self, kept: RowBuffer, batch: pa.RecordBatch) -> None:
        if self._scroll is None and not kept.fits(batch):
            self._scroll = False
            self._kept = None
            kept.close()
        else:
            await kept.append(batch)

    async def previous_batch(self, limit: int | None, bytes_max: int | None = None) -> pa.RecordBatch | None:
        """Return the rows before the position, nearest first, and move the position to the last of them. Returns None
        if there are none.

        Only for a cursor that may move backward.
        """
        assert self._kept is not None
        start = self.position - 1 if self.at_end else self.position - 2
        if start < 0:
            return None
        batch = await self._kept.read_backward(start, start + 1 if limit is None else limit)
        batch = batch.slice(0, _smaller_limit(batch, limit, bytes_max))
        self.position = start + 2 - batch.num_rows
        self.at_end = False
        return batch

    def require_scroll(self) -> None:
        if self._scroll is False:
            raise ObjectNotInPrerequisiteState(
                "cursor can only scan forward", hint="Declare it with SCROLL option to enable backward scan."
            )

    def rewind(self) -> None:
        """Move to before the first row. Raises ObjectNotInPrerequisiteState if the cursor may not move backward."""
        if self.at_start and not self.at_end:
            return
        self.require_scroll()
        self.position, self.at_start, self.at_end = 0, True, False

    # -- movement: FETCH -------------------------------------------------------------------------------------------

    def run(self, count: int | None, *, forward: bool = True) -> Run:
        """Begin a movement of `count` rows in one direction. None means all rows; 0 or a negative count is no movement
        (PortalRunSelect).
        """
        if not forward:
            self.require_scroll()
        return Run(self, forward, count)

    async def fetch(self, direction: Direction, count: int | None) -> Run:
        """Move the cursor to before the rows of a FETCH, and return the movement over them (DoPortalRunFetch)."""
        if direction == "absolute":
            assert count is not None
            return await self._absolute(count)
        if direction == "relative":
            assert count is not None
            return await self._relative(count)
        forward = direction == "forward"
        if count is not None and count < 0:
            forward, count = not forward, -count
        if count == 0:
            return await self._current()
        return self.run(count, forward=forward)

    async def move(self, direction: Direction, count: int | None) -> int:
        """Execute MOVE: move as FETCH does, without the rows. Returns the number of rows that FETCH would have given."""
        if count == 0 and direction != "absolute":
            return 0 if self.at_start or self.at_end else 1
        if direction == "backward" and count is None:
            passed = self.position if self.at_end else max(self.position - 1, 0)
            self.rewind()
            return passed
        return await (await self.fetch(direction, count)).skip()

    async def _absolute(self, count: int) -> Run:
        if count == 0:
            self.rewind()
            return self.run(0)
        if count < 0:
            await self.run(None).skip()
            await self._skip_backward(-count - 1)
            return self.run(1, forward=False)
        if count - 1 <= self.position // 2:
            self.rewind()
            await self.run(count - 1).skip()
            return self.run(1)
        passed = self.position + 1 if self.at_end else self.position
        if count <= passed:
            await self._skip_backward(passed - count + 1)
        else:
            await self.run(count - passed - 1).skip()
        return self.run(1)

    async def _relative(self, count: int) -> Run:
        if count == 0:
            return await self._current()
        if count > 0:
            await self.run(count - 1).skip()
            return self.run(1)
        await self._skip_backward(-count - 1)
        return self.run(1, forward=False)

    async def _skip_backward(self, count: int) -> None:
        if count > 0:
            await self.run(count, forward=False).skip()

    async def _current(self) -> Run:
        """Return a movement over the current row, or over no row if the cursor stands on none."""
        if self.at_start or self.at_end:
            return self.run(0)
        await self._skip_backward(1)
        return self.run(1)

    # -- holding and closing ---------------------------------------------------------------------------------------

    async def hold(self) -> None:
        """Read and keep all remaining rows and end the execution, so that the cursor outlives its transaction."""
        if self._kept is None:
            self._kept, self._kept_from = RowBuffer(KEPT_BYTES_MAX), self.position
            if self._rest is not None:
                await self._kept.append(self._rest)
                self._rest = None
        elif self._scroll is None:
            self._scroll = True
        while await self._pull() is not None:
            pass

    async def _release(self) -> None:
        execution, self._execution = self._execution, None
        if execution is not None:
            await execution.close()

    async def close(self) -> None:
        """Cancel the execution if it still runs, and release everything; idempotent."""
        self._rest = None
        if self._kept is not None:
            self._kept.close()
        await self._release()


@dataclass(slots=True)
class Run:
    """A movement in progress, whose rows are pulled batch by batch or skipped. rows: the number of rows that it has
    passed so far.
    """

    cursor: Cursor
    forward: bool
    count: int | None
    rows: int = field(default=0)
    _over: bool = field(default=False)

    async def next_batch(self, bytes_max: int | None = None) -> pa.RecordBatch | None:
        """Return the next rows of this movement, in its order, or None when it is over. bytes_max: as for
        `Cursor.next_batch`.
        """
        if self._over or self._stuck():
            return None
        left = None if self.count is None else self.count - self.rows
        if left is not None and left <= 0:
            self._over = True
            return None
        step = self.cursor.next_batch if self.forward else self.cursor.previous_batch
        batch = await step(left, bytes_max)
        if batch is None:
            self._off_the_end()
            return None
        self.rows += batch.num_rows
        return batch

    def _stuck(self) -> bool:
        """Return whether the cursor is already at the end in this direction and nothing was passed: there is no
        movement.
        """
        return self.rows == 0 and (self.cursor.at_end if self.forward else self.cursor.at_start)

    def _off_the_end(self) -> None:
        self._over = True
        if self.forward:
            self.cursor.at_end = True
        else:
            self.cursor.at_start = True
            self.cursor.position = 0

    @property
    def over(self) -> bool:
        """Whether the movement gives no more rows, as far as is known without pulling."""
        return self._over or self._stuck() or (self.count is not None and self.rows >= self.count)

    @property
    def complete(self) -> bool:
        """Whether the movement ran to the end of the rows instead of stopping at its count."""
        return self.cursor.at_end if self.forward else self.cursor.at_start

    async def skip(self) -> int:
        """Pass all rows of the movement. Returns their number."""
        while await self.next_batch() is not None:
            pass
        return self.rows


def rows_within(batch: pa.RecordBatch, bytes_max: int) -> int:
    """Return how many rows of a batch have about `bytes_max` bytes; at least one."""
    rows = int(batch.num_rows)
    if rows <= 1 or fits(batch, bytes_max):
        return rows
    return max(1, int(rows * bytes_max // batch.nbytes))


def _smaller_limit(batch: pa.RecordBatch, limit: int | None, bytes_max: int | None) -> int | None:
    """Return the smaller of both limits, in rows."""
    if bytes_max is None:
        return limit
    within = rows_within(batch, bytes_max)
    return within if limit is None else min(limit, within)

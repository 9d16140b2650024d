"""The output of a fragment's instance: its streams to every receiver of the edge, and the router in front of them.

Streams are opened while the fragment starts to run: after a `deny` that says "not known (yet)", opening is retried with
growing pauses until the query ends. A receiver that wants no more rows is skipped from then on; when none is left, the
fragment stops (`is_wanted`). This is how LIMIT reaches its producers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import pyarrow as pa

from engine.common.shielded import together, wait_out
from engine.exchange.outbound import DeniedNow, OutboundStream
from engine.exchange.routers import part_by_bucket
from engine.exchange.send import StreamRefused
from engine.plan_ir.spec import EdgeSpec
from wire.mesh.error_fields import ErrorFields

_RETRY_SECONDS: Final = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)
#: Batches of more rows are split and serialized on a thread that may block.
_INLINE_ROWS: Final = 4096

#: Opens the stream to one of the edge's consuming instances. Raises DeniedNow, StreamRefused, SqlError.
Opener = Callable[[int], Awaitable[OutboundStream]]
T = TypeVar("T")
Pieces = list[tuple[int, pa.Buffer, int]]


class EdgeOutput:
    """See the module's docstring. `in_pool`: runs a call on a thread that may block."""

    def __init__(
        self, edge: EdgeSpec, opener: Opener, in_pool: Callable[[Callable[[], Pieces]], Awaitable[Pieces]]
    ) -> None:
        self.rows = 0
        self.batches = 0
        self._edge = edge
        self._in_pool = in_pool
        self._opening = [
            asyncio.ensure_future(retry_while_denied(opener, number)) for number in range(len(edge.receivers))
        ]

    @property
    def is_wanted(self) -> bool:
        """Whether any receiver may still accept rows."""
        return any(not task.done() or task.result() is not None for task in self._opening)

    @property
    def streams(self) -> Sequence[OutboundStream]:
        """The streams that are open."""
        found = map(self.stream_to, range(len(self._opening)))
        return [stream for stream in found if stream is not None]

    def stream_to(self, receiver: int) -> OutboundStream | None:
        """Return the stream to a consuming instance; None until it is open."""
        task = self._opening[receiver]
        return task.result() if task.done() and not task.cancelled() and not task.exception() else None

    async def wait_opened(self) -> None:
        """Wait until each stream is open or refused."""
        if not all(task.done() for task in self._opening):
            # Cancelling this wait does not cancel the tasks: `abandon` ends those that are not open by then.
            await asyncio.wait(self._opening, return_when=asyncio.FIRST_EXCEPTION)
            for task in self._opening:
                if task.done():
                    task.result()

    async def send(self, batch: pa.RecordBatch) -> None:
        """Send a batch's rows to their receivers. Raises the errors of the streams, except refusals."""
        if batch.num_rows > _INLINE_ROWS:
            pieces = await self._in_pool(lambda: self._pieces(batch))
        else:
            pieces = self._pieces(batch)
        self.rows += batch.num_rows
        self.batches += 1
        for number, body, rows in pieces:
            await self._send_to(number, body, rows)

    async def finish(self) -> None:
        """End the output. Returns when every receiver has all rows."""
        await self.wait_opened()
        if len(self._opening) == 1:
            await self._finish(0)
        else:
            await together(*(self._finish(number) for number in range(len(self._opening))))

    async def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        """End the streams that are not finished. Idempotent; never raises; leaves no socket open."""
        opening = [task for task in self._opening if not task.done()]
        for task in opening:
            task.cancel()
        try:
            await wait_out(*opening)
        finally:
            for stream in self.streams:
                stream.abandon(sqlstate, message, detail, hint, fields)

    def _pieces(self, batch: pa.RecordBatch) -> Pieces:
        match self._edge.router.kind:
            case "single":
                return [(0, batch.serialize(), batch.num_rows)]
            case "mirror":
                body = batch.serialize()
                return [(number, body, batch.num_rows) for number in range(len(self._edge.receivers))]
            case _:
                parts = part_by_bucket(batch, len(self._edge.receivers))
                return [(number, rows.serialize(), rows.num_rows) for number, rows in parts]

    async def _send_to(self, number: int, body: pa.Buffer, rows: int) -> None:
        stream = await self._opening[number]
        if stream is None:
            return
        try:
            await stream.send(body, rows)
        except StreamRefused:
            self._leave_out(number, stream)

    async def _finish(self, number: int) -> None:
        stream = self._opening[number].result()
        if stream is None:
            return
        try:
            await stream.finish()
        except StreamRefused:
            self._leave_out(number, stream)

    def _leave_out(self, number: int, stream: OutboundStream) -> None:
        stream.abandon("57014", "the receiver wants no more")
        unwanted: asyncio.Future[OutboundStream | None] = asyncio.get_running_loop().create_future()
        unwanted.set_result(None)
        self._opening[number] = unwanted  # type: ignore[call-overload]


async def retry_while_denied(ask: Callable[[int], Awaitable[T]], number: int) -> T | None:
    """Call `ask` for a receiver until the receiver is known, and return its result; None if the stream is refused."""
    attempt = 0
    while True:
        try:
            return await ask(number)
        except StreamRefused:
            return None
        except DeniedNow:
            await asyncio.sleep(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
            attempt += 1

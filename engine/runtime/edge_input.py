"""The input of a fragment from an edge: the edge's input synchronizer, and the receiver behind it."""

from __future__ import annotations

import pyarrow as pa

from engine.exchange.ordered_merge import OrderedMerge
from engine.exchange.receive import Receiver
from engine.exchange.schemas import stream_schema
from engine.plan_ir.spec import EdgeSpec


class EdgeInput:
    """The rows of an edge at one consuming instance. schema: of its batches, without the merge's key."""

    def __init__(self, edge: EdgeSpec, receiver: Receiver) -> None:
        schema = stream_schema(edge.schema)
        ordered = edge.synchronizer == "ordered"
        self.schema = schema.remove(len(schema) - 1) if ordered else schema
        self._source = OrderedMerge(len(edge.senders), receiver.next_from) if ordered else receiver

    async def next_batch(self) -> pa.RecordBatch | None:
        return await self._source.next_batch()

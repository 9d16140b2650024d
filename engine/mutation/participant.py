"""A participant's part of a MUTATE: the rows of its fragment go into files here, and its intents to the initiator's collector.

The member decides by itself where it writes: what the initiator names must be a statement's folder of a table below this
member's own folder of tables. That folder is made by the initiator, who also takes it away again, with all that is in it, however
the statement ends (`engine.storage.staging_area`); so what is left of a participant that is killed is nobody's concern but the
initiator's. One that is stopped removes what it has written, if the folder is still there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.mutation.run import drain
from engine.mutation.sink import RowSink
from engine.mutation.to_its_end import to_its_end
from engine.plan.logical import Mutate
from engine.plan.mutation_spec import rules_of
from engine.plan.spec import MutationSpec
from engine.spark.write_task import Written, told
from engine.storage import staging_area
from engine.storage.staging import TableWriter
from wire.errors import InsufficientPrivilege, InternalError

#: Runs a call that may block for long.
InPool = Callable[[Callable[[], Any]], Awaitable[Any]]


def by_members(plan: Mutate) -> bool:
    """Whether participants may write its rows, each knowing nothing of the others'."""
    return not (plan.columns or plan.filled or plan.requirement or plan.again)


class Rows(Protocol):
    async def next_batch(self) -> pa.RecordBatch | None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StagedWriters:
    """What writes on this member (`engine.runtime.query_run.Writers`). tables: its folder of tables."""

    tables: Path
    in_pool: InPool

    def intents(self, rows: Rows, spec: MutationSpec) -> StagedIntents:
        return StagedIntents(rows, lambda: self._writer(spec), spec, self.in_pool)

    def _writer(self, spec: MutationSpec) -> TableWriter:
        table = (self.tables / spec.location).resolve()
        inside = table != self.tables.resolve() and table.is_relative_to(self.tables.resolve())
        if not inside or not staging_area.NAME.fullmatch(spec.area):
            raise InsufficientPrivilege(f'a member may not write to "{spec.location}/{spec.area}"')
        plan = rules_of(spec)
        assert plan.table.storage is not None, "a stored table"
        return TableWriter(table / spec.area, plan.table.columns, plan.table.storage)


class StagedIntents:
    """A source of one batch; see `engine.runtime.query_run.Writers`. begin: gives the writer, and may block."""

    def __init__(self, rows: Rows, begin: Callable[[], TableWriter], spec: MutationSpec, in_pool: InPool) -> None:
        self._rows = rows
        self._begin = begin
        self._spec = spec
        self._in_pool = in_pool
        self._writer: TableWriter | None = None
        self._told = False

    async def next_batch(self) -> pa.RecordBatch | None:
        if self._told:
            return None
        self._writer = writer = await to_its_end(self._in_pool(self._begin))
        sink = RowSink(rules_of(self._spec), writer, _take, self._spec.output)
        await drain(self._rows, sink.write, self._in_pool)
        files = await to_its_end(self._in_pool(writer.finish))
        self._told = True
        return told(Written(sink.count, files))

    async def close(self) -> None:
        await self._rows.close()
        if self._writer is not None and not self._told:
            await to_its_end(self._in_pool(self._writer.abandon))


def _take(_sequence: int, _count: int) -> npt.NDArray[np.int64]:
    raise InternalError("values of sequences are the initiator's to give")

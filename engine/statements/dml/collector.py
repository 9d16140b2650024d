"""The intent collector: it makes the files that participants have staged for a statement part of the table, all of them
or none.

Nothing counts until all participants have reported their intents. Then their files are moved into the table, and the
session commits as usual. When a statement fails, for whatever reason, its folder is removed, and a participant that
still writes for it has no folder to write into (`engine.storage.staging_area`). So the statement may run again, in a
folder of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from engine.catalog.model.objects import DataFile, Table
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.staging_area import StagingArea
from engine.writers.returned_rows import read
from engine.writers.sink import require_one_key
from engine.writers.write_result import Written, written_by
from wire.errors import InternalError

#: Runs a call that may block for long.
InPool = Callable[[Callable[[], Any]], Awaitable[Any]]


async def collect_files(
    table: Table, name: str, in_pool: InPool, write: Callable[[Path], Awaitable[Written]]
) -> Written:
    """Let `write` write a statement's rows below a folder of its own, and move the files into the table. name: that of
    the staging area.

    On SqlError and on a cancel no file is left.
    """
    area = StagingArea(Path(table.path), name)
    IN_FLIGHT_FILES.watch(area)
    try:
        await shielded(in_pool(area.make))
        written = await write(area.path)
        require_one_key(written.passed_over)
        rows = await shielded(in_pool(lambda: read(area.path, written.returned_in)))
        await shielded(in_pool(lambda: keep(area, table, written.files)))
    except BaseException:
        await shielded(in_pool(area.abandon))
        raise
    return replace(written, returned=(*written.returned, *rows), returned_in=())


def keep(area: StagingArea, table: Table, files: Sequence[DataFile]) -> None:
    """Move files from a statement's area into the table, for the session to commit. Blocks on the disk. Raises IoError."""
    for file in files:
        IN_FLIGHT_FILES.stage(Path(table.path) / file.path, file)
    area.keep(files)


async def told_by_all(stream: BatchStream) -> Written:
    """Read the intents that arrive at the root of a query whose participants write."""
    intents = []
    try:
        while (batch := await stream.next_batch()) is not None:
            intents.append(batch)
    finally:
        await stream.close()
    written = written_by(intents)
    for file in written.files:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts:
            raise InternalError(f'a participant has told of a file outside of its table: "{file.path}"')
    return written

"""A MUTATE whose rows Spark's tasks write: the initiator's part. It begins the job, collects the intents, and clears up.

What counts is what the job's result names. Everything else that bears the statement's mark is removed when the job has ended,
however it did: files of attempts that failed, were killed, or came second. A worker that cannot be reached any more may still
add one; that is VACUUM's, as is what a crash of this member leaves.

The member itself writes where more than one task's rows have to be seen together (folders of partitions, of which each task would
make a file of its own; values of sequences; the order of rows), or come back to the client (RETURNING). Spark sees to the
number of files: a task has at least some megabytes of input, and none without rows has a file.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

from engine.catalog.objects import DataFile
from engine.executor import CompiledFragment, ExecutionContext
from engine.plan.logical import Mutate
from engine.spark.executor import SparkExecutor
from engine.spark.write_task import Written
from engine.storage.underway import UNDERWAY, Marked
from wire.errors import IoError
from wire.text_settings import OutputSettings

_MARK_DIGITS = 16

#: Runs a call that may block for long.
InPool = Callable[[Callable[[], None]], Awaitable[None]]


def by_tasks(plan: Mutate) -> bool:
    """Whether tasks may write its rows, each knowing nothing of the others'."""
    storage = plan.table.storage
    assert storage is not None, "a stored table"
    alone = plan.columns or plan.filled or plan.requirement or plan.again
    return not (alone or storage.partition_by or storage.sort_by)


async def write(
    spark: SparkExecutor,
    fragment: CompiledFragment,
    context: ExecutionContext,
    plan: Mutate,
    output: OutputSettings,
    in_pool: InPool,
) -> Written:
    """Run it to its end. Raises SqlError, with no file left; so does a cancel."""
    marked = Marked(Path(plan.table.path), uuid.uuid4().hex[:_MARK_DIGITS])
    UNDERWAY.watch(marked)
    try:
        writing = await spark.write(fragment, context, plan, marked.mark, output)
        try:
            written = await asyncio.shield(writing.ended)
        finally:
            await writing.close()
        await in_pool(lambda: _keep(marked, written.files))
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(in_pool(lambda: _keep(marked, ()))))
        raise
    return written


def _keep(marked: Marked, files: tuple[DataFile, ...]) -> None:
    """Remove all files of the statement but these. Raises IoError where one of these is not there."""
    wanted = {marked.folder / file.path: file for file in files}
    found = set(marked.paths())
    for path in found.difference(wanted):
        path.unlink(missing_ok=True)
    for path, file in wanted.items():
        if path not in found or path.stat().st_size != file.size:
            raise IoError(
                f'a file that a Spark task has written is not there: "{path}"',
                hint="Spark's executors have to see the same folder of tables as the members.",
            )
        UNDERWAY.stage(path, file)

"""A MUTATE whose rows Spark's tasks write: the initiator's part. It starts the job, collects the intents, and cleans
up.

Only the files that the job's result names count. Tasks write into a folder of the statement's own
(`engine.storage.staging_area`): the named files are moved into the table, and when the job has ended, however it did,
the folder is removed with the files of attempts that failed, were killed, or came second. A killed task that has not
noticed yet cannot add a file after that.

The member itself writes if the rows of more than one task have to be seen together: for the values of sequences, and
for the order of rows. Spark limits the number of files: a task has at least some megabytes of input, and one without
rows makes no file; the rows of a partition of the table are brought together first (`engine.executors.spark.writing`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from engine.common.shielded import shielded
from engine.contracts.executor import ExecutionContext
from engine.executors.spark.executor import SparkExecutor
from engine.executors.spark.fragment_rows import rows_of
from engine.executors.spark.production import SparkProduction
from engine.executors.spark.rows import SparkRows
from engine.plan_ir.logical import Mutate
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.statements.dml.collector import InPool, collect_files
from engine.statements.dml.spark_files import by_spark_alone, take_over_files
from engine.storage.staging_area import new_name
from engine.writers.write_result import Written
from wire.dataclass import dataclass
from wire.types.text_settings import OutputSettings

R = TypeVar("R")


def by_members(plan: Mutate) -> bool:
    """Return whether participants may write the statement's rows, each without knowledge of the others' rows."""
    return plan.arrival is not None or not (plan.requirement or plan.numbered)


def by_tasks(plan: Mutate) -> bool:
    """Return whether Spark's tasks may write the rows. They may not if sequences fill a column, because a task cannot
    request their values.
    """
    return by_members(plan) and not plan.filled


async def write(
    spark: SparkExecutor,
    fragment: CompiledFragment,
    context: ExecutionContext,
    plan: Mutate,
    output: OutputSettings,
    in_pool: InPool,
) -> Written:
    """Run the job to its end. On SqlError and on a cancel no file is left."""
    job = WritingJob(spark, in_pool, rows_of(fragment), context, output)
    alone = by_spark_alone(plan)
    return await collect_files(plan.table, new_name(), in_pool, lambda folder: job.run(plan, folder, alone=alone))


@dataclass(frozen=True, slots=True)
class WritingJob:
    """A job of this member's Spark that produces and writes rows."""

    spark: SparkExecutor
    in_pool: InPool
    rows: SparkRows
    context: ExecutionContext
    output: OutputSettings

    async def run(self, plan: Mutate, folder: Path, *, alone: bool) -> Written:
        """Write the rows as the MUTATE specifies, below an existing folder, to the end. alone: as `by_spark_alone`.
        Raises SqlError.
        """
        if alone and self.spark.is_embedded:
            # Participants may share the folder, so each has a subfolder of its own.
            made = folder / f"made-{uuid4().hex}"
            names = [column.file_column for column in plan.table.written_columns]
            await _wait_for_end(await self.spark.productions.write_files(self.rows, self.context, names, made))
            written: Written | None = await shielded(self.in_pool(lambda: take_over_files(plan.table, folder, made)))
            if written is not None:
                return written
        return await _wait_for_end(
            await self.spark.productions.write(self.rows, self.context, plan, folder, self.output)
        )


async def _wait_for_end(job: SparkProduction[R]) -> R:
    """Return the result of a job; the job is closed when this returns."""
    try:
        return await asyncio.shield(job.ended)
    finally:
        await shielded(job.close())

"""The specification by which participants write a MUTATE's rows, if they can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.executors.spark.write_task import rules
from engine.plan_ir.logical import Mutate
from engine.plan_ir.physical import StagedChange
from engine.statements.dml.spark_files import by_spark_alone
from engine.statements.dml.tasks import by_members, by_tasks
from engine.storage.staging_area import new_name
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices


def stage_change(session: SessionContext, engine: EngineServices, plan: Mutate) -> StagedChange | None:
    """Return the specification by which participants write rows into a folder of this attempt's own; None if they
    cannot.

    Members see this member's folder of tables if they share its base.
    """
    if engine.config.base is None or not by_members(plan):
        return None
    sequences = {oid: session.catalog.sequence(oid) for _, oid in plan.filled}
    tasks = by_tasks(plan)
    output = OutputSettings.read(session.settings.get)
    return StagedChange(
        rules(plan), new_name(), output, sequences, tasks=tasks, alone=tasks and by_spark_alone(plan),
        sparks=tasks and engine.spark.is_embedded,
    )  # fmt: skip

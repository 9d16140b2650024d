"""MUTATE: each instance of its input's flow writes the rows that it makes, and only intents travel.

Rows may be written wherever they are, since a table is a set of files: rows move for the sake of the input (a join, a
group), never for the writing. So MUTATE tops the flow as it is, and the root on the initiator is the RFC's intent
collector: it receives the reports of all instances. Files that are to be rewritten may be split over instances, as any
file that is read; the initiator removes them as a whole, when all instances have reported what they wrote.

If the flow runs on the Spark of each member, the tasks of each Spark write. A Spark that sees all the tables partitions
its work itself, over its executors. Where the only Sparks are those inside of members, the files are partitioned over
them, as long as nothing but intents moves between them (`engine.planner.distribute`).

In three cases rows are sent to the initiator, which writes them: a plan that runs there anyway; a LIMIT whose second
stage is still to come; and rows from Spark that its tasks cannot each write for themselves.
"""

from __future__ import annotations

from engine.common import sql_type as st
from engine.plan_ir.expr import references_to
from engine.plan_ir.logical import Evaluator, Root
from engine.plan_ir.physical import Mutation, SingleRouter, StagedChange
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow
from wire.types import pg_types as t


def may_mutate(flow: Flow, change: StagedChange, assembly: Assembly) -> bool:
    """Whether the flow's instances may write their rows."""
    if assembly.is_here(flow) or flow.limit is not None:
        return False
    return assembly.engine(flow) == "local" or change.tasks


def collect_intents(flow: Flow, change: StagedChange, assembly: Assembly) -> Flow:
    """Return the root's flow: the intents of all instances."""
    rows = change.rules.input.columns
    node = flow.node if flow.node.columns == rows else Evaluator(rows, flow.node, references_to(rows))
    named = (("changed", t.INT8), ("told", t.TEXT), ("returned", t.BYTEA))
    intents = tuple(assembly.column(st.of(typ), name) for name, typ in named)
    told = Flow(Mutation(intents, node, change), flow.instances, flow.inputs, size=flow.size)
    moved = assembly.exchange(told, SingleRouter(), assembly.here())
    return Flow(Root(intents, moved.node), moved.instances, moved.inputs, size=moved.size)

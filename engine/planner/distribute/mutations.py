"""MUTATE: each instance of its input's flow writes the rows that it makes, and only intents travel.

Rows may be written wherever they are, since a table is a set of files: what has moved has moved for the input's sake (a join, a
group), never for the writing. So MUTATE tops the flow as it is, and the root on the initiator is the RFC's intent collector: it
receives what each instance has done. Files that are to be written anew may be split over instances, as any file that is read;
they are taken away as a whole, by the initiator, when all have told what they wrote.

Where the flow is a Spark's on each member, the tasks of each write. A Spark that sees all the tables parts its work itself, on
its executors; where there are none but those inside of members, the files are parted over the members' Sparks, as long as
nothing but intents moves between them (`engine.planner.distribute`).

Not here, and rows are sent to the initiator, who writes: what runs there anyway; a LIMIT whose second stage is to come; of what
Spark reads, that which its tasks cannot write each for itself.
"""

from __future__ import annotations

from engine.common import sql_type as st
from engine.plan_ir.logical import Evaluator, Root
from engine.plan_ir.physical import Mutation, SingleRouter, StagedChange
from engine.planner.distribute.assembly import Assembly, references_to
from engine.planner.distribute.flow import Flow
from wire.types import pg_types as t


def may_mutate(flow: Flow, change: StagedChange, assembly: Assembly) -> bool:
    """Whether the flow's instances may write their rows."""
    if assembly.is_here(flow) or flow.limit is not None:
        return False
    return assembly.engine(flow) == "local" or change.tasks


def collect_intents(flow: Flow, change: StagedChange, assembly: Assembly) -> Flow:
    """The root's flow: the intents of all instances."""
    rows = change.rules.input.columns
    node = flow.node if flow.node.columns == rows else Evaluator(rows, flow.node, references_to(rows))
    named = (("changed", t.INT8), ("told", t.TEXT), ("returned", t.BYTEA))
    intents = tuple(assembly.column(st.of(typ), name) for name, typ in named)
    told = Flow(Mutation(intents, node, change), flow.instances, flow.inputs, size=flow.size)
    moved = assembly.exchange(told, SingleRouter(), assembly.here())
    return Flow(Root(intents, moved.node), moved.instances, moved.inputs, size=moved.size)

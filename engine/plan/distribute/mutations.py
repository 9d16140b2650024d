"""MUTATE: each instance of its input's flow writes the rows that it makes, and only intents travel.

Rows may be written wherever they are, since a table is a set of files: what has moved has moved for the input's sake (a join, a
group), never for the writing. So MUTATE tops the flow as it is, and the root on the initiator is the RFC's intent collector: it
receives one row from each instance. Files that are to be written anew may be split over instances, as any file that is read;
they are taken away as a whole, by the initiator, when all have told what they wrote.

Not here, and rows are sent to the initiator, who writes: what runs there anyway; a LIMIT whose second stage is to come; what Spark
reads (its tasks send, and can write only where one Spark makes all rows).
"""

from __future__ import annotations

from engine.plan.distribute.assembly import Assembly, references_to
from engine.plan.distribute.flow import Flow
from engine.plan.logical import Evaluator, Final
from engine.plan.physical import Mutation, SingleRouter, StagedChange
from engine.sql import types as st
from wire import types as t


def may_mutate(flow: Flow, assembly: Assembly) -> bool:
    """Whether the flow's instances may write their rows."""
    return not assembly.is_here(flow) and flow.limit is None and assembly.engine(flow) == "local"


def collected(flow: Flow, change: StagedChange, assembly: Assembly) -> Flow:
    """The root's flow: the intents of all instances."""
    rows = change.rules.input.columns
    node = flow.node if flow.node.columns == rows else Evaluator(rows, flow.node, references_to(rows))
    intents = (assembly.column(st.of(t.INT8), "changed"), assembly.column(st.of(t.TEXT), "files"))
    told = Flow(Mutation(intents, node, change), flow.instances, flow.inputs, size=flow.size)
    moved = assembly.exchange(told, SingleRouter(), assembly.here())
    return Flow(Final(intents, moved.node), moved.instances, moved.inputs, size=moved.size)

"""The physical plan under construction: the fragments cut so far, their edges, fresh numbers, and services that every
operator uses.

An exchange cuts a flow: the nodes built so far become a fragment, and a new flow begins with `Receive` on the members
that the rows go to. Fragments are cut producers first, so that their order is topological. `finish` leaves out a
fragment that nobody receives from in the end, because its rows turned out to be read where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from typing import Any

from engine.catalog.model.objects import SystemTable
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Column, Const, Node
from engine.plan_ir.logical import Evaluator, Sort, TableReader
from engine.plan_ir.physical import (
    Edge,
    Fragment,
    HashRouter,
    Instance,
    MirrorRouter,
    RangeRouter,
    Receive,
    Router,
    SingleRouter,
    Synchronizer,
    Unsynchronized,
)
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.planner.distribute.flow import Flow
from engine.planner.optimizer.cardinality import estimate
from engine.planner.optimizer.join_estimates import Estimate
from wire.dataclass import dataclass
from wire.types import pg_types as t


class NotDistributable(Exception):
    """The plan has something that cannot cross an edge; the message says what."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The members on which a plan may run, and the limits of its distribution.

    members: those that read data, the initiator among them or not. pinned: the member of each file that only it can
        read.
    parameters: canonical values by number. mirror_limit: bytes up to which one side of a join is sent to all members.
    gather_limit: bytes of partial results up to which they are combined on the initiator.
    engine: the engine that fragments without inputs run on.
    crosses_nested: whether arrays and rows may cross edges.
    """

    members: tuple[str, ...]
    initiator: str
    pinned: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[int, Any] = field(default_factory=dict)
    mirror_limit: int = 4 << 20
    gather_limit: int = 1 << 20
    engine: EngineName = "local"
    crosses_nested: bool = False


class Assembly:
    """The physical plan under construction; see the module's docstring.

    plan: makes the flow of a logical node (`engine.planner.distribute.operators`).
    arrival: a column of numbers that each instance may assign by itself (`Mutate.arrival`).
    """

    def __init__(
        self, setting: Setting, plan: Callable[[Node, Assembly], Flow], root: Node, arrival: Column | None = None
    ) -> None:
        self.setting = setting
        self.arrival = arrival
        self._plan = plan
        self._columns = count(1 + max((c.id for node in walk_all(root) for c in node.columns), default=0))
        self._readers = count(1)
        self._edges: dict[int, Edge] = {}
        self._fragments: list[Fragment] = []
        self._pinned: dict[tuple[int, int, int], bool] = {}

    # -- fresh things ------------------------------------------------------------------------------------------------

    def column(self, typ: SqlType, name: str = "") -> Column:
        return Column(next(self._columns), name, typ)

    def reader(self) -> int:
        """Return a fresh number for a reader that reads splits."""
        return next(self._readers)

    def here(self) -> tuple[Instance, ...]:
        """Return one instance, on the initiator."""
        return (Instance(self.setting.initiator),)

    def is_here(self, flow: Flow) -> bool:
        """Whether all of the flow's rows are on the initiator."""
        return flow.members == (self.setting.initiator,)

    # -- flows -------------------------------------------------------------------------------------------------------

    def flow(self, node: Node) -> Flow:
        """Return the flow of a logical node, all of its stages done."""
        flow = self.unfinished_flow(node)
        return flow if flow.limit is None else self.gather(flow)

    def unfinished_flow(self, node: Node) -> Flow:
        """Return the flow of a logical node; a LIMIT's second stage may be left to the caller (`Flow.limit`)."""
        return self._plan(node, self)

    def gather(self, flow: Flow, *, member: str | None = None) -> Flow:
        """Bring the flow's rows to one place, the initiator by default, in their present order."""
        target = member or self.setting.initiator
        if flow.members == (target,):
            return flow
        moved = self.in_order(flow, lambda below: self.exchange(below, SingleRouter(), (Instance(target),)))
        node, order = moved.node, flow.order
        if flow.limit is not None:
            node = replace(flow.limit, input=node)
            order = order if {key.column for key in order} <= set(node.columns) else ()
        return replace(moved, node=node, order=order)

    def in_order(self, flow: Flow, move: Callable[[Flow], Flow]) -> Flow:
        """Move the flow, and sort the rows where they arrive if they have an order. If the order lies below sets
        (`Flow.before_sets`), the flow below them is moved and sorted, and the sets run after that.
        """
        below = flow.before_sets if flow.order and flow.before_sets is not None else flow
        moved = move(below)
        node = Sort(moved.node.columns, moved.node, below.order) if below.order else moved.node
        if below is flow:
            return replace(moved, node=node, order=flow.order)
        moved = replace(moved, node=node, order=below.order)
        inputs = (*moved.inputs, *(edge for edge in flow.inputs if edge not in below.inputs))
        above = rewrite_plan(flow.node, lambda part: node if part is below.node else part)
        return replace(moved, node=above, inputs=inputs, order=flow.order, before_sets=moved)

    def for_output(self, flow: Flow, node: Node) -> Flow:
        """Return the flow over which `node` may be computed: gathered on the initiator if the node's columns cannot
        cross an edge.
        """
        return flow if all(map(is_carriable, node.columns)) else self.gather(flow)

    def mirror(self, flow: Flow, targets: Sequence[Instance]) -> Flow:
        """Send all of the flow's rows to each of the targets' members."""
        return self.exchange(flow, MirrorRouter(), tuple(Instance(i.member) for i in targets))

    def exchange(
        self,
        flow: Flow,
        router: Router,
        targets: tuple[Instance, ...],
        columns: tuple[Column, ...] | None = None,
        synchronizer: Synchronizer | None = None,
    ) -> Flow:
        """Cut the flow, and begin a new one where its rows arrive. columns: those that cross, all of them by default.

        Raises NotDistributable for columns that cannot cross.
        """
        node = flow.node
        if columns is None:
            columns = node.columns
        if not columns:
            node = self._some_column(node)
            columns = node.columns[:1]
        if isinstance(router, (HashRouter, RangeRouter)) and self.engine(flow) == "spark":
            # Spark's tasks partition the rows that they send, so the keys are among the columns that cross.
            columns = (*columns, *(key for key in router.keys if key not in columns))
        if not self.setting.crosses_nested:
            check_carriable(columns)
        edge = len(self._edges) + 1
        fragment = len(self._fragments) + 1
        self._fragments.append(self._fragment(fragment, node, flow, edge))
        self._edges[edge] = Edge(edge, fragment, 0, columns, router, synchronizer or Unsynchronized())
        return Flow(Receive(columns, edge), targets, (edge,), size=flow.size)

    def _fragment(self, number: int, node: Node, flow: Flow, output: int | None) -> Fragment:
        engine = self.engine(flow)
        readers = {part.reader for part in walk_all(node) if isinstance(part, TableReader) and part.reader}
        told = {reader for instance in flow.instances for reader in instance.splits}
        assert readers <= told, f"readers {readers - told} of fragment {number} have no splits"
        return Fragment(number, node, flow.instances, flow.inputs, output, engine, self._why(engine, node, flow))

    def _why(self, engine: EngineName, node: Node, flow: Flow) -> str:
        if flow.inputs:
            return "it reads what other fragments send"
        if engine == "local":
            return "it reads its splits in place"
        return "it reads pinned tables" if self.is_pinned(node) else "it reads and writes files of its own"

    def engine(self, flow: Flow) -> EngineName:
        """Return the engine of the fragment that the flow would become now: Spark only runs fragments without inputs."""
        return "local" if flow.inputs else self.setting.engine

    def _some_column(self, node: Node) -> Node:
        """Add a column to a node without any: an edge cannot carry rows without columns."""
        if node.columns:
            return node
        typ = st.of(t.INT4)
        return Evaluator((self.column(typ, "row"),), node, (Const(typ, 1),))

    def is_mirrored(self, edge: int) -> bool:
        """Whether every instance of the consumer receives all rows of the edge."""
        return isinstance(self._edges[edge].router, MirrorRouter)

    # -- questions about logical nodes -------------------------------------------------------------------------------

    def is_pinned(self, node: Node) -> bool:
        """Whether something in the node's plan can be read on one member only."""
        return any(self._is_pinned(part) for part in walk_all(node))

    def _is_pinned(self, node: Node) -> bool:
        if not isinstance(node, TableReader):
            return False
        if isinstance(node.table, SystemTable):
            return True
        key = (node.table.oid, node.table.version, len(node.table.files))
        if key not in self._pinned:
            self._pinned[key] = any(file in self.setting.pinned for file in node.table.files)
        return self._pinned[key]

    def rows(self, node: Node) -> Estimate:
        """Return the estimate of a relation's rows."""
        return estimate(node, self.setting.parameters)

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self, flow: Flow) -> tuple[tuple[Fragment, ...], tuple[Edge, ...]]:
        """Make the flow the root fragment. Returns it with all fragments that it receives from, directly or not, and
        their edges.
        """
        assert flow.members == (self.setting.initiator,), "the root runs on the initiator"
        root = self._fragment(len(self._fragments) + 1, flow.node, flow, None)
        kept: dict[int, Fragment] = {}
        edges: dict[int, Edge] = {}
        waiting = [root]
        sources = {edge.id: edge.source for edge in self._edges.values()}
        by_id = {fragment.id: fragment for fragment in self._fragments}
        while waiting:
            fragment = waiting.pop()
            kept[fragment.id] = fragment
            for number in fragment.inputs:
                edges[number] = replace(self._edges[number], target=fragment.id)
                waiting.append(by_id[sources[number]])
        return tuple(kept[i] for i in sorted(kept)), tuple(edges[i] for i in sorted(edges))


def is_carriable(column: Column) -> bool:
    """Whether an edge's schema can express the column's type: an array's schema lacks its dimensions."""
    return not (column.type.pg.is_array or column.type.pg.is_row)


def check_carriable(columns: Sequence[Column]) -> None:
    for column in columns:
        if not is_carriable(column):
            raise NotDistributable(f"values of type {column.type} do not cross between members")

"""The physical plan: the logical plan cut at exchanges into fragments, each with its instances placed on members.

Vocabulary (network-protocol seed, 3.4; CockroachDB RFC, "From logical to physical"):

- a **fragment** is a piece of the plan that runs without data movement inside; it runs as one or several **instances**, one
  a member. The root fragment has one instance, on the initiator, and feeds the portal; it has no output.
- an **edge** is an exchange between two fragments: an output **router** at the producer, an input **synchronizer** at the
  consumer. It carries a **stream** for each pair of a producing and a consuming instance.
- a **split** is the part of a table that one reader instance reads: a file or whole row groups of one.

Inside a fragment, `Receive` stands where rows come from an edge, and a `TableReader` with `reader` set reads the splits
of its instance instead of the whole table. All other nodes of the fragment's tree are the logical plan's, so one
compiler (`engine.planner.codegen`) serves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from engine.catalog.model.objects import Sequence
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import Mutate, Ordering
from wire.dataclass import dataclass
from wire.types.text_settings import OutputSettings


@dataclass(frozen=True, slots=True)
class Receive(Node):
    """RECEIVE: the rows that arrive over an edge. Compiled to a relation named `relation_of(edge)`."""

    edge: int


@dataclass(frozen=True, slots=True)
class StagedChange:
    """A MUTATE that participants carry out.

    rules: the MUTATE without its files (`engine.executors.spark.write_task.rules`).
    area: the name of the statement's folder in the table's (`engine.storage.staging_area`).
    output: the settings by which messages print values.
    sequences: those that provide values, by OID.
    tasks: whether Spark's tasks may write the rows that they make.
    alone: whether Spark may write them by itself (`engine.statements.dml.spark_files`).
    sparks: whether the Sparks of several members write side by side, each having no executors but those inside of its
        member.
    """

    rules: Mutate
    area: str
    output: OutputSettings
    sequences: Mapping[int, Sequence] = field(default_factory=dict)
    tasks: bool = False
    alone: bool = False
    sparks: bool = False


@dataclass(frozen=True, slots=True)
class Mutation(Node):
    """MUTATE on a participant: each instance writes its input's rows into staged files and returns its intents: how
    many rows changed, the files, and RETURNING's rows. It is always the top of its fragment. The input's columns are
    those of the rules' input, in order.
    """

    input: Node
    change: StagedChange

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


def relation_of(edge: int) -> str:
    """Return the name by which a fragment's statement reads an edge."""
    return f"edge_{edge}"


@dataclass(frozen=True, slots=True)
class SingleRouter:
    """Every row goes to the one consuming instance."""


@dataclass(frozen=True, slots=True)
class MirrorRouter:
    """Every row goes to every consuming instance."""


@dataclass(frozen=True, slots=True)
class HashRouter:
    """Rows with equal `keys` meet at one of the consuming instances; nulls are equal here."""

    keys: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RangeRouter:
    """Rows go to the consuming instance whose range contains the first of `ordering`'s keys; range i's rows precede
    those of i + 1.

    bounds: the first value of every range but the first, canonical, in that order. members: the member of each range;
    () stands for the consuming instances, in their order. The members are named where other instances may come between:
    the rows of a fragment may be united with those of one that runs on more members.

    Values beyond the outer ranges go to these ranges, and nulls to the end where `ordering` puts them.
    """

    ordering: Ordering
    bounds: tuple[object, ...]
    members: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[Column, ...]:
        return (self.ordering[0].column,)


Router = SingleRouter | MirrorRouter | HashRouter | RangeRouter


@dataclass(frozen=True, slots=True)
class Unsynchronized:
    """Batches are read in the order in which they arrive, whichever stream they are from."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Each stream is ordered by `keys`; a merge keeps that order."""

    keys: Ordering


@dataclass(frozen=True, slots=True)
class Sequential:
    """The streams are inter-stream ordered: producing instance 0 is read to its end, then 1, and so on. Later producers
    are started only when their turn comes near."""


Synchronizer = Unsynchronized | Ordered | Sequential


@dataclass(frozen=True, slots=True)
class Edge:
    """An exchange. source, target: fragment ids. columns: the columns that it carries."""

    id: int
    source: int
    target: int
    columns: tuple[Column, ...]
    router: Router = field(default_factory=SingleRouter)
    synchronizer: Synchronizer = field(default_factory=Unsynchronized)


class Split(NamedTuple):
    """A file, or rows `first` .. `end` - 1 of it (whole row groups). size: bytes of the columns that are read.

    It is a tuple, since a plan may have a hundred thousand of them.
    """

    file: str
    size: int = 0
    first: int = 0
    end: int | None = None


class KeyRange(NamedTuple):
    """Rows whose key is at least `low` and less than `high`, each as PostgreSQL writes it; None: no limit."""

    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class Instance:
    """A fragment on a member. splits: the files that each of its readers reads there, by `TableReader.reader`. within:
    the key range of this instance's rows, for readers with a key (`TableReader.key`).
    """

    member: str
    splits: Mapping[int, tuple[Split, ...]] = field(default_factory=dict)
    within: Mapping[int, KeyRange] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the plan that runs without data movement inside; see the module's docstring. reason: why this engine
    was chosen, in words for EXPLAIN. output: None for the root.
    """

    id: int
    root: Node
    instances: tuple[Instance, ...]
    inputs: tuple[int, ...] = ()
    output: int | None = None
    engine: EngineName = "local"
    reason: str = ""

    @property
    def sent_by_tasks(self) -> bool:
        """Whether Spark's tasks send its rows. The intents of rows that they write are sent by the member."""
        return self.engine == "spark" and not isinstance(self.root, Mutation)


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """A physical plan. fragments: producers before consumers, the root last. reason: why the plan is distributed as it
    is.
    """

    initiator: str
    fragments: tuple[Fragment, ...]
    edges: tuple[Edge, ...]
    reason: str

    @property
    def root(self) -> Fragment:
        return self.fragments[-1]

    @property
    def mutates(self) -> bool:
        """Whether participants write, and the root collects their intents."""
        return any(isinstance(fragment.root, Mutation) for fragment in self.fragments)

    @property
    def participants(self) -> tuple[str, ...]:
        """The members that run a fragment, the initiator first."""
        others = {i.member: None for f in self.fragments for i in f.instances if i.member != self.initiator}
        return (self.initiator, *others)

    def edge(self, number: int) -> Edge:
        return next(edge for edge in self.edges if edge.id == number)

    def fragment(self, number: int) -> Fragment:
        return next(fragment for fragment in self.fragments if fragment.id == number)

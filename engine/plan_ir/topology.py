"""A topology: the members, the links along which data may flow, each member's capacity, and the files that it alone
holds.

The channel seed's file as immutable values (`server.config.topology` reads it). Every **logical source** is a table in
SQL; its **physical sources** are files at members ("pinned": nobody else can read them). **Links** say where data may
flow: `up` from the node that names the link to the other (as in the seed's pictures, where sources are at the bottom
and the sink is on top), `down` from the other to it, `both` both ways. A file without any link forbids nothing: every
member may send to every other. A member without a direct link is reached through the members between; they pass on what
they receive.

Errors in a topology are reported as `Fault`s, each with the key at which it stands, so that the reader of a file can
add the line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from random import Random
from typing import Literal

from engine.catalog.model.file_options import FILE_OPTIONS
from engine.catalog.model.objects import FileFormat, TableColumn
from wire.dataclass import dataclass

Direction = Literal["up", "down", "both"]


@dataclass(frozen=True, slots=True)
class LogicalSource:
    """A table. columns: as declared; none: as found in the files."""

    name: str
    columns: tuple[TableColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class PhysicalSource:
    """A part of a logical source at one member. path: a file, folder or glob; relative ones begin at the member's data
    directory. options: as of CREATE FOREIGN TABLE, without path and format.
    """

    logical: str
    format: FileFormat
    path: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two members; see the module's docstring for its direction."""

    to: str
    direction: Direction = "both"


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A member. address: host:port of its mesh listener. capacity: how many fragments of a query it takes; None: any
    number.
    """

    name: str
    address: str
    links: tuple[Link, ...] = ()
    physical: tuple[PhysicalSource, ...] = ()
    capacity: int | None = None


@dataclass(frozen=True)
class Topology:
    """The members, their links and their files; see the module's docstring. nodes, logical: in the order of the file,
    which breaks ties.
    """

    nodes: tuple[TopologyNode, ...]
    logical: tuple[LogicalSource, ...] = ()

    @property
    def members(self) -> Collection[str]:
        """The nodes' names, in the order of the file."""
        return self._by_name.keys()

    def node(self, name: str) -> TopologyNode:
        return self._by_name[name]

    def may_send(self, sender: str, receiver: str) -> bool:
        """Whether data may flow from one member to another without passing a third."""
        return sender != receiver if self.is_open else sender in self._senders[receiver]

    def next_hops(self, target: str, chance: Random | None = None) -> Mapping[str, str]:
        """Return for each member from which data can reach `target` the next member on a shortest path.

        These are the seed's tree: of several paths one is taken and the others are ignored; the first in the order of
        the file, or with `chance` a random one.
        """
        if self.is_open:
            return {name: target for name in self._by_name if name != target}
        hops: dict[str, str] = {}
        layer = [target]
        while layer:
            if chance is not None:
                chance.shuffle(layer)
            found: dict[str, str] = {}
            for receiver in layer:
                for sender in self._senders[receiver]:
                    if sender != target and sender not in hops:
                        found.setdefault(sender, receiver)
            hops |= found
            layer = list(found)
        return hops

    def reached_from(self, sender: str) -> frozenset[str]:
        """Return the members that data of `sender` can reach, itself included."""
        if self.is_open:
            return frozenset(self._by_name)
        reached, waiting = {sender}, [sender]
        while waiting:
            fresh = [name for name in self._receivers[waiting.pop()] if name not in reached]
            reached.update(fresh)
            waiting += fresh
        return frozenset(reached)

    @cached_property
    def _by_name(self) -> Mapping[str, TopologyNode]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def is_open(self) -> bool:
        """Whether no links are given, so that nothing is forbidden. Comparing all n * n pairs of members would cost too
        much.
        """
        return not any(node.links for node in self.nodes)

    @cached_property
    def _senders(self) -> Mapping[str, Sequence[str]]:
        """The members that may send to a member, in the order of the file."""
        return self._group((to, by) for by, to in self._flows())

    @cached_property
    def _receivers(self) -> Mapping[str, Sequence[str]]:
        """The members to which a member may send, in the order of the file."""
        return self._group(self._flows())

    def _group(self, pairs: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
        """Group the second elements of the pairs by the first."""
        order = {name: number for number, name in enumerate(self._by_name)}
        grouped: dict[str, list[str]] = {name: [] for name in order}
        for one, other in sorted(set(pairs), key=lambda pair: order[pair[1]]):
            grouped[one].append(other)
        return grouped

    def _flows(self) -> Iterator[tuple[str, str]]:
        """Yield (sender, receiver) of each link's directions; links to unknown members and to oneself are left out."""
        for node in self.nodes:
            for link in node.links:
                if link.to != node.name and link.to in self._by_name:
                    if link.direction != "down":
                        yield node.name, link.to
                    if link.direction != "up":
                        yield link.to, node.name


# -- as tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The table to register in schema public for a logical source.

    paths: by member, as the file says them: each member resolves its own against its data directory and roots.
    """

    name: str
    columns: tuple[TableColumn, ...]
    format: FileFormat
    options: Mapping[str, str]
    paths: Mapping[str, tuple[str, ...]]


def tables(topology: Topology) -> tuple[SourceTable, ...]:
    """Return the tables of a topology without faults, one for each logical source."""
    return tuple(_table(topology, logical) for logical in topology.logical)


def _table(topology: Topology, logical: LogicalSource) -> SourceTable:
    held = {node.name: [p for p in node.physical if p.logical == logical.name] for node in topology.nodes}
    first = next(source for sources in held.values() for source in sources)
    paths = {name: tuple(source.path for source in sources) for name, sources in held.items() if sources}
    return SourceTable(logical.name, logical.columns, first.format, first.options, paths)


# -- what may be wrong -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in a topology. key: its position, as `("nodes", 2, "links", 0, "to")`."""

    key: tuple[str | int, ...]
    message: str


def faults(topology: Topology) -> Sequence[Fault]:
    """Return all errors of a topology. Whether parts can meet is checked only if the links are right, since it would
    otherwise repeat their errors.
    """
    return list(_single_faults(topology)) or list(_apart(topology))


def _single_faults(topology: Topology) -> Iterator[Fault]:
    yield from _unique("logical", "name", [source.name for source in topology.logical])
    yield from _unheld(topology)
    yield from _unique("nodes", "name", [node.name for node in topology.nodes])
    yield from _unique("nodes", "address", [node.address for node in topology.nodes])
    for index, node in enumerate(topology.nodes):
        yield from _links(topology, index, node)
        yield from _options(index, node)
    yield from _sources(topology)


def _unique(section: str, key: str, values: Sequence[str]) -> Iterator[Fault]:
    for index, value in enumerate(values):
        if value in values[:index]:
            yield Fault((section, index, key), f'"{value}" is there already')


def _unheld(topology: Topology) -> Iterator[Fault]:
    held = {source.logical for node in topology.nodes for source in node.physical}
    for index, logical in enumerate(topology.logical):
        if logical.name not in held:
            yield Fault(("logical", index, "name"), f'no node has a physical source of "{logical.name}"')


def _links(topology: Topology, index: int, node: TopologyNode) -> Iterator[Fault]:
    names = {other.name for other in topology.nodes}
    seen: Counter[str] = Counter()
    for number, link in enumerate(node.links):
        key = ("nodes", index, "links", number, "to")
        seen[link.to] += 1
        if link.to not in names:
            yield Fault(key, f'there is no node "{link.to}"')
        elif link.to == node.name:
            yield Fault(key, "a node is not linked to itself")
        elif seen[link.to] == 2:
            yield Fault(key, f'the link to "{link.to}" is there already')


def _options(index: int, node: TopologyNode) -> Iterator[Fault]:
    for number, source in enumerate(node.physical):
        known = FILE_OPTIONS[source.format]
        for name in source.options:
            if name not in known:
                words = f"; known are {', '.join(known)}" if known else ""
                key = ("nodes", index, "physical", number, "options", name)
                yield Fault(key, f"{source.format} has no such option{words}")


def _sources(topology: Topology) -> Iterator[Fault]:
    """Yield the errors of physical sources: those without a logical source, and those that do not match the first of
    theirs, since a table has one format.
    """
    first: dict[str, tuple[str, PhysicalSource]] = {}
    known = {logical.name for logical in topology.logical}
    for index, node in enumerate(topology.nodes):
        for number, source in enumerate(node.physical):
            key = ("nodes", index, "physical", number)
            where, other = first.setdefault(source.logical, (node.name, source))
            if source.logical not in known:
                yield Fault((*key, "logical"), f'there is no logical source "{source.logical}"')
            elif source.format != other.format:
                yield Fault(
                    (*key, "type"), f'is {source.format}, but "{source.logical}" is {other.format} at "{where}"'
                )
            elif source.options != other.options:
                yield Fault((*key, "options"), f'other options than those of "{source.logical}" at "{where}"')
            if source in node.physical[:number]:
                yield Fault((*key, "path"), f'"{source.path}" is there already')


def _apart(topology: Topology) -> Iterator[Fault]:
    """Yield the sources whose parts can never meet: no query of such a table could be answered anywhere."""
    for index, logical in enumerate(topology.logical):
        holders = [n.name for n in topology.nodes if any(s.logical == logical.name for s in n.physical)]
        if holders and not frozenset.intersection(*(topology.reached_from(name) for name in holders)):
            names = ", ".join(holders)
            yield Fault(("logical", index, "name"), f"the links lead its parts, at {names}, to no node in common")

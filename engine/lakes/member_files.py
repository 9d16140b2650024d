"""The files that a member may read: those of foreign tables, its own, and those that it reads for other members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.catalog.model.objects import Table
from engine.catalog.model.remote_file_ref import RemoteFileRef
from engine.lakes import iceberg, stores
from engine.lakes.foreign_files import DataRoots
from engine.lakes.iceberg import Catalog
from engine.lakes.stores import Store
from engine.lakes.topology_tables import topology_tables
from engine.plan_ir.topology import Topology
from wire.dataclass import dataclass


def register_sources(object_stores: Sequence[Store], catalogs: Sequence[Catalog]) -> None:
    """Register object stores and Iceberg catalogs with the process."""
    stores.register(object_stores)
    iceberg.register(catalogs)


@dataclass(frozen=True, slots=True)
class MemberFiles:
    """The files of one member. member: its name. data: its own folder. base: the folder to which paths of foreign
    tables are relative. roots: the folders in which foreign tables must lie; empty: anywhere. tables: the folder of
    stored tables. topology: which files only some members hold.
    """

    member: str
    data: Path
    base: Path
    roots: tuple[Path, ...]
    tables: Path
    topology: Topology | None

    @property
    def foreign_roots(self) -> DataRoots:
        """The folders in which files of foreign tables may lie."""
        return DataRoots(self.base, self.roots)

    @property
    def shared_roots(self) -> DataRoots:
        """The folders whose files this member reads for others, including that of stored tables, wherever it is."""
        return DataRoots(self.data, (*self.roots, self.tables) if self.roots else ())

    def topology_tables(self) -> Sequence[Table]:
        """Return the tables that the topology declares. Blocks on the file system. Raises InsufficientPrivilege for a
        path outside its roots.
        """
        if self.topology is None:
            return ()
        return topology_tables(self.topology, self.member, DataRoots(self.data, self.roots))

    def held_sources(self) -> Iterator[RemoteFileRef]:
        """Yield the physical sources that the topology assigns to this member, by the names that other members use."""
        if self.topology is not None and self.member in self.topology.members:
            for source in self.topology.node(self.member).physical:
                yield RemoteFileRef(self.member, source.format, source.path)

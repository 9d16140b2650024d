"""The configuration of a member's engine: its data directory, the sizes of its pools, and the Spark that it drives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

from engine.catalog.store.store import is_url
from engine.lakes.iceberg import Catalog
from engine.lakes.member_files import MemberFiles, register_sources
from engine.lakes.stores import Store
from engine.plan_ir.topology import Topology
from engine.settings.numbers import memory_bytes
from wire.dataclass import dataclass

#: The name of a member's own folder, below its data directory.
PRIVATE: Final = ".sluice"
#: The default of `sluice.local_limit`, as a multiple of the local engine's memory: scanned data only passes through the memory.
LOCAL_LIMIT_MEMORIES: Final = 8
#: The suffixes of the names of a catalog's files; the last is that of the file of advisory locks.
_CATALOG_FILES: Final = ("", "-wal", "-shm", "-journal", "-locks")


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """The Spark that a member drives.

    master: `local[*]`, `spark://host:port` ... driver_memory: the heap of the JVM. conf: further `spark.*` settings.
    start: `eager`: Spark starts with the member; `lazy`: with the first query that needs it. member: the member whose
    Spark this one uses while that member is reachable; None: its own. allocation: `shared`: members with the same
    master use one application; `own`: each has one and takes cores as it needs them; `alone`: it takes what the master
    gives, because no other member uses that master. wait_timeout: the seconds that a statement waits for Spark at most.
    """

    master: str = "local[*]"
    driver_memory: str = "1g"
    conf: Mapping[str, str] = field(default_factory=dict)
    start: Literal["eager", "lazy"] = "eager"
    member: str | None = None
    allocation: Literal["alone", "shared", "own"] = "alone"
    wait_timeout: int = 120


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The configuration of one member's engine.

    data: the data directory; the member's own files (catalog, spool) are in `.sluice` below it.
    base: the folder to which paths of foreign tables are relative; None: `data`. Members that share a catalog share
        this too.
    catalog: a SQLite file or a postgresql:// URL; None: a file of the member's own.
    allow_empty_catalog: start even if the catalog is empty and the folder of stored tables is not.
    roots: the folders in which foreign tables must lie; empty: anywhere the member's user can read.
    copy_roots: the folders in which files of COPY must lie, relative paths in the first; empty: `files` below `base`.
    role: `data`: the member initiates all queries; `lite`: only those that read no table.
    fragment_threads, operation_threads: sizes of the pools.
    local_memory: DuckDB's memory limit, for each of its two databases.
    memory_bytes: the memory limit of the process; long statements that would exceed it are refused.
    compact_after: the number of small files at which a table is due for compaction; 0: never.
    small_file_bytes: the size below which a file is small.
    settings: defaults of session settings that differ from `engine.settings.session_settings`.
    topology: which files only some members hold, and where data may flow; None: every member sees every file and every
        other member.
    stores: object stores whose buckets foreign tables may use.
    catalogs: catalogs of Iceberg tables.
    """

    data: Path
    member: str = "m1"
    role: Literal["data", "lite"] = "data"
    base: Path | None = None
    catalog: str | None = None
    allow_empty_catalog: bool = False
    roots: tuple[Path, ...] = ()
    copy_roots: tuple[Path, ...] = ()
    fragment_threads: int = 4
    operation_threads: int = 2
    local_threads: int = 2
    local_memory: str = "2GB"
    spark: SparkConfig = field(default_factory=SparkConfig)
    memory_bytes: int = 4 << 30
    compact_after: int = 64
    small_file_bytes: int = 16 << 20
    settings: Mapping[str, str] = field(default_factory=dict)
    topology: Topology | None = None
    stores: tuple[Store, ...] = ()
    catalogs: tuple[Catalog, ...] = ()

    @property
    def local_memory_bytes(self) -> int:
        return memory_bytes(self.local_memory)

    @property
    def private(self) -> Path:
        """The member's own folder, below its data directory."""
        return self.data / PRIVATE

    @property
    def catalog_location(self) -> Path | str:
        """The location of the catalog: the path of a file, or a URL."""
        return self.catalog or self.private / "catalog.sqlite"

    @property
    def catalog_files(self) -> tuple[Path, ...]:
        """The files of a catalog that lies in a file of its own, outside of `private`."""
        if not self.catalog or is_url(self.catalog):
            return ()
        return tuple(Path(self.catalog + more) for more in _CATALOG_FILES)

    @property
    def locks_file(self) -> Path | None:
        """The file of advisory locks; None if the catalog is a URL. It lies beside the catalog, where the other
        members that share the catalog find it too.
        """
        if self.catalog and is_url(self.catalog):
            return None
        return Path(f"{self.catalog_location}{_CATALOG_FILES[-1]}")

    @property
    def tables(self) -> Path:
        """The folder of stored tables, which all members of the catalog can read."""
        return (self.base or self.data) / "tables"

    @property
    def files(self) -> MemberFiles:
        """The files that the member may read."""
        return MemberFiles(self.member, self.data, self.base or self.data, self.roots, self.tables, self.topology)

    def register_sources(self) -> None:
        """Register the member's object stores and Iceberg catalogs with the process."""
        register_sources(self.stores, self.catalogs)

    @property
    def copy_folders(self) -> tuple[Path, ...]:
        """The folders in which files of COPY must lie."""
        return self.copy_roots or ((self.base or self.data) / "files",)

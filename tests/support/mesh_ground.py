"""Members of a mesh in one process: real sockets, real control connections, real engines; no Spark and no client.

async with mesh(tmp_path, 3) as members:
    stream = members[0].runtime.open(...)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pyarrow as pa

from engine.catalog.store.store import CatalogStore
from engine.contracts.batch_stream import BatchStream
from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import MeshTls
from engine.exchange.spool import Spooler
from engine.executors.engine_config import EngineConfig, SparkConfig
from engine.executors.local.executor import LocalExecutor
from engine.executors.spark.executor import SparkExecutor
from engine.lakes.foreign_files import DataRoots
from engine.plan_ir.spec import EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, RouterSpec, SharedSpec
from engine.runtime.operation_pool import OperationPool
from engine.runtime.readable_files import ReadableFiles
from engine.runtime.runtime import MeshRuntime
from engine.statements.dml.participant import StagedWriters
from engine.statements.shared.sequences import SessionSequences
from server.cluster.membership import Timing
from server.cluster.mesh_link import LinkOptions, MeshLink, new_incarnation
from server.config.address import Address
from support.session_server import eventually
from wire.mesh.control_messages import Identity


def _parse(text: str) -> tuple[str, int]:
    address = Address.parse(text)
    return address.host, address.port


class MeshMember:
    """One member. All members run on one event loop, so timeouts are long enough that a slow member is not considered
    lost.

    name: its id.
    tls: None for connections in the clear.
    """

    def __init__(self, name: str, folder: Path, seeds: Sequence[str], tls: MeshTls | None = None) -> None:
        self.name = name
        self.listener = DataListener(tls=tls)
        self.local = LocalExecutor(EngineConfig(folder / name))
        self.spooler = Spooler(folder / name / "spool", 1 << 30)
        self.operations = OperationPool(2)
        self._incarnation = new_incarnation()
        options = LinkOptions(
            secret=b"for the tests only", seeds=tuple(seeds), timing=Timing(heartbeat=0.2, failure_after=60.0), tls=tls
        )
        self.link = MeshLink(self._identity("127.0.0.1:0"), options, lambda: self.runtime.load, _parse)
        self.spark = SparkExecutor(SparkConfig(), folder / name, listener=self.listener, spooler=self.spooler)
        self.catalog = CatalogStore(folder / name / "catalog.sqlite", folder / "tables")
        files = ReadableFiles(name, DataRoots(folder))
        self.runtime = MeshRuntime(
            self.link, self.listener, self.local, self.spark.productions, self.spooler, self.operations, files,
            StagedWriters(folder / "tables", self.local.in_pool, self.spark, lambda: SessionSequences(self.catalog)),
        )  # fmt: skip

    @property
    def address(self) -> str:
        return str(Address(*self.listener.address))

    async def start(self) -> None:
        await self.listener.start()
        await self.local.start()
        self.listener.admit_control(self.link.accept)
        self.runtime.start()
        self.link.start(self._identity(self.address))

    async def leave(self) -> None:
        """Disconnect from the other members at once, even if queries run."""
        self.listener.admit_control(None)
        await self.link.close()

    async def close(self) -> None:
        await self.runtime.close()
        await self.leave()
        await self.listener.close()
        await self.local.close()
        self.operations.close()
        await self.spark.close()
        self.spooler.close()
        self.catalog.close()

    def sees(self, count: int) -> bool:
        return sum(member.state == "up" for member in self.link.members()) == count

    def held(self) -> dict[str, int]:
        """Return the counts of what is open and held right now; all are zero when no query runs."""
        counts = {**self.runtime.statistics(), "sockets": self.listener.connections}
        return {**counts, "cursors": self.local.statistics()["cursors"], "streams": self.local.statistics()["streams"]}

    def waits_to_be_read(self, streams: int) -> bool:
        """Return whether `streams` streams of one edge have reached this member and each has used up its credit, so
        that it waits until rows are read.
        """
        [mailbox] = self.runtime.mailboxes._mailboxes.values()
        receiver = mailbox.receiver
        return streams == receiver.streams.open_count == len(receiver.streams.find_blocked(receiver.now()))

    def _identity(self, address: str) -> Identity:
        return Identity(self.name, self._incarnation, address, "127.0.0.1:5432", "data", "0")


@asynccontextmanager
async def mesh(
    folder: Path, count: int, tls: Callable[[str], MeshTls] | None = None
) -> AsyncIterator[list[MeshMember]]:
    """Run `count` members that know each other. Asserts at the end that none of them holds anything. tls: returns the
    TLS settings of a member, by name.
    """
    members: list[MeshMember] = []
    try:
        for number in range(count):
            name = f"m{number + 1}"
            member = MeshMember(name, folder, [m.address for m in members[:1]], tls(name) if tls is not None else None)
            await member.start()
            members.append(member)
        await eventually(lambda: all(member.sees(count) for member in members))
        yield members
        await eventually(lambda: not any(any(member.held().values()) for member in members))
    finally:
        for member in members:
            await member.close()


def gathered(
    members: Sequence[MeshMember],
    statement: str,
    schema: pa.Schema,
    *,
    root: str | None = None,
    skip: int = 0,
    count: int = -1,
    synchronizer: str = "unsynchronized",
    page_bytes: int = 1 << 16,
    lasting: bool = False,
) -> tuple[bytes, Mapping[str, MemberSpec]]:
    """Return a query of two fragments: `statement` on each member, and `root` (or nothing) on the first member over the
    rows that they send.

    `$number` in the statement is the member's number, from 0.
    """
    names = tuple(member.name for member in members)
    edge = EdgeSpec(1, schema.serialize().to_pybytes(), RouterSpec("single"), synchronizer, names, names[:1])  # type: ignore[arg-type]
    fragments = (
        FragmentSpec(1, "local", None, (), 1),
        FragmentSpec(2, "local", root, (1,), None, skip=skip, count=count),
    )
    shared = msgspec.msgpack.encode(SharedSpec((edge,), fragments, "UTC", page_bytes, lasting=lasting))
    specs = {}
    for number, name in enumerate(names):
        leaf = InstanceSpec(1, number, statement=statement.replace("$number", str(number)))
        instances = (leaf, InstanceSpec(2, 0)) if number == 0 else (leaf,)
        specs[name] = MemberSpec(msgspec.Raw(shared), instances)
    return shared, specs


async def rows(stream: BatchStream) -> list[tuple[object, ...]]:
    """Read all rows of a stream and close it."""
    found: list[tuple[object, ...]] = []
    try:
        while (batch := await stream.next_batch()) is not None:
            found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return found
    finally:
        await stream.close()

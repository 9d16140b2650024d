"""A member in this process that never starts Spark, for tests that do not need it: an engine, a listener, and an event
loop in a thread. Clients connect with psycopg as to any server.

`Said` is the result of one statement, for comparison with PostgreSQL: its command tag, its rows, its notices, its
error.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from engine.engine import Engine
from engine.exchange.listener import DataListener
from engine.executors.engine_config import EngineConfig, SparkConfig
from server.auth.gate import Access, Gate
from server.cluster.activity_routing import ClusterActivity
from server.cluster.routing import ServerMesh
from server.config.address import Address
from server.monitor.activity import MemberActivity
from server.monitor.records import EndedStatements
from server.pgwire.listener import Listener, ListenerOptions, trust

if TYPE_CHECKING:
    from server.http.door import Door
    from server.http.session import Bounds


@dataclass(frozen=True)
class LocalMember:
    """A running member. engine, clients: may be inspected between statements. http_port: the port for Trino's clients,
    0 where there is none.
    """

    engine: Engine
    port: int
    http_port: int
    clients: Listener

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=tester dbname=sluice sslmode=disable"

    def connect(self, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.dsn, **{"autocommit": True, **more})


@contextmanager
def local_member(
    data: Path, access: Access | None = None, http: Bounds | None = None, **config: Any
) -> Iterator[LocalMember]:
    """Run a member over a data directory and close it at the end.

    access: the access rules; everybody is admitted if not given.
    http: the bounds of the listener for Trino's clients, which is not started if not given.
    config: additional fields of its `EngineConfig`.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="local-member")
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    async def start() -> tuple[DataListener, Engine, Listener, Door | None]:
        mesh = DataListener("127.0.0.1", 0)
        await mesh.start()
        engine = Engine(EngineConfig(data, **{"spark": SparkConfig(start="lazy"), **config}), mesh)
        await engine.start()
        gate = Gate(access, engine.roles) if access is not None else trust()
        clients = Listener(
            engine.session, ListenerOptions(gate=gate, ended=EndedStatements(describe=engine.monitor.last_graph))
        )
        activity = MemberActivity(engine.config.member, engine.monitor, clients.registry, clients.host.ended)
        clients.registry.cluster = ClusterActivity(ServerMesh(engine.mesh), activity)
        await clients.start("127.0.0.1", 0)
        return mesh, engine, clients, None if http is None else await _door(engine, clients, http)

    mesh, engine, clients, door = run(start())
    try:
        address = None if door is None else door.address
        yield LocalMember(engine, clients.addresses[0][1], 0 if address is None else address.port, clients)
    finally:
        for part in (clients, door, engine, mesh):
            if part is not None:
                run(part.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _door(engine: Engine, clients: Listener, http: Bounds) -> Door:
    """Import and create the listener for Trino's clients only for tests that need it: its routes take a third of a
    member's start.
    """
    from server.http.door import Door

    door = Door(clients.host, http, engine.parser.translate)
    await door.start(Address("127.0.0.1", 0))
    return door


@dataclass
class Said:
    tag: str | None = None
    rows: list[tuple[Any, ...]] | None = None
    error: tuple[str | None, ...] | None = None
    notices: list[tuple[str, str, str | None]] = field(default_factory=list)


def say(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> Said:
    """Run one statement and return its result. error: SQLSTATE, message, detail, hint, position, and the object that it
    concerns: schema, table, column, type, constraint.
    """
    said = Said()

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        said.notices.append((diagnostic.severity or "", diagnostic.message_primary or "", diagnostic.message_detail))

    connection.add_notice_handler(note)
    try:
        cursor = connection.execute(sql.encode())
        said.tag = cursor.statusmessage
        said.rows = cursor.fetchall() if cursor.description is not None else None
    except psycopg.Error as error:
        diagnostic = error.diag
        said.error = (
            diagnostic.sqlstate or "", diagnostic.message_primary or "", diagnostic.message_detail,
            diagnostic.message_hint, diagnostic.statement_position, diagnostic.schema_name, diagnostic.table_name,
            diagnostic.column_name, diagnostic.datatype_name, diagnostic.constraint_name,
        )  # fmt: skip
    finally:
        connection.remove_notice_handler(note)
    return said

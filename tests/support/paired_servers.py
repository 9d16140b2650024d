"""The servers of two members over the test engine; their messages to each other are encoded and decoded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from server.cluster.cursor_routing import CursorRouter
from server.cluster.routing import ServerMesh
from server.pgwire.listener import ListenerOptions
from support.paired_mesh import PairedMesh, paired_meshes
from support.session_server import Server, eventually, serve


@dataclass
class Pair:
    """Two members. near: the one where cursors are declared. far: the other one."""

    near: Server
    far: Server
    near_mesh: PairedMesh
    far_mesh: PairedMesh
    near_router: CursorRouter
    far_router: CursorRouter

    def lose(self) -> None:
        """Disconnect the members from each other."""
        for mesh in (self.near_mesh, self.far_mesh):
            assert mesh.peer is not None
            mesh.on_lost(mesh.peer.member)


@asynccontextmanager
async def paired(rows_per_batch: int) -> AsyncIterator[Pair]:
    names = ("m1", "m2", "m3")
    async with (
        serve(ListenerOptions(member="m1"), rows_per_batch) as near,
        serve(ListenerOptions(member="m2"), rows_per_batch) as far,
    ):
        meshes = paired_meshes(names)
        routers = [
            CursorRouter(ServerMesh(mesh), server.listener.registry)
            for mesh, server in zip(meshes, (near, far), strict=True)
        ]
        pair = Pair(near, far, *meshes, *routers)
        yield pair
        for router in routers:
            await eventually(lambda router=router: not any(router.statistics().values()))


async def query_of(pair: Pair, cursor: str) -> str:
    """Return the query id of the only cursor of this name."""
    [query] = [str(record.id) for record in pair.near.listener.registry.statements() if record.portal == cursor]
    return query

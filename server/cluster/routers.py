"""Routers between members, on behalf of their sessions: activity, cancel requests, cursors, notifications."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from engine.common.shielded import closed_in_turn
from engine.monitor.engine_monitor import EngineMonitor
from server.cluster.activity_routing import ClusterActivity
from server.cluster.cursor_routing import CursorRouter
from server.cluster.final_figures import FinalFigures
from server.cluster.notification_routing import NotificationRouter
from server.cluster.routing import CancelRouter, ServerMesh
from server.monitor.activity import MemberActivity
from server.monitor.records import EndedStatements
from server.session.cancel import SessionRegistry


class ClusterRouters:
    """See the module's docstring. registry: the sessions of this member. status: returns its state."""

    def __init__(
        self,
        mesh: ServerMesh,
        monitor: EngineMonitor,
        registry: SessionRegistry,
        ended: EndedStatements,
        status: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self.activity = ClusterActivity(mesh, MemberActivity(mesh.member, monitor, registry, ended, status))
        registry.cluster = self.activity
        self.final_figures = FinalFigures(self.activity, ended)
        self.cancels = CancelRouter(mesh, registry, ended)
        self.cursors = CursorRouter(mesh, registry)
        NotificationRouter(mesh, registry)

    async def close(self) -> None:
        await closed_in_turn(self.cursors.close, self.final_figures.close, self.activity.close, self.cancels.close)

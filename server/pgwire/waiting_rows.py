"""Executions of one INSERT that wait to be run as one batch (`server.pgwire.pipelined_rows`)."""

from __future__ import annotations

from typing import Final

from server.cursors.portal import Portal
from server.cursors.prepared import Command
from wire.pg import messages as m

#: The limit of rows in one batch. While they are collected, no other client is answered for some milliseconds.
ROWS_MAX: Final = 512


class PipelinedRows:
    """Executions of `command` that wait, and the pending answers in order; a portal stands for its CommandComplete."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.portals: list[Portal] = []
        self.answers: list[m.BackendMessage | Portal] = []

    def add(self, portal: Portal) -> None:
        self.portals.append(portal)
        self.answers.append(portal)

    @property
    def is_full(self) -> bool:
        return len(self.portals) >= ROWS_MAX

"""Serves partitions of cursors of this member's sessions to other sessions: the initiator's part of
`server.cursors.remote_partitions`.

Pages are taken from the cursor by visits to the session that owns it, one after another. A reader that finds that
session busy waits, because several readers of one cursor are the purpose of partitions; a FETCH by query id is refused
instead (`server.cluster.initiator_cursors`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.sql.parser.nodes.statements import Query
from engine.statements.copy.partition import statement_digest
from server.cluster.initiator_cursors import find_cursor, require_usable
from server.cursors.cursor_pages import Page, take_page
from server.cursors.partitions import Partitions
from server.cursors.portal import Portal
from server.session.cancel import SessionRegistry
from server.session.commands import Commands
from wire.errors import ObjectInUse, ObjectNotInPrerequisiteState, SqlError
from wire.mesh.control_messages import CursorMoved, ReadPartition


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """A page of a partition that is in flight."""

    portal: Portal
    partitions: Partitions
    number: int

    def fail(self) -> None:
        """Break the query, because the page is lost."""
        self.partitions.fail_unread(self.number)
        self.portal.fail()


class InitiatorPartitions:
    """registry: the sessions of this member."""

    def __init__(self, registry: SessionRegistry) -> None:
        self._registry = registry

    async def read(self, question: ReadPartition) -> tuple[CursorMoved, bytes, PartitionReading]:
        """Read a page of a partition. Returns the answer, and the reading to fail if the answer does not arrive.
        Raises SqlError.
        """
        _, commands, portal = find_cursor(self._registry, question)
        if question.first and commands.cursors.reads_partition:
            raise ObjectInUse(
                f'the session that has cursor "{question.query}" reads a partition itself',
                hint="Try again when it has.",
            )
        partitions = _partitions_of(portal, question)
        if question.first:
            partitions.claim(question.partition, question.partitions, question.statement)
        reading = PartitionReading(portal, partitions, question.partition)
        try:
            page = await self._take_page(question, partitions)
        except asyncio.CancelledError:
            reading.fail()
            raise
        position = portal.running_cursor.position
        return CursorMoved(question.request, page.passed, position, page.last), page.body, reading

    async def _take_page(self, question: ReadPartition, partitions: Partitions) -> Page:
        async with partitions.turn:
            while True:
                session, commands, portal = find_cursor(self._registry, question)
                partitions.require_unbroken()
                if session.visits.is_free:
                    break
                await session.visits.free()
            return await session.visits.run(_read_page(commands, portal, partitions, question))


def _partitions_of(portal: Portal, question: ReadPartition) -> Partitions:
    """Return the partitions of a cursor, which the first request creates."""
    if portal.partitions is None:
        portal.require_runnable()
        query = portal.command.statement
        if portal.cursor is None or not isinstance(query, Query) or not portal.cursor.at_start:
            raise ObjectNotInPrerequisiteState(
                f'cursor "{question.query}" cannot be read in partitions: it has been moved',
                hint="Declare a cursor, and read nothing from it but partitions.",
            )
        made = Partitions(question.query, statement_digest(query), question.partitions)
        # A request with another text is refused before the cursor is bound to partitions.
        made.require_statement(question.statement)
        portal.partitions = made
    return portal.partitions


async def _read_page(commands: Commands, portal: Portal, partitions: Partitions, question: ReadPartition) -> Page:
    require_usable(commands, portal, question)
    try:
        return await take_page(portal.running_cursor.run(None), question.page_bytes)
    except BaseException as error:
        if isinstance(error, SqlError):
            partitions.fail(error)
        partitions.fail_unread(question.partition)
        portal.fail()
        await portal.close()
        raise

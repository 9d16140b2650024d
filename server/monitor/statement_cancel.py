"""Cancels one statement by its id, in whatever state it is.

A statement that is parsed, planned or run is interrupted as by pg_cancel_backend, but only while its session runs that
statement. No task runs a statement whose cursor or portal is suspended: its cursor is broken, as by an error in the
middle of a FETCH, and its resources on all members are released. The transaction goes on, and a FETCH reports that the
cursor cannot be run.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from engine.monitor.record import StatementRecord
from server.cursors.portal import Portal
from server.monitor.records import EndedStatements
from server.session.cancel import Interruptible, SessionRegistry, canceled_by_user
from wire.errors import ObjectInUse

log: Final = logging.getLogger(__name__)
#: The pause between two attempts while the session is busy beside the suspended cursor, and their number.
_LOOK_SECONDS: Final = 0.05
_LOOKS: Final = 100


async def cancel_statement(registry: SessionRegistry, ended: EndedStatements, query: str) -> None:
    """Cancel a statement. Returns when its session has been interrupted, or when the statement is over."""
    for _ in range(_LOOKS):
        found = _find(registry, query)
        if found is None:
            return
        session, record = found
        if record.state != "suspended":
            session.interrupt(canceled_by_user())
            return
        portal = _portal(session, record)
        if portal is None:
            return
        if portal.partitions is not None:
            # The readers of partitions visit one after another, and would leave no time for this visit.
            portal.partitions.fail(canceled_by_user())
        try:
            await session.visits.run(_break(portal, record, ended))
        except ObjectInUse:
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return
    log.warning("statement %s could not be cancelled: its session is busy", query)


def _find(registry: SessionRegistry, query: str) -> tuple[Interruptible, StatementRecord] | None:
    for session in registry:
        for record in session.statements():
            if str(record.id) == query:
                return session, record
    return None


def _portal(session: Interruptible, record: StatementRecord) -> Portal | None:
    commands = session.commands_of(record.user, record.database)
    return None if commands is None else next((p for p in commands.portals if p.record is record), None)


async def _break(portal: Portal, record: StatementRecord, ended: EndedStatements) -> None:
    portal.fail()
    if not record.is_finished:
        ended.add(record, "cancelled", canceled_by_user())
    await portal.close()

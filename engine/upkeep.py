"""Looking after stored tables, as a statement: VACUUM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.sql.statements import Vacuum
from engine.utility.vacuum import Vacuuming, vacuum

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.session import Session


async def run(session: Session, engine: Engine, statement: Vacuum) -> str:
    """Carry out a VACUUM, which no transaction can take back; the command tag. Raises SqlError."""
    around = Vacuuming(
        session.catalog.current(),
        session.search_path(),
        session.database,
        session.settings.time_ms("sluice.vacuum_retention") / 1000,
        session.client.notice,
    )
    await engine.in_writer_pool(lambda: vacuum(statement, engine.store, around))
    return "VACUUM"

"""Opens a session for a client: its settings, from the member's configuration, its role, and the client's options."""

from __future__ import annotations

from collections.abc import Mapping

from engine.contracts.sessions import Client
from engine.session.context.services import SessionServices
from engine.session.session import Session
from engine.settings.session_settings import SETTINGS, permission_denied
from engine.statements.shared.initiation import session_settings


def open_session(
    engine: SessionServices, *, user: str, database: str, options: Mapping[str, str], client: Client
) -> Session:
    """Open a session for a client (`engine.session.engine_session.SessionFactory`). Raises SqlError for an invalid
    option.
    """
    config, roles = engine.config, engine.store.snapshot.roles
    role = roles.of(user)
    for name in options:
        row = SETTINGS.get(name.lower())
        if row is not None:
            row.require_changeable(connecting=True)
        if row is not None and row.privileged and not role.superuser:
            raise permission_denied(row)
    settings = session_settings(config.role, {**config.settings, **roles.settings_of(role)}, options)
    return Session(engine, user=user, database=database, settings=settings, client=client)

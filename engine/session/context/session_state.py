"""The state of a session that its functions use: settings, roles, sequences, locks, and the catalog as the transaction
sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from engine.catalog.authority import Authority
from engine.catalog.store.transaction import SessionCatalog
from engine.contracts.sessions import Client
from engine.session.context.advisory_locks import SessionLocks
from engine.session.context.parameter_digits import Digits
from engine.session.context.recording_catalog import RecordingCatalog
from engine.session.context.roles import SessionRoles
from engine.settings.session_settings import SessionSettings
from engine.sql.binder.scope import BindContext
from engine.statements.shared.sequences import SessionSequences
from wire.types.text_settings import InputSettings


class Environment(Protocol):
    """Makes the contexts in which statements are bound (`engine.session.context.environment`)."""

    def context(self, parameter_types: Sequence[int], digits: Digits) -> tuple[BindContext, RecordingCatalog]:
        """Return the context in which a statement is bound, and its catalog, which records the relations that binding
        asks for.
        """
        ...


class SessionState(Protocol):
    """See the module's docstring. database: its name, as the client gave it."""

    settings: SessionSettings
    database: str
    client: Client
    catalog: SessionCatalog
    roles: SessionRoles
    sequences: SessionSequences
    locks: SessionLocks

    @property
    def environment(self) -> Environment:
        """The environment of its statements."""
        ...

    def authority(self) -> Authority:
        """Return the privileges of the current role in the current catalog."""
        ...

    def search_path(self) -> tuple[str, ...]:
        """Return the schemas in which names are looked up, in order."""
        ...

    def input_settings(self) -> InputSettings:
        """Return the settings by which literals are read, with the transaction's time."""
        ...

    def context_value(self, name: str) -> Any:
        """Return the value of a `ContextRef`: current_user, now and the like."""
        ...

    def notify(self, message: str, detail: str | None = None) -> None:
        """Send a NOTICE to the client."""
        ...

    def debug(self, message: str) -> None:
        """Send a message of level DEBUG to the client."""
        ...

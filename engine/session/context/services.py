"""The services of an engine that sessions use: the services of their statements, the statement cache, advisory locks."""

from __future__ import annotations

from typing import Protocol

from engine.session.context.advisory_locks import AdvisoryLocks
from engine.session.context.statement_cache import StatementCache
from engine.statements.shared.engine_services import EngineServices


class SessionServices(EngineServices, Protocol):
    """See the module's docstring. `engine.engine.Engine` provides them."""

    statements: StatementCache
    advisory_locks: AdvisoryLocks

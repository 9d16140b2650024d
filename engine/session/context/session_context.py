"""The context of a session's statements: settings, catalog, roles, search path, client.

Handlers of statements (`engine.statements`) take it as their first argument; `engine.session.session.Session` makes one.
"""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import Any

from engine.catalog.authority import Authority
from engine.catalog.store.transaction import SessionCatalog
from engine.common.notice_deduplicator import NoticeDeduplicator
from engine.common.shielded import shielded
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare, writer_bytes
from engine.contracts.progress import RunningQuery
from engine.contracts.sessions import Client
from engine.monitor.record import StatementRecord
from engine.session.context.advisory_locks import SessionLocks
from engine.session.context.environment import SessionEnvironment
from engine.session.context.roles import SessionRoles
from engine.session.context.services import SessionServices
from engine.session.context.session_facts import CatalogFacts, LatestJudge, SettingsFacts
from engine.session.context.transaction_context import TransactionContext
from engine.settings.session_settings import SessionSettings
from engine.statements.shared.fault_policy import next_query_id
from engine.statements.shared.sequences import SessionSequences
from engine.statements.shared.terms import Terms
from engine.storage.staging import KEPT_BYTES
from wire.errors import Notice, UndefinedObject
from wire.types.text_settings import InputSettings


class SessionContext:
    """See the module's docstring.

    - transaction: the session's, once the session has set it
    - alone: whether the current statement is all of its transaction so far
    - notices: sends notices to the client, each once if a statement is repeated
    - record: that of the current statement, if its caller keeps one
    - underway: the query that was started last, for progress reports
    - environment: makes the environment of each statement
    """

    transaction: TransactionContext

    def __init__(
        self, engine: SessionServices, *, user: str, database: str, settings: SessionSettings, client: Client
    ) -> None:
        self.settings = settings
        self.database = database
        self.client = client
        self.catalog = SessionCatalog(engine.store, self._is_repeatable, lambda: self.roles.current.oid)
        self.roles = SessionRoles(
            user, settings, lambda: self.catalog.current().roles, lambda: engine.store.snapshot.roles
        )
        self.sequences = SessionSequences(engine.store)
        self.locks = SessionLocks(engine.advisory_locks, client.backend_pid)
        self.notices = NoticeDeduplicator(client.notice)
        self.alone = False
        self.record: StatementRecord | None = None
        self.underway = RunningQuery()
        self._engine = engine
        self._user = user
        self._judge = LatestJudge()
        self.environment = SessionEnvironment(self, engine)
        self._known: SettingsFacts | None = None
        self._known_catalog: CatalogFacts | None = None

    # -- names and privileges ------------------------------------------------------------------------------------

    def search_path(self) -> tuple[str, ...]:
        """Return the effective search path, with pg_catalog first unless it is named."""
        return self._catalog_facts().search_path

    def authority(self) -> Authority:
        """Return the privileges of the session's current role in the current catalog."""
        return self._catalog_facts().authority

    def _catalog_facts(self) -> CatalogFacts:
        snapshot, known = self.catalog.current(), self._known_catalog
        if known is None or known.definitions != snapshot.definitions or known.version != self.settings.version:
            authority = Authority(self.roles.current, self._judge.of(snapshot))
            known = CatalogFacts(self.settings, snapshot, self.roles.current_name, authority)
            self._known_catalog = known
        return known

    @property
    def facts(self) -> SettingsFacts:
        """The facts that follow from the current settings."""
        if self._known is None or self._known.version != self.settings.version:
            self._known = SettingsFacts(self.settings, self._user, self._engine.config.spark.member)
        return self._known

    # -- binding -------------------------------------------------------------------------------------------------

    def input_settings(self) -> InputSettings:
        """Return the settings by which literals are read, with the transaction's time."""
        return replace(self.facts.input, now=self.transaction.now())

    def context_value(self, name: str) -> Any:
        """Return the current value of the `ContextRef` of that name."""
        match name:
            case "now":
                return self.transaction.now()
            case "statement_timestamp":
                return time.time_ns() // 1000
            case "current_user" | "user" | "current_role":
                return self.roles.current_name
            case "session_user":
                return self.roles.session_name
            case "current_database" | "current_catalog":
                return self.database
            case "current_schema":
                return next(iter(self._catalog_facts().schemas_named), None)
            case "pg_backend_pid":
                return self.client.backend_pid
            case "pg_is_in_recovery":
                return self.settings.get("in_hot_standby") == "on"
            case _:
                raise UndefinedObject(f'no such context value: "{name}"')

    # -- running -------------------------------------------------------------------------------------------------

    def execution_context(self) -> ExecutionContext:
        """Return the context of a new query under the current settings."""
        facts = self.facts
        return ExecutionContext(
            query=next_query_id(self.record, self._engine.queries.new_query_id),
            time_zone=facts.time_zone,
            page_bytes=facts.page_bytes,
            notice=self.notify,
            settings=facts.execution_settings,
            memory=facts.memory,
            result_cache=facts.result_cache,
            underway=self.underway,
            trace="" if self.record is None else self.record.trace,
        )

    def terms(self) -> Terms:
        """Return the terms under which a query is compiled."""
        return self.facts.terms(self._engine.speeds.model, self._engine.spark.sharing.other_host)

    @property
    def memory(self) -> MemoryShare | None:
        """The memory share of the session's statements, which includes those of its user's other sessions."""
        return self.facts.memory

    async def write_kept(self) -> None:
        """Write the rows that the transaction has kept into files, so that they can be read. Raises SqlError."""
        if self.catalog.pending.keeps_rows:
            most = writer_bytes(self.memory, KEPT_BYTES)
            await shielded(self._engine.in_writer_pool(functools.partial(self.catalog.write_kept, most)))

    async def discard_temporary(self) -> None:
        """Drop the session's temporary relations, with their files."""
        if self.catalog.temporary.relations:
            await shielded(self._engine.in_operation_pool(self.catalog.temporary.discard))

    # -- the client ----------------------------------------------------------------------------------------------

    def notify(self, message: str, detail: str | None = None) -> None:
        """Send a notice to the client."""
        self.notices(Notice(message, detail=detail))

    def debug(self, message: str) -> None:
        """Send a message to a client whose client_min_messages is debug1 or less."""
        self.notices(Notice(message, "DEBUG"))

    @property
    def is_serializable(self) -> bool:
        """Whether the transaction must take effect as if no other one ran at the same time."""
        return self.settings.get("transaction_isolation") == "serializable"

    def _is_repeatable(self) -> bool:
        return self.settings.get("transaction_isolation") in ("repeatable read", "serializable")

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
    """transaction: the session's, once the session has set it. alone: whether the statement that runs is all of its transaction
    so far. notices: to the client, each once where a statement runs again. record: of the statement that runs, where its caller
    keeps one. underway: the query that has begun last, for reports of progress. environment: of its statements, as they begin."""

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
        """The effective search path, pg_catalog first unless named."""
        return self._catalog_facts().search_path

    def authority(self) -> Authority:
        """Return the rights of the session's current role, as of now."""
        return self._catalog_facts().authority

    def _catalog_facts(self) -> CatalogFacts:
        snapshot, known = self.catalog.current(), self._known_catalog
        if known is None or known.snapshot is not snapshot or known.version != self.settings.version:
            known = CatalogFacts(
                self.settings,
                snapshot,
                self.roles.current_name,
                lambda: Authority(self.roles.current, self._judge.of(snapshot)),
            )
            self._known_catalog = known
        return known

    @property
    def facts(self) -> SettingsFacts:
        """Return the facts that follow from the settings as they are now."""
        if self._known is None or self._known.version != self.settings.version:
            self._known = SettingsFacts(self.settings, self._user, self._engine.config.spark.member)
        return self._known

    # -- binding -------------------------------------------------------------------------------------------------

    def input_settings(self) -> InputSettings:
        """Return the settings by which literals are read, with the transaction's time."""
        return replace(self.facts.input, now=self.transaction.now())

    def context_value(self, name: str) -> Any:
        """Return the value that a `ContextRef` of that name stands for now."""
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
        """Return the context of a new query, under the settings as they are."""
        facts = self.facts
        return ExecutionContext(
            query=next_query_id(self.record, self._engine.queries.new_query_id),
            time_zone=facts.time_zone,
            page_bytes=facts.page_bytes,
            notice=self.notify,
            settings=facts.execution_settings,
            memory=facts.memory,
            underway=self.underway,
            trace="" if self.record is None else self.record.trace,
        )

    def terms(self) -> Terms:
        """Return the terms under which a query is compiled."""
        return self.facts.terms(self._engine.speeds.model)

    @property
    def memory(self) -> MemoryShare | None:
        """Return the memory share of the session's statements, with those of its user's other sessions."""
        return self.facts.memory

    async def write_kept(self) -> None:
        """Write the rows that the transaction has kept, for whatever may read them. Raises SqlError."""
        if self.catalog.pending.keeps_rows:
            most = writer_bytes(self.memory, KEPT_BYTES)
            await shielded(self._engine.in_writer_pool(functools.partial(self.catalog.write_kept, most)))

    # -- the client ----------------------------------------------------------------------------------------------

    def notify(self, message: str, detail: str | None = None) -> None:
        """Tell the client something."""
        self.notices(Notice(message, detail=detail))

    def debug(self, message: str) -> None:
        """Tell a client whose client_min_messages is debug1 or less."""
        self.notices(Notice(message, "DEBUG"))

    def _is_repeatable(self) -> bool:
        return self.settings.get("transaction_isolation") in ("repeatable read", "serializable")

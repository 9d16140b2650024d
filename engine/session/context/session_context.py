"""The context of a session's statements: settings, catalog, roles, search path, client.

Handlers of statements (`engine.statements`) take it as their first argument; `engine.session.session.Session` makes one.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.catalog.authority import Authority
from engine.catalog.model import acl
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.rights import Judge, Rights
from engine.catalog.model.roles import Roles
from engine.catalog.snapshot import Snapshot
from engine.catalog.store.transaction import SessionCatalog
from engine.common.notice_deduplicator import NoticeDeduplicator
from engine.common.shielded import shielded
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare, writer_bytes
from engine.contracts.mesh import MemberInfo
from engine.contracts.progress import RunningQuery
from engine.contracts.sessions import Client
from engine.monitor.record import StatementRecord
from engine.pg_catalog import SystemCatalog, SystemContext
from engine.plan_ir.requirements import Accesses
from engine.session.context.advisory_locks import SessionLocks
from engine.session.context.parameter_digits import Digits
from engine.session.context.recording_catalog import RecordingCatalog
from engine.session.context.roles import SessionRoles
from engine.session.context.services import SessionServices
from engine.session.context.session_facts import CatalogFacts, SettingsFacts
from engine.session.context.transaction_context import TransactionContext
from engine.settings.session_settings import SessionSettings
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.statements.shared.definer import Definer
from engine.statements.shared.fault_policy import next_query_id
from engine.statements.shared.sequences import SessionSequences
from engine.statements.shared.terms import Terms
from engine.storage.staging import KEPT_BYTES
from wire.errors import InternalError, Notice, UndefinedObject
from wire.types.text_settings import InputSettings


class SessionContext:
    """transaction: the session's, once the session has set it. alone: whether the statement that runs is all of its transaction
    so far. notices: to the client, each once where a statement runs again. record: of the statement that runs, where its caller
    keeps one. underway: the query that has begun last, for reports of progress."""

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
        self._judge = Judge(Rights(), Roles())
        self._system = SystemCatalog()
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
            known = CatalogFacts(self.settings, snapshot, self.roles.current_name, lambda: self._judge_now(snapshot))
            self._known_catalog = known
        return known

    def _judge_now(self, snapshot: Snapshot) -> Authority:
        if self._judge.rights is not snapshot.rights or self._judge.roles is not snapshot.roles:
            self._judge = Judge(snapshot.rights, snapshot.roles)
        return Authority(self.roles.current, self._judge)

    @property
    def facts(self) -> SettingsFacts:
        """Return the facts that follow from the settings as they are now."""
        if self._known is None or self._known.version != self.settings.version:
            self._known = SettingsFacts(self.settings, self._user, self._engine.config.spark.member)
        return self._known

    def _role_oid(self, name: str) -> int | None:
        roles = self.catalog.current().roles
        known = roles.find_role(name) if roles or name != self.roles.session_name else roles.of(name)
        return known.oid if known is not None else None

    # -- binding -------------------------------------------------------------------------------------------------

    def bind_context(
        self, parameter_types: Sequence[int], digits: Digits, read_by: InputSettings | None = None
    ) -> tuple[BindContext, RecordingCatalog]:
        """Return the context in which a statement is bound, and its catalog, which records the relations that are asked for.
        read_by: the settings by which its literals are read, those of now if not given."""
        catalog = self.recording_catalog()
        parameters = ParameterTypes(parameter_types, digits, catalog.type_by_oid)
        path, settings = self.search_path(), self.input_settings()
        accesses = Accesses(catalog.owner)
        context = BindContext(
            catalog, path, settings, parameters, self.database, self.notify, find_type=catalog.type_named,
            type_names=functools.partial(catalog.type_names, path), role_oid=catalog.role_oid,
            accesses=accesses, find_file=lambda path: catalog.file(path, self.notify),
            literal_settings=None if read_by is None else replace(read_by, now=settings.now),
        )  # fmt: skip
        return context, catalog

    def recording_catalog(self, members: Sequence[MemberInfo] | None = None) -> RecordingCatalog:
        """members: all of them, known before where this runs on another thread than the loop's."""
        members = self._engine.mesh.members() if members is None else members
        context = SystemContext(
            self.catalog.current(), self.settings, self.client, self.roles.session_name, self.database, members,
            self._engine.store.pending_commits, self.roles.may_see, self.roles.may_examine,
            copies=self._engine.copies.running_copies, maintenance=self._engine.maintenance.running_tables,
            authority=self.authority(), counted=self._engine.store.read_sequence,
        )  # fmt: skip
        return RecordingCatalog(
            context, self._system, self._engine.store, self.authority(), self._engine.roots, self._role_oid
        )

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

    def definer(self) -> Definer:
        """Return the environment of definitions, as of now."""
        path, settings, members = self.search_path(), self.input_settings(), self._engine.mesh.members()

        def context() -> BindContext:
            catalog = self.recording_catalog(members)
            return BindContext(
                catalog, path, settings, database=self.database, notice=self.notify, find_type=catalog.type_named,
                type_names=functools.partial(catalog.type_names, path),
            )  # fmt: skip

        return Definer(self.catalog, path, self.notify, context, self.sequences, self.authority(), self._debug)

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

    def taken(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        """Take values of a sequence (by OID) for so many rows. May block."""
        found = self.sequence_of(sequence)
        self.authority().require_sequence(found, acl.USAGE, acl.UPDATE)
        return self.sequences.take(found, count)

    def sequence_of(self, oid: int) -> NumberSequence:
        for relation in self.catalog.current().relations.values():
            if relation.oid == oid and isinstance(relation, NumberSequence):
                return relation
        raise InternalError(f"could not open relation with OID {oid}")

    # -- the client ----------------------------------------------------------------------------------------------

    def notify(self, message: str, detail: str | None = None) -> None:
        """Tell the client something."""
        self.notices(Notice(message, detail=detail))

    def _debug(self, message: str) -> None:
        """Tell a client whose client_min_messages is debug1 or less."""
        self.notices(Notice(message, "DEBUG"))

    def _is_repeatable(self) -> bool:
        return self.settings.get("transaction_isolation") in ("repeatable read", "serializable")

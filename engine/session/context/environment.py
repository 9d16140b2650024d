"""The environment in which a session's statements are bound: the names, settings and privileges at the start of a
statement.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from engine.contracts.mesh import MemberInfo
from engine.pg_catalog import SystemCatalog, SystemContext
from engine.plan_ir.requirements import Accesses
from engine.session.context.parameter_digits import Digits
from engine.session.context.recording_catalog import RecordingCatalog
from engine.session.context.services import SessionServices
from engine.session.context.session_state import SessionState
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.statements.shared.definer import Definer
from wire.types.text_settings import InputSettings


class SessionEnvironment:
    """See the module's docstring. Each call returns a new environment, for one statement."""

    def __init__(self, session: SessionState, engine: SessionServices) -> None:
        self._session = session
        self._engine = engine
        self._system = SystemCatalog()

    def context(
        self, parameter_types: Sequence[int], digits: Digits, read_by: InputSettings | None = None
    ) -> tuple[BindContext, RecordingCatalog]:
        """Return the context in which a statement is bound, and its catalog, which records the relations that binding
        asks for. read_by: the settings by which the statement's literals are read; the current ones if not given.
        """
        session, catalog = self._session, self.catalog()
        parameters = ParameterTypes(parameter_types, digits, catalog.type_by_oid)
        path, settings = session.search_path(), session.input_settings()
        accesses = Accesses(catalog.owner)
        context = BindContext(
            catalog, path, settings, parameters, session.database, session.notify, find_type=catalog.type_named,
            type_names=functools.partial(catalog.type_names, path), role_oid=catalog.role_oid,
            accesses=accesses, find_file=lambda path: catalog.file(path, session.notify),
            literal_settings=None if read_by is None else replace(read_by, now=settings.now),
        )  # fmt: skip
        return context, catalog

    def catalog(self, members: Sequence[MemberInfo] | None = None) -> RecordingCatalog:
        """Return the current catalog. members: all members, to be given if this runs on another thread than the loop's."""
        session, engine = self._session, self._engine
        members = engine.mesh.members() if members is None else members
        context = SystemContext(
            session.catalog.current(), session.settings, session.client, session.roles.session_name, session.database, members,
            engine.store.pending_commits, session.roles.may_see, session.roles.may_examine,
            copies=engine.copies.running_copies, maintenance=engine.maintenance.running_tables,
            authority=session.authority(), counted=engine.store.read_sequence,
        )  # fmt: skip
        return RecordingCatalog(
            context, self._system, engine.store, session.authority(), engine.roots, self._find_role_oid
        )

    def definer(self) -> Definer:
        """Return the environment of DDL statements."""
        session = self._session
        path, settings, members = session.search_path(), session.input_settings(), self._engine.mesh.members()

        def context() -> BindContext:
            catalog = self.catalog(members)
            return BindContext(
                catalog, path, settings, database=session.database, notice=session.notify, find_type=catalog.type_named,
                type_names=functools.partial(catalog.type_names, path),
            )  # fmt: skip

        return Definer(
            session.catalog, path, session.notify, context, session.sequences, session.authority(), session.debug
        )

    def _find_role_oid(self, name: str) -> int | None:
        session = self._session
        roles = session.catalog.current().roles
        known = roles.find_role(name) if roles or name != session.roles.session_name else roles.of(name)
        return known.oid if known is not None else None

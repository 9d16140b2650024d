"""Cached facts that a session's statements need again and again, and that change only with a setting or with the
catalog.

Roles, the search path and the terms of a query follow from the session's settings; the effective privileges and the
usable schemas follow from the state of the catalog, too. Each object here is a function of its inputs, and
`engine.session.context.session_context` makes another one as soon as they have changed: the version of the settings, or
the number of the catalog's definitions. So no explicit invalidation is needed.
"""

from __future__ import annotations

from typing import Final

from engine.catalog.authority import Authority
from engine.catalog.model.rights import Judge, Rights
from engine.catalog.model.roles import Roles
from engine.catalog.snapshot import SLUICE, Snapshot
from engine.contracts.memory_share import page_bytes, share_of
from engine.pg_catalog import PG_CATALOG
from engine.pg_catalog.declared import INFORMATION_SCHEMA
from engine.planner.engine_model import EngineModel
from engine.settings.session_settings import SessionSettings
from engine.statements.shared.terms import Terms
from engine.statements.shared.text_styles import foreign_styles
from wire.types.text_settings import InputSettings

_SYSTEM_SCHEMAS: Final = (PG_CATALOG,)
#: Schemas that exist without being created, and that are searched if the search path names them.
_LOOKED_IN: Final = (PG_CATALOG, INFORMATION_SCHEMA, SLUICE)


class SettingsFacts:
    """Facts that follow from settings alone. user: the user that logged in. spark_member: as in `Terms`."""

    def __init__(self, settings: SessionSettings, user: str, spark_member: str | None) -> None:
        self._settings = settings
        self._spark_member = spark_member
        self._terms: Terms | None = None
        self.version = settings.version
        self.time_zone = settings.get("TimeZone")
        self.page_bytes = page_bytes(settings)
        self.memory = share_of(user, settings)
        self.result_cache = settings.get("sluice.result_cache") == "on"
        self.foreign_styles = foreign_styles(settings)
        self.execution_settings = {"spool_limit": settings.size_bytes("sluice.spool_limit")}
        #: The settings by which literals are read; the time in it has no meaning.
        self.input = InputSettings.read(settings.get, 0)

    def terms(self, model: EngineModel, spark_host: str | None = None) -> Terms:
        """Return the terms under which a query is compiled now. model: the speeds of the engines. spark_host: as in
        `Terms`. Both change without a setting.
        """
        if self._terms is None or self._terms.model is not model or self._terms.spark_host != spark_host:
            self._terms = Terms.of(self._settings, model, self.memory, self._spark_member, spark_host)
        return self._terms


class LatestJudge:
    """The judge of the latest state of the catalog. Its cached results are valid as long as privileges and roles do not
    change.
    """

    def __init__(self) -> None:
        self._judge = Judge(Rights(), Roles())

    def of(self, snapshot: Snapshot) -> Judge:
        """Return the judge of a state of the catalog."""
        if self._judge.rights is not snapshot.rights or self._judge.roles is not snapshot.roles:
            self._judge = Judge(snapshot.rights, snapshot.roles)
        return self._judge


class CatalogFacts:
    """Facts that follow from settings and the catalog's definitions.

    version, definitions: of the settings and the catalog's state.
    authority: the privileges of the session's current role. own_name: its name.
    schemas_named: the schemas of the setting search_path, except those that do not exist or may not be used. `$user`
        never stands for a system schema: otherwise a role of that name would find the schema's relations first, and
        create its own there.
    search_path: the effective search path, with pg_catalog first unless it is named.
    """

    def __init__(self, settings: SessionSettings, snapshot: Snapshot, own_name: str, authority: Authority) -> None:
        self.version = settings.version
        self.definitions = snapshot.definitions
        self.authority = authority
        users = None if own_name in _LOOKED_IN else own_name
        names = [_unquote(part) for part in settings.get("search_path").split(",")]
        named = [users if name == "$user" else name for name in names if name]
        there = [name for name in named if name is not None and (snapshot.has_schema(name) or name in _LOOKED_IN)]
        self.schemas_named = tuple(
            name for name in there if authority.role.superuser or authority.may_use(snapshot, name)
        )
        self.search_path = (*(x for x in _SYSTEM_SCHEMAS if x not in self.schemas_named), *self.schemas_named)


def _unquote(part: str) -> str:
    text = part.strip()
    return text[1:-1].replace('""', '"') if text[:1] == '"' == text[-1:] else text.lower()

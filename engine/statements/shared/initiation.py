"""The members that may start a query. A lite member keeps no data: it runs statements that read no table, and refuses
the others (0A000) with the addresses of members that run them.

To drivers it looks like a hot standby, which is the kind of server that they know to refuse some statements: given
several hosts in its connection string, a driver that wants to write connects to a data member (`target_session_attrs`,
`targetServerType`). Definitions are refused as well, since the files that they name may be out of this member's reach.

Source: the client-protocol seed, 1.3 and 3.3; PostgreSQL 15, 27.4 "Hot Standby", and libpq's target_session_attrs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from engine.catalog.model.objects import Relation, Table
from engine.contracts.mesh import MemberInfo, Mesh, Role
from engine.settings.session_settings import SessionSettings
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyFrom
from engine.sql.parser.nodes.domains import AlterDomain, CreateDomain
from engine.sql.parser.nodes.privileges import PrivilegeStatement
from engine.sql.parser.nodes.roles import RoleStatement
from wire.errors import FeatureNotSupported

_CHANGES: Final = (
    s.CreateView, s.CreateForeignTable, s.ImportForeignSchema, s.CreateSchema, s.CreateTable, s.CreateTableAs,
    s.CreateMaterializedView, s.RefreshMaterializedView, s.CreateSequence, s.AlterTable,
    s.AlterSequence, s.AlterViewOptions, s.AlterSchema, s.CreateEnum, s.CreateComposite, s.AlterType, CreateDomain, AlterDomain,
    s.Comment, s.Drop, s.MutationStatement, s.WithChanges, s.Truncate, s.Vacuum, s.Analyze, CopyFrom,
    *get_args(RoleStatement), *get_args(PrivilegeStatement),
)  # fmt: skip
_STANDBY: Final[Mapping[str, str]] = {"default_transaction_read_only": "on", "transaction_read_only": "on"}


def session_settings(role: Role, configured: Mapping[str, str], asked: Mapping[str, str]) -> SessionSettings:
    """Return a new session's settings on a member of this role. Raises SqlError for an invalid one."""
    if role == "data":
        return SessionSettings({**configured, **asked})
    settings = SessionSettings({**_STANDBY, **configured, **asked})
    settings.fix("in_hot_standby", "on")
    return settings


class Initiation:
    """Checks whether this member may run a statement, before it runs."""

    def __init__(self, role: Role, mesh: Mesh) -> None:
        self._role = role
        self._mesh = mesh

    def require_for_query(self, reads: Iterable[Relation]) -> None:
        """Raise FeatureNotSupported for a query over tables on a lite member."""
        if self._role == "lite" and any(isinstance(relation, Table) for relation in reads):
            raise self._refusal("a lite member runs no query over tables")

    def require_for_statement(self, statement: s.Statement) -> None:
        """Raise FeatureNotSupported for a statement that changes definitions or rows on a lite member."""
        if self._role == "lite" and isinstance(statement, _CHANGES):
            raise self._refusal("a lite member changes no tables")

    def _refusal(self, message: str) -> FeatureNotSupported:
        there = ", ".join(member.client for member in initiators(self._mesh)) or "none is up"
        return FeatureNotSupported(
            f"not supported: {message}",
            hint=f"Connect to a data member ({there}), or begin the connection with sluice.lite_routing = forward.",
        )


def initiators(mesh: Mesh) -> list[MemberInfo]:
    """Return the members where a client may start a query over tables. (Which members may run its fragments:
    `engine.statements.shared.distribution`.)
    """
    return [member for member in mesh.members() if member.role == "data" and member.state in ("up", "suspect")]

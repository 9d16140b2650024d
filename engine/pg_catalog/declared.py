"""Building blocks for declaring a family of system relations."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cache
from typing import Any, Final, Literal

from engine.catalog.authority import UNBOUNDED, Authority
from engine.catalog.model.counters import Count
from engine.catalog.model.objects import Sequence, TableColumn
from engine.catalog.snapshot import Snapshot
from engine.common import sql_type as st
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.maintenance_progress import MaintenanceProgress
from engine.contracts.mesh import MemberInfo
from engine.contracts.sessions import Client
from engine.pg_catalog.builtin import shapes
from engine.settings.session_settings import SessionSettings
from wire.dataclass import dataclass
from wire.types import pg_types as t

PG_CATALOG: Final = "pg_catalog"
#: Shown instead of a statement's text to roles that may not see it (pgstatfuncs.c).
HIDDEN: Final = "<insufficient privilege>"
INFORMATION_SCHEMA: Final = "information_schema"
Key = tuple[str, str]
Row = abc.Sequence[Any]


@dataclass(frozen=True, slots=True)
class SystemContext:
    """The state that rows are made from.

    members: the mesh's current members (rows are made on any thread, and there is one mesh).
    pending: returns how many commits to stored tables Delta's logs do not have yet, by location; called when rows are
        made.
    may_see: returns whether the current role may see a user's activity.
    may_examine: returns whether it may see a setting's value.
    system: every system relation by schema and name.
    copies, maintenance: return the statements of these kinds that run here; called when rows are made.
    authority: the current role's.
    counted: returns the state of a sequence's counter; called when rows are made.
    """

    snapshot: Snapshot
    settings: SessionSettings
    client: Client
    user: str
    database: str
    members: abc.Sequence[MemberInfo] = ()
    pending: Callable[[], Mapping[str, int]] = dict
    may_see: Callable[[str], bool] = lambda _user: True
    may_examine: Callable[[str], bool] = lambda _setting: True
    system: Mapping[Key, SystemRelation] = field(default_factory=dict)
    copies: Callable[[], abc.Sequence[CopyProgress]] = tuple
    maintenance: Callable[[], abc.Sequence[MaintenanceProgress]] = tuple
    authority: Authority = UNBOUNDED
    counted: Callable[[Sequence], Count] = lambda sequence: Count(sequence.first, called=False)


@dataclass(frozen=True, slots=True)
class SystemRelation:
    """A relation's declaration.

    columns: `name type` pairs.
    volatile: whether its rows depend on the session, and not on the snapshot alone.
    closed: for a relation that only superusers may read, its kind in messages.
    stored: whether PostgreSQL's own rows (`engine.pg_catalog.builtin`) come before those that `rows` makes.
    query: a view's.
    """

    oid: int
    name: str
    columns: str
    rows: Callable[[SystemContext], Iterable[Row]] = lambda _context: ()
    volatile: bool = False
    schema: str = PG_CATALOG
    closed: Literal["", "table", "view"] = ""
    stored: bool = False
    query: str = ""

    @property
    def key(self) -> Key:
        return self.schema, self.name

    def declared_columns(self) -> tuple[TableColumn, ...]:
        return _columns(self.columns)


def postgres(
    name: str,
    rows: Callable[[SystemContext], Iterable[Row]] = lambda _context: (),
    *,
    schema: str = PG_CATALOG,
    volatile: bool = False,
    closed: Literal["", "table", "view"] = "",
    stored: bool = False,
    query: str = "",
) -> SystemRelation:
    """Declare a relation of PostgreSQL's, with PostgreSQL's OID and columns."""
    shape = shapes()[schema, name]
    return SystemRelation(shape.oid, name, shape.columns, rows, volatile, schema, closed, stored, query)


@cache
def _columns(text: str) -> tuple[TableColumn, ...]:
    pairs = [pair.split() for pair in text.split(",")]
    return tuple(TableColumn(name, st.of(_type(typ)), i) for i, (name, typ) in enumerate(pairs, 1))


def _type(name: str) -> t.PgType:
    return t.array_of(t.BY_NAME[name[:-2]]) if name.endswith("[]") else t.BY_NAME[name]

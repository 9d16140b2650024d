"""pg_namespace, pg_class, pg_attribute and the system relations that depend on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Final

from engine.catalog.model import acl
from engine.catalog.model.objects import Constraint, KeyPart, Sequence, StoredRelation, Table, TableColumn, View
from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.model.roles import FIRST_ROLE
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.model.user_types import CompositeType, pg_of
from engine.catalog.snapshot import SLUICE, TEMPORARY
from engine.common import sql_type as st
from engine.pg_catalog.access_methods import METHODS
from engine.pg_catalog.acl_text import AclText
from engine.pg_catalog.declared import Row, SystemContext, postgres
from engine.pg_catalog.extension import everybodys, ours
from engine.pg_catalog.namespaces import OURS, namespace
from engine.pg_catalog.row_types import row_type_oid
from engine.pg_catalog.types import collation, layout
from wire.types import pg_types as t


def _pg_namespace(context: SystemContext) -> Iterator[Row]:
    shown, rights = AclText(context.snapshot.roles, context.user), context.snapshot.rights
    yield OURS[SLUICE], SLUICE, FIRST_ROLE, shown(everybodys("n", acl.USAGE))
    if any(relation.schema == TEMPORARY for relation in context.snapshot.relations.values()):
        yield OURS[TEMPORARY], TEMPORARY, FIRST_ROLE, None
    for schema in context.snapshot.schemas.values():
        own = rights.of(schema.oid)
        yield schema.oid, schema.name, own.owner, shown(own.acl)


#: The OID of the table access method in pg_am.
_HEAP: Final = 2
_IDENTITY: Final = {"": "", "always": "a", "by default": "d"}


def keys(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Return the constraints that PostgreSQL has an index for. The index has the constraint's name, and here its OID."""
    return (constraint for constraint in constraints if constraint.is_key or constraint.is_index)


def _kind(relation: StoredRelation) -> str:
    match relation:
        case View():
            return "v"
        case Sequence():
            return "S"
        case Table(storage=None):
            return "f"
        case Table(query=None):
            return "r"
        case Table():
            return "m"


#: The columns of a sequence as a relation.
COUNTER: Final = (
    TableColumn("last_value", st.of(t.INT8), 1, False),
    TableColumn("log_cnt", st.of(t.INT8), 2, False),
    TableColumn("is_called", st.of(t.BOOL), 3, False),
)


def _columns(relation: StoredRelation) -> tuple[TableColumn, ...]:
    return COUNTER if isinstance(relation, Sequence) else relation.columns


def _pg_class(context: SystemContext) -> Iterator[Row]:
    shown, rights = AclText(context.snapshot.roles, context.user), context.snapshot.rights
    readable = shown(everybodys("r", acl.SELECT))
    for system in ours(context):
        # Shown as views, since nobody writes to them: a tool that compares schemas would want to drop them if they were
        # tables.
        yield _class_row(system.oid, system.name, OURS[SLUICE], "v", len(system.declared_columns()), acl=readable)
    unlogged = frozenset(table.oid for table in context.snapshot.tables() if table.unlogged)
    bound = _in_foreign_keys(context)
    for relation in context.snapshot.relations.values():
        schema = namespace(context, relation.schema)
        lasts = _persistence(relation, unlogged)
        constraints = relation.constraints if isinstance(relation, Table) else ()
        indexes = list(keys(constraints))
        own = rights.of(relation.oid)
        yield _class_row(
            relation.oid, relation.name, schema, _kind(relation), len(_columns(relation)), bool(indexes),
            sum(c.kind == "check" for c in constraints), lasts,
            not isinstance(relation, Table) or relation.populated,
            relation.statistics if isinstance(relation, Table) else None, own.owner, shown(own.acl), _options(relation),
            row_type_oid(relation), triggers=relation.oid in bound,
        )  # fmt: skip
        for key in indexes:
            yield _class_row(
                key.oid, key.name, schema, "i", len(key.key_parts) + len(key.included), persistence=lasts,
                statistics=relation.statistics if isinstance(relation, Table) else None, owner=own.owner,
                method=METHODS[key.method].oid,
            )  # fmt: skip
    for typ in _composites(context):
        space, owner = namespace(context, typ.schema), rights.of(typ.oid).owner
        yield _class_row(typ.relation, typ.name, space, "c", typ.last, owner=owner, row_type=typ.oid)


def _in_foreign_keys(context: SystemContext) -> set[int]:
    """Return the tables on which PostgreSQL has internal triggers of foreign keys: clients that ask for foreign keys
    look for these first.
    """
    named = {
        (table.oid, c.references.table)
        for table in context.snapshot.tables()
        for c in table.constraints
        if c.references
    }
    return {oid for pair in named for oid in pair}


def _composites(context: SystemContext) -> Iterator[CompositeType]:
    return (typ for typ in context.snapshot.types.values() if isinstance(typ, CompositeType))


def _options(relation: StoredRelation) -> list[str] | None:
    """Return reloptions, which only views have."""
    return [f"{name}={value}" for name, value in relation.options] or None if isinstance(relation, View) else None


def _persistence(relation: StoredRelation, unlogged: Set[int]) -> str:
    """Return whether a relation is temporary, unlogged or permanent; a sequence is what its table is."""
    if relation.schema == TEMPORARY:
        return "t"
    oid = relation.owner[0] if isinstance(relation, Sequence) and relation.owner is not None else relation.oid
    return "u" if oid in unlogged else "p"


def _class_row(
    oid: int,
    name: str,
    namespace: int,
    kind: str,
    columns: int,
    indexed: bool = False,
    checks: int = 0,
    persistence: str = "p",
    populated: bool = True,
    statistics: TableStatistics | None = None,
    owner: int = FIRST_ROLE,
    acl: list[str] | None = None,
    options: list[str] | None = None,
    row_type: int = 0,
    method: int = 0,
    triggers: bool = False,
) -> Row:
    pages, rows = (statistics.pages, statistics.rows) if statistics is not None else (0, -1.0)
    if kind == "i":
        # PostgreSQL counts rows when it builds an index, and an index has at least one page.
        pages, rows = 1, max(rows, 0.0)
    method = _HEAP if kind in "rm" else method
    return (
        oid, name, namespace, row_type, 0, owner, method, 0, 0, pages, rows, 0, 0, indexed, False, persistence, kind,
        columns, checks, kind in "vm", triggers, False, False, False, populated, "d" if kind in "rm" else "n", False, 0, 0, 0, acl,
        options, None,
    )  # fmt: skip


def _pg_attribute(context: SystemContext) -> Iterator[Row]:
    for system in ours(context):
        for column in system.declared_columns():
            yield _attribute_row(system.oid, column.name, column.type.pg, -1, column.number, False)
    shown, rights = AclText(context.snapshot.roles, context.user), context.snapshot.rights
    for relation in context.snapshot.relations.values():
        own = rights.of(relation.oid)
        for column in _columns(relation):
            yield _attribute_row(
                relation.oid, column.name, column.declared_type, _typmod(column), column.number, not column.nullable,
                column.default is not None and not column.identity, _IDENTITY[column.identity],
                shown(own.column(column.number) or None), generated=column.generated,
            )  # fmt: skip
        for key in keys(relation.constraints) if isinstance(relation, Table) else ():
            for number, part in enumerate((*key.key_parts, *map(KeyPart, key.included)), 1):
                if part.formula:
                    yield _attribute_row(key.oid, part.name, t.BY_OID[part.type], part.typmod, number, False)
                    continue
                of = next(c for c in _columns(relation) if c.name == part.name)
                yield _attribute_row(key.oid, part.name, of.type.pg, of.type.typmod, number, False)
    for typ in _composites(context):
        for item in pg_of(typ, context.snapshot.types).attributes:
            yield _attribute_row(typ.relation, item.name, item.type, item.typmod, item.number, False)


def _typmod(column: TableColumn) -> int:
    """Return atttypmod; -1 for a domain, which has its modifier itself."""
    return -1 if column.domain is not None else column.type.modifier


def _attribute_row(
    relation: int,
    name: str,
    pg: t.PgType,
    typmod: int,
    number: int,
    not_null: bool,
    default: bool = False,
    identity: str = "",
    acl: list[str] | None = None,
    *,
    generated: bool = False,
) -> Row:
    return (
        relation, name, pg.oid, -1, pg.length, number, _dimensions(pg, typmod), -1, typmod, *layout(pg), "", not_null, default,
        False, identity, "s" if generated else "", False, True, 0, collation(pg), acl, None, None, None,
    )  # fmt: skip


def _dimensions(pg: t.PgType, typmod: int) -> int:
    if not pg.is_array:
        return 0
    return 1 if t.element_of(pg) is t.INTERVAL else t.split_array_modifier(typmod)[1]


def _pg_database(context: SystemContext) -> Iterator[Row]:
    own, shown = context.snapshot.rights.of(DATABASE_OID), AclText(context.snapshot.roles, context.user)
    yield (
        DATABASE_OID, context.database, own.owner, 6, "c", False, True, -1, 0, 0, 1663, "C", "C.UTF-8", None, None,
        shown(own.acl),
    )  # fmt: skip


SYSTEM: Final = (
    postgres("pg_namespace", _pg_namespace, stored=True),
    postgres("pg_class", _pg_class, stored=True),
    postgres("pg_attribute", _pg_attribute, stored=True),
    postgres("pg_database", _pg_database),
)

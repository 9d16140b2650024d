"""pg_namespace, pg_class, pg_attribute and what hangs on relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from engine.catalog.objects import Constraint, Sequence, StoredRelation, Table, TableColumn, View
from engine.catalog.snapshot import SLUICE, TEMPORARY, Snapshot
from engine.catalog.statistics import TableStatistics
from engine.catalog.system.declared import INFORMATION_SCHEMA, PG_CATALOG, Row, SystemContext, SystemRelation
from engine.catalog.system.types import alignment, by_value, collation, storage
from engine.sql import types as st
from wire import types as t

_OWNER: Final = 10
_NAMESPACES: Final = {PG_CATALOG: 11, INFORMATION_SCHEMA: 13_000, "pg_temp": 12_999, SLUICE: 12_200}


def _pg_namespace(context: SystemContext) -> Iterator[Row]:
    for name in (PG_CATALOG, INFORMATION_SCHEMA, SLUICE):
        yield _NAMESPACES[name], name, _OWNER, None
    if any(relation.schema == TEMPORARY for relation in context.snapshot.relations.values()):
        yield _NAMESPACES[TEMPORARY], TEMPORARY, _OWNER, None
    for schema in context.snapshot.schemas.values():
        yield schema.oid, schema.name, _OWNER, None


def schema_oid(snapshot: Snapshot, name: str) -> int | None:
    """A schema's OID; None where there is none of that name."""
    stored = snapshot.schemas.get(name)
    return stored.oid if stored is not None else _NAMESPACES.get(name)


def namespace(context: SystemContext, name: str) -> int:
    """The OID of a schema that is there."""
    return _NAMESPACES[name] if name in _NAMESPACES else context.snapshot.schemas[name].oid


_IDENTITY: Final = {"": "", "always": "a", "by default": "d"}


def keys(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """The constraints that PostgreSQL has an index for; it has the constraint's name, and here its OID."""
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


#: What a sequence shows as a relation.
COUNTER: Final = (
    TableColumn("last_value", st.of(t.INT8), 1, False),
    TableColumn("log_cnt", st.of(t.INT8), 2, False),
    TableColumn("is_called", st.of(t.BOOL), 3, False),
)


def _columns(relation: StoredRelation) -> tuple[TableColumn, ...]:
    return COUNTER if isinstance(relation, Sequence) else relation.columns


def _pg_class(context: SystemContext) -> Iterator[Row]:
    for system in context.system.values():
        yield _class_row(
            system.oid, system.name, _NAMESPACES[system.schema], "v" if system.query else "r", len(system.declared())
        )
    for relation in context.snapshot.relations.values():
        schema = namespace(context, relation.schema)
        constraints = relation.constraints if isinstance(relation, Table) else ()
        indexes = list(keys(constraints))
        yield _class_row(
            relation.oid, relation.name, schema, _kind(relation), len(_columns(relation)), bool(indexes),
            sum(c.kind == "check" for c in constraints), relation.schema == TEMPORARY,
            not isinstance(relation, Table) or relation.populated,
            relation.statistics if isinstance(relation, Table) else None,
        )  # fmt: skip
        for key in indexes:
            yield _class_row(key.oid, key.name, schema, "i", len(key.columns), temporary=relation.schema == TEMPORARY)


def _class_row(
    oid: int,
    name: str,
    namespace: int,
    kind: str,
    columns: int,
    indexed: bool = False,
    checks: int = 0,
    temporary: bool = False,
    populated: bool = True,
    statistics: TableStatistics | None = None,
) -> Row:
    pages, rows = (statistics.pages, statistics.rows) if statistics is not None else (0, -1.0)
    method = {"r": 2, "m": 2, "i": 403}.get(kind, 0)
    return (
        oid, name, namespace, 0, 0, _OWNER, method, 0, 0, pages, rows, 0, 0, indexed, False, "t" if temporary else "p", kind,
        columns, checks, kind == "v", False, False, False, False, populated, "d" if kind in "rm" else "n", False, 0, 0, 0, None,
        None, None,
    )  # fmt: skip


def _pg_attribute(context: SystemContext) -> Iterator[Row]:
    for system in context.system.values():
        for column in system.declared():
            yield _attribute_row(system.oid, column.name, column.type.pg, -1, column.number, False)
    for relation in context.snapshot.relations.values():
        for column in _columns(relation):
            yield _attribute_row(
                relation.oid, column.name, column.type.pg, column.type.typmod, column.number, not column.nullable,
                column.default is not None and not column.identity, _IDENTITY[column.identity], generated=column.generated,
            )  # fmt: skip
        for key in keys(relation.constraints) if isinstance(relation, Table) else ():
            for number, name in enumerate(key.columns, 1):
                of = next(c for c in _columns(relation) if c.name == name)
                yield _attribute_row(key.oid, name, of.type.pg, of.type.typmod, number, False)


def _attribute_row(
    relation: int,
    name: str,
    pg: t.PgType,
    typmod: int,
    number: int,
    not_null: bool,
    default: bool = False,
    identity: str = "",
    *,
    generated: bool = False,
) -> Row:
    return (
        relation, name, pg.oid, -1, pg.length, number, int(pg.is_array), -1, typmod, by_value(pg), alignment(pg), storage(pg), "",
        not_null, default, False, identity, "s" if generated else "", False, True, 0, collation(pg), None, None, None, None,
    )  # fmt: skip


def _pg_database(context: SystemContext) -> Iterator[Row]:
    yield 5, context.database, _OWNER, 6, "c", False, True, -1, 0, 0, 1663, "C", "C.UTF-8", None, None, None


SYSTEM: Final = (
    SystemRelation(2615, "pg_namespace", "oid oid, nspname name, nspowner oid, nspacl text[]", _pg_namespace),
    SystemRelation(
        1259,
        "pg_class",
        "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, relfilenode oid, "
        "reltablespace oid, relpages int4, reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool, "
        "relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool, "
        "relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, "
        "relreplident char, relispartition bool, relrewrite oid, relfrozenxid oid, relminmxid oid, relacl text[], "
        "reloptions text[], relpartbound text",
        _pg_class,
    ),
    SystemRelation(
        1249,
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4, "
        "attcacheoff int4, atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char, "
        "attnotnull bool, atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, attisdropped bool, "
        "attislocal bool, attinhcount int4, attcollation oid, attacl text[], attoptions text[], attfdwoptions text[], "
        "attmissingval text",
        _pg_attribute,
    ),
    SystemRelation(
        1262,
        "pg_database",
        "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, datallowconn bool, "
        "datconnlimit int4, datfrozenxid oid, datminmxid oid, dattablespace oid, datcollate text, datctype text, "
        "daticulocale text, datcollversion text, datacl text[]",
        _pg_database,
    ),
)

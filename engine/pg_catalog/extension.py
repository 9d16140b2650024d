"""The preinstalled extension that owns everything a member has beyond PostgreSQL: the schema `sluice`, and the server
of foreign tables, which are files or tables of other systems; and the initial privileges of PUBLIC on the system's own
objects (pg_init_privs).

PostgreSQL marks objects this way that are not part of a database's definition: a dump leaves an extension's members
out, and of the system's privileges it dumps only differences from the initial ones. The system's privileges cannot be
changed here, so the initial privileges are the present ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.model import acl
from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.objects import Table
from engine.catalog.model.roles import FIRST_ROLE
from engine.catalog.snapshot import SLUICE
from engine.pg_catalog.acl_text import AclText
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.pg_catalog.declared import Row, SystemContext, SystemRelation, postgres
from engine.pg_catalog.namespaces import OURS

#: OIDs that PostgreSQL reserves for itself and does not use.
_WRAPPER, _SERVER, EXTENSION_OID = 15_896, 15_897, 15_898
_VERSION: Final = "0.1.0"
_CLASS, _NAMESPACE, _EXTENSION = 1259, 2615, 3079
_CATALOGS: Final = {_WRAPPER: 2328, _SERVER: 1417}


def everybodys(kind: Kind, rights: int) -> Acl:
    """Return the privileges of a system object on which PUBLIC has `rights`."""
    return (*acl.default_acl(kind, FIRST_ROLE), acl.Item(acl.PUBLIC, FIRST_ROLE, rights))


def ours(context: SystemContext) -> Iterator[SystemRelation]:
    """Return the relations of the schema `sluice`."""
    return (relation for relation in context.system.values() if relation.schema == SLUICE)


def members(context: SystemContext) -> Iterator[Row]:
    """Yield the rows of pg_depend for the extension's members."""
    yield _NAMESPACE, OURS[SLUICE], 0, _EXTENSION, EXTENSION_OID, 0, "e"
    for relation in ours(context):
        yield _CLASS, relation.oid, 0, _EXTENSION, EXTENSION_OID, 0, "e"
    for oid, catalog in _CATALOGS.items():
        yield catalog, oid, 0, _EXTENSION, EXTENSION_OID, 0, "e"
    for table in _foreign(context):
        if table.parts:
            # The topology declares the table; no statement has created it.
            yield _CLASS, table.oid, 0, _EXTENSION, EXTENSION_OID, 0, "e"


def _foreign(context: SystemContext) -> Iterator[Table]:
    return (table for table in context.snapshot.tables() if table.storage is None)


def _pg_foreign_data_wrapper(_context: SystemContext) -> Iterator[Row]:
    yield _WRAPPER, SLUICE, FIRST_ROLE, 0, 0, None, None


def _pg_foreign_server(_context: SystemContext) -> Iterator[Row]:
    yield _SERVER, SLUICE, FIRST_ROLE, _WRAPPER, None, None, None, None


def _pg_foreign_table(context: SystemContext) -> Iterator[Row]:
    for table in _foreign(context):
        options = {"path": table.path, "format": table.lake or table.format, **table.options}
        if table.partition_by:
            options["partitioning"] = "hive"
        yield table.oid, _SERVER, [f"{name}={value}" for name, value in options.items()]


def _pg_extension(_context: SystemContext) -> Iterator[Row]:
    yield EXTENSION_OID, SLUICE, FIRST_ROLE, OURS[SLUICE], False, _VERSION, None, None


def _pg_init_privs(context: SystemContext) -> Iterator[Row]:
    shown = AclText(context.snapshot.roles, context.user)
    said = (
        ("pg_namespace", _NAMESPACE, "oid", None, "nspacl"),
        ("pg_class", _CLASS, "oid", None, "relacl"),
        ("pg_attribute", _CLASS, "attrelid", "attnum", "attacl"),
    )
    for name, catalog, oid, number, lists in said:
        rows = builtin_rows(name)
        rows = rows.filter(rows.column(lists).is_valid())
        numbers = [0] * rows.num_rows if number is None else rows.column(number).to_pylist()
        kept = shown.rename_owner(rows.column(lists)).to_pylist()
        for at, part, items in zip(rows.column(oid).to_pylist(), numbers, kept, strict=True):
            yield at, catalog, part, "i", items
    yield OURS[SLUICE], _NAMESPACE, 0, "e", shown(everybodys("n", acl.USAGE))
    for relation in ours(context):
        yield relation.oid, _CLASS, 0, "e", shown(everybodys("r", acl.SELECT))


SYSTEM: Final = (
    postgres("pg_extension", _pg_extension),
    postgres("pg_init_privs", _pg_init_privs),
    postgres("pg_foreign_data_wrapper", _pg_foreign_data_wrapper),
    postgres("pg_foreign_server", _pg_foreign_server),
    postgres("pg_foreign_table", _pg_foreign_table),
)

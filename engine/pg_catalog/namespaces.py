"""The OIDs of schemas: built-in ones, and those that users create."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from engine.catalog.snapshot import SLUICE, TEMPORARY, Snapshot
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.pg_catalog.declared import SystemContext

#: OIDs of our own schemas, among those that PostgreSQL reserves for itself and does not use.
OURS: Final = {TEMPORARY: 15_899, SLUICE: 15_900}


@cache
def _namespaces() -> Mapping[str, int]:
    """Return the built-in schemas."""
    return {**{row["nspname"]: row["oid"] for row in builtin_rows("pg_namespace").to_pylist()}, **OURS}


def is_system_schema(oid: int) -> bool:
    return oid in _namespaces().values()


def system_schemas() -> Mapping[str, int]:
    """Return the OIDs of the built-in schemas, by name."""
    return _namespaces()


def schema_oid(snapshot: Snapshot, name: str) -> int | None:
    """Return a schema's OID; None if there is no schema with that name."""
    stored = snapshot.schemas.get(name)
    return stored.oid if stored is not None else _namespaces().get(name)


def namespace(context: SystemContext, name: str) -> int:
    """Return the OID of an existing schema."""
    return _namespaces()[name] if name in _namespaces() else context.snapshot.schemas[name].oid

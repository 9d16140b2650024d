"""Resolves names and OIDs in one state of the catalog. Answers are values, and can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.catalog.authority import Authority
from engine.catalog.model.objects import Table, View
from engine.catalog.model.user_types import by_oid
from engine.common.identifiers import quote_ident
from engine.pg_catalog import PG_CATALOG, SystemCatalog, SystemContext
from engine.pg_catalog.declared import INFORMATION_SCHEMA
from engine.pg_catalog.namespaces import schema_oid
from engine.pg_catalog.row_types import is_row_type, relation_of, row_type, row_type_oid
from engine.statements.shared.names import oid_named, pg_type_named
from wire.types import pg_types as t


@dataclass(slots=True)
class CatalogNames:
    """See the module's docstring. authority: the privileges by which names are resolved. role: returns the OID of a
    role by its name. schemas: those that have been named so far.
    """

    context: SystemContext
    system: SystemCatalog
    authority: Authority
    role: Callable[[str], int | None]
    schemas: set[str] = field(default_factory=set)

    def system_schema(self, schema: str | None, name: str, search_path: tuple[str, ...]) -> str | None:
        """Return the schema of the system relation that a name stands for; None if it stands for a user's relation, or
        for none.
        """
        return self.system.schema_of(self._before_users(schema, name, search_path), name)

    def oid_of(self, schema: str | None, name: str, search_path: tuple[str, ...]) -> int | None:
        """Return the OID of a relation."""
        system = self.system.oid_of(self._before_users(schema, name, search_path), name)
        if system is not None:
            return system
        self.require_usage(schema)
        return oid_named(self.context.snapshot, schema, name, search_path)

    def schema_oid(self, name: str) -> int | None:
        """Return the OID of a schema."""
        return schema_oid(self.context.snapshot, name)

    def has_schema(self, name: str) -> bool:
        return name in (PG_CATALOG, INFORMATION_SCHEMA) or self.context.snapshot.has_schema(name)

    def role_oid(self, name: str) -> int | None:
        """Return the OID of a role."""
        return self.role(name)

    def owner(self, oid: int) -> int:
        """Return the OID of the role that owns a relation."""
        return self.context.snapshot.rights.of(oid).owner

    def type_named(self, schema: str | None, name: str, search_path: tuple[str, ...]) -> t.PgType | None:
        """Find a user-defined type by name."""
        return pg_type_named(self.context.snapshot, schema, name, search_path)

    def type_names(self, search_path: tuple[str, ...]) -> dict[int, str]:
        """Return the names of user-defined types and of their array types by OID, qualified as the search path
        requires.
        """
        snapshot, found = self.context.snapshot, {}
        for typ in snapshot.types.values():
            visible = typ.name not in t.BY_NAME and snapshot.type_named(None, typ.name, search_path) is typ
            name = quote_ident(typ.name) if visible else f"{quote_ident(typ.schema)}.{quote_ident(typ.name)}"
            found[typ.oid], found[typ.array] = name, f"{name}[]"
        return found

    def type_by_oid(self, oid: int) -> t.PgType | None:
        """Find a type by OID."""
        if not is_row_type(oid):
            return t.BY_OID.get(oid) or by_oid(self.context.snapshot.types).get(oid)
        relations = self.context.snapshot.relations.values()
        found = next((r for r in relations if isinstance(r, Table | View) and r.oid == relation_of(oid)), None)
        if found is None:
            return None
        return row_type(found) if oid == row_type_oid(found) else t.array_of(row_type(found))

    def require_usage(self, schema: str | None) -> None:
        """Record that a schema is named. Raises InsufficientPrivilege."""
        if schema is not None:
            self.schemas.add(schema)
            self.authority.require_usage(self.context.snapshot, schema)

    def _before_users(self, schema: str | None, name: str, search_path: Sequence[str]) -> Sequence[str]:
        """Return the schemas in which a system relation would be found before a user's relation of that name."""
        if schema is not None:
            return (schema,)
        users = self.context.snapshot.resolve(None, name, search_path)
        if users is None:
            return search_path
        return search_path[: search_path.index(users.schema)] if users.schema in search_path else ()

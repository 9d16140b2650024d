"""What every statement that defines something is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.catalog.objects import Constraint, Sequence, StoredRelation, Table
from engine.catalog.snapshot import SLUICE, TEMPORARY, Snapshot
from engine.catalog.system import PG_CATALOG
from engine.catalog.transaction import SessionCatalog
from engine.sequences import SessionSequences
from engine.sql.scope import BindContext, cursor
from engine.sql.statements import QualifiedName
from engine.utility.names import key_named
from wire.errors import (
    InsufficientPrivilege,
    InvalidSchemaName,
    InvalidTableDefinition,
    UndefinedTable,
    WrongObjectType,
)


@dataclass(frozen=True, slots=True)
class Definer:
    """A session's ground for definitions. notify: takes notices. context: a new one for each expression that is bound."""

    catalog: SessionCatalog
    search_path: tuple[str, ...]
    notify: Callable[[str], None]
    context: Callable[[], BindContext]
    sequences: SessionSequences

    @property
    def snapshot(self) -> Snapshot:
        return self.catalog.current()

    def resolve(self, name: QualifiedName) -> StoredRelation | None:
        return self.snapshot.resolve(name.schema, name.name, self.search_path)

    def index(self, name: QualifiedName) -> tuple[Table, Constraint] | None:
        """An index, which may be a key's, and its table."""
        schemas = (name.schema,) if name.schema is not None else (TEMPORARY, *self.search_path)
        return next((found for schema in schemas if (found := key_named(self.snapshot, schema, name.name))), None)

    def schema_of_new(self, name: QualifiedName, temporary: bool) -> str:
        """Where a new relation goes. Raises InvalidSchemaName, InvalidTableDefinition."""
        if temporary and name.schema not in (None, TEMPORARY):
            raise InvalidTableDefinition(
                "cannot create temporary relation in non-temporary schema", position=cursor(name.position)
            )
        if temporary or name.schema == TEMPORARY:
            return TEMPORARY
        if name.schema in (PG_CATALOG, SLUICE):
            raise InsufficientPrivilege(
                f'permission denied to create "{name}"', detail="System catalog modifications are currently disallowed."
            )
        try:
            return self.snapshot.creation_schema(name.schema, self.search_path)
        except InvalidSchemaName as error:
            error.position = cursor(name.position) if name.schema is not None else None
            raise

    def sequence(self, name: QualifiedName) -> Sequence:
        """Raises UndefinedTable, WrongObjectType."""
        found = self.resolve(name)
        if found is None:
            raise UndefinedTable(f'relation "{name}" does not exist')
        if not isinstance(found, Sequence):
            raise WrongObjectType(f'"{name.name}" is not a sequence')
        return found

    def table_of(self, oid: int) -> Table | None:
        return next((table for table in self.snapshot.tables() if table.oid == oid), None)

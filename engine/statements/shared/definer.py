"""The environment of DDL statements."""

from __future__ import annotations

from collections.abc import Callable

from engine.catalog.authority import Authority
from engine.catalog.model.objects import Constraint, Sequence, StoredRelation, Table, View, formulas_of
from engine.catalog.model.user_types import DomainType, UserType
from engine.catalog.snapshot import SLUICE, TEMPORARY, Snapshot
from engine.catalog.store.transaction import SessionCatalog
from engine.pg_catalog import PG_CATALOG
from engine.sql.binder.scope import BindContext
from engine.sql.deparse.stored_names import with_types_qualified
from engine.sql.parser.lexical.positions import cursor
from engine.sql.parser.nodes.statements import QualifiedName
from engine.statements.shared.names import key_named, pg_type_named
from engine.statements.shared.sequences import SessionSequences
from wire.dataclass import dataclass
from wire.errors import (
    InsufficientPrivilege,
    InvalidSchemaName,
    InvalidTableDefinition,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t


def _to_nobody(_message: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Definer:
    """The part of a session that DDL statements use. notify: sends a notice. debug: sends a message of a DEBUG level.
    context: makes a new one for each expression that is bound. authority: the privileges of the current role at the
    statement's beginning.
    """

    catalog: SessionCatalog
    search_path: tuple[str, ...]
    notify: Callable[[str], None]
    context: Callable[[], BindContext]
    sequences: SessionSequences
    authority: Authority
    debug: Callable[[str], None] = _to_nobody

    @property
    def snapshot(self) -> Snapshot:
        return self.catalog.current()

    def resolve(self, name: QualifiedName) -> StoredRelation | None:
        """Find a relation. Raises InsufficientPrivilege for a name in a schema without USAGE."""
        if name.schema is not None:
            self.authority.require_usage(self.snapshot, name.schema)
        return self.snapshot.resolve(name.schema, name.name, self.search_path)

    def user_type(self, schema: str | None, name: str) -> t.PgType | None:
        """Find a user-defined type for a new object, for `engine.sql.binder.type_names.resolve_type`.

        Raises InsufficientPrivilege.
        """
        found = pg_type_named(self.snapshot, schema, name, self.search_path)
        if found is not None:
            self.authority.require_type(found)
        return found

    def storage_text(self, text: str) -> str:
        """Return an expression as it is stored: its types have their schemas, since a later user may have another
        search path.
        """
        return with_types_qualified(text.strip(), self._schema_of_type)

    def _schema_of_type(self, name: str) -> str | None:
        found = None if name in t.BY_NAME else self.snapshot.type_named(None, name, self.search_path)
        return None if found is None else found.schema

    def type(self, name: QualifiedName) -> UserType:
        """Find a user-defined type. Raises UndefinedObject, and WrongObjectType for one of PostgreSQL's."""
        found = self.snapshot.type_named(name.schema, name.name, self.search_path)
        if found is not None:
            return found
        if name.schema in (None, PG_CATALOG) and name.name in t.BY_NAME:
            raise WrongObjectType(f"{t.format_type(t.BY_NAME[name.name])} is not an enum")
        raise UndefinedObject(f'type "{name}" does not exist')

    def domain(self, name: QualifiedName) -> DomainType:
        """Find a domain. Raises UndefinedObject, WrongObjectType."""
        found = self.snapshot.type_named(name.schema, name.name, self.search_path)
        if isinstance(found, DomainType):
            return found
        if found is not None or (name.schema in (None, PG_CATALOG) and name.name in t.BY_NAME):
            raise WrongObjectType(f"{t.format_type(t.BY_NAME[name.name]) if found is None else name} is not a domain")
        raise UndefinedObject(f'type "{name}" does not exist')

    @staticmethod
    def texts_of(relation: StoredRelation) -> tuple[str, ...]:
        """Return the SQL texts that are stored for a relation: a view's query, defaults and checks."""
        match relation:
            case View(definition=text) | Table(query=View(definition=text)):
                return (text,)
            case Table():
                defaults = tuple(column.default for column in relation.columns if column.default is not None)
                return (*defaults, *(text for c in relation.constraints for text in formulas_of(c)))
            case _:
                return ()

    def index(self, name: QualifiedName) -> tuple[Table, Constraint] | None:
        """Find an index, which may be that of a key, and its table."""
        schemas = (name.schema,) if name.schema is not None else (TEMPORARY, *self.search_path)
        return next((found for schema in schemas if (found := key_named(self.snapshot, schema, name.name))), None)

    def schema_of_new(self, name: QualifiedName, temporary: bool) -> str:
        """Return the schema of a new relation. Raises InvalidSchemaName, InvalidTableDefinition."""
        if temporary and name.schema not in (None, TEMPORARY):
            raise InvalidTableDefinition(
                "cannot create temporary relation in non-temporary schema", position=cursor(name.position)
            )
        if temporary or name.schema == TEMPORARY:
            self.authority.require_creation(self.snapshot, TEMPORARY)
            return TEMPORARY
        if name.schema in (PG_CATALOG, SLUICE):
            raise InsufficientPrivilege(
                f'permission denied to create "{name}"', detail="System catalog modifications are currently disallowed."
            )
        try:
            schema = self.snapshot.creation_schema(name.schema, self.search_path)
        except InvalidSchemaName as error:
            error.position = cursor(name.position) if name.schema is not None else None
            raise
        self.authority.require_creation(self.snapshot, schema)
        return schema

    def sequence(self, name: QualifiedName) -> Sequence:
        """Find a sequence. Raises UndefinedTable, WrongObjectType."""
        found = self.resolve(name)
        if found is None:
            raise UndefinedTable(f'relation "{name}" does not exist')
        if not isinstance(found, Sequence):
            raise WrongObjectType(f'"{name.name}" is not a sequence')
        return found

    def table_of(self, oid: int) -> Table | None:
        return next((table for table in self.snapshot.tables() if table.oid == oid), None)

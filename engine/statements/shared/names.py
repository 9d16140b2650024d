"""Names that PostgreSQL chooses for keys, checks and sequences (indexcmds.c: ChooseRelationName, makeObjectName).

The name of a key is also the name of its index, which is a relation, so no table or sequence of the schema may have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.catalog.model.objects import Constraint, Table, View
from engine.catalog.model.user_types import CompositeType, pg_of
from engine.catalog.snapshot import TEMPORARY, Snapshot
from engine.pg_catalog import PG_CATALOG
from engine.pg_catalog.row_types import row_type
from engine.sql.parser.lexical.lexer import NAME_BYTES_MAX
from wire.errors import DependentObjectsStillExist, InvalidSchemaName
from wire.types import pg_types as t


def require_schema(name: str | None, snapshot: Snapshot) -> None:
    """Require that the schema of a qualified name exists. Raises InvalidSchemaName."""
    if name is not None and name != PG_CATALOG and not snapshot.has_schema(name):
        raise InvalidSchemaName(f'schema "{name}" does not exist')


def required_by_system(what: str) -> DependentObjectsStillExist:
    """Return the error for dropping one of PostgreSQL's own."""
    return DependentObjectsStillExist(f"cannot drop {what} because it is required by the database system")


def object_name(first: str, second: str, label: str) -> str:
    """Return `first_second_label`; if it is too long, the longer of the first two is truncated."""
    one, two = first.encode(), second.encode()
    available = NAME_BYTES_MAX - len(label) - 1 - (1 if two else 0)
    while len(one) + len(two) > available:
        if len(one) > len(two):
            one = one[:-1]
        else:
            two = two[:-1]
    parts = (one.decode(errors="ignore"), two.decode(errors="ignore"), label)
    return "_".join(part for part in parts if part)


class Names:
    """The names of one schema, including those that a statement is about to use."""

    def __init__(self, snapshot: Snapshot, schema: str) -> None:
        self._relations = {name for where, name in snapshot.relations if where == schema}
        self._constraints: set[str] = set()
        for table in snapshot.tables():
            if table.schema == schema:
                self._constraints |= {constraint.name for constraint in table.constraints if not constraint.is_index}
                self._relations |= {constraint.name for constraint in keys(table.constraints)}

    def has_relation(self, name: str) -> bool:
        return name in self._relations

    def relation(self, first: str, second: str, label: str) -> str:
        """Choose a name for a relation that no relation or constraint has; it is taken from now on."""
        name = self.free(first, second, label, self._relations | self._constraints)
        self._relations.add(name)
        return name

    def constraint(self, first: str, second: str, label: str) -> str:
        """Choose a name for a check that no other constraint has; it is taken from now on."""
        name = self.free(first, second, label, self._constraints)
        self._constraints.add(name)
        return name

    def take(self, constraint: str, *, key: bool) -> None:
        """Take a name that the statement gives."""
        self._constraints.add(constraint)
        if key:
            self._relations.add(constraint)

    @staticmethod
    def free(first: str, second: str, label: str, taken: set[str]) -> str:
        candidates = _numbered_names(first, second, label)
        return next(name for name in candidates if name not in taken)


def _numbered_names(first: str, second: str, label: str) -> Iterator[str]:
    yield object_name(first, second, label)
    number = 1
    while True:
        yield object_name(first, second, f"{label}{number}")
        number += 1


def keys(constraints: Sequence[Constraint]) -> Iterator[Constraint]:
    """Yield the indexes, and the constraints for which PostgreSQL has an index."""
    return (constraint for constraint in constraints if constraint.is_key or constraint.is_index)


def key_named(snapshot: Snapshot, schema: str, name: str) -> tuple[Table, Constraint] | None:
    """Find an index by name in a schema. It may be that of a key."""
    for table in snapshot.tables():
        if table.schema == schema:
            for constraint in keys(table.constraints):
                if constraint.name == name:
                    return table, constraint
    return None


def oid_named(snapshot: Snapshot, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
    """Return the OID of the object with a relation's name: a table, a view, a sequence, an index or a composite type."""
    path = (schema,) if schema is not None else (TEMPORARY, *search_path)
    for candidate in path:
        if (found := snapshot.relations.get((candidate, name))) is not None:
            return found.oid
        if (key := key_named(snapshot, candidate, name)) is not None:
            return key[1].oid
        if isinstance(composite := snapshot.types.get((candidate, name)), CompositeType):
            return composite.relation
    return None


def pg_type_named(snapshot: Snapshot, schema: str | None, name: str, search_path: Sequence[str]) -> t.PgType | None:
    """Find a user-defined type, or the type of a relation's rows. An array type is named `_name`."""
    if (found := snapshot.type_named(schema, name, search_path)) is not None:
        return pg_of(found, snapshot.types)
    if (relation := snapshot.resolve(schema, name, search_path)) is not None:
        return row_type(relation) if isinstance(relation, Table | View) else None
    element = pg_type_named(snapshot, schema, name[1:], search_path) if name.startswith("_") else None
    return None if element is None else t.array_of(element)

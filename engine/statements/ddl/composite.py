"""CREATE TYPE ... AS (attributes), and ALTER TYPE of composite types. No file is touched: an attribute's number
identifies its field in the stored structs (`wire.types.pg_types.Attribute.field`), and a field that a file lacks is
null.

As in PostgreSQL, an attribute's type cannot change while a table has a column of the composite type. Unlike in
PostgreSQL, while there is such a column, the type must keep at least one of the attributes that it had before the
statement, because files know only those.

Source: PostgreSQL 15, typecmds.c (DefineCompositeType), tablecmds.c (ATExecAddColumn, ATExecDropColumn, renameatt).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.catalog.model.objects import StoredRelation, Table, TableColumn, View
from engine.catalog.model.user_types import Attribute, CompositeType, UserType, type_of
from engine.catalog.snapshot import Snapshot
from engine.pg_catalog.row_types import is_row_type
from engine.sql.binder.definitions import without_position
from engine.sql.binder.domains import is_constrained
from engine.sql.binder.type_names import domain_named, resolve_type
from engine.sql.deparse.stored_names import names_type
from engine.sql.parser.nodes.statements import (
    AddAttribute,
    AlterAttribute,
    AttributeAction,
    AttributeDefinition,
    CreateComposite,
    DropAttribute,
    RenameAttribute,
)
from engine.statements.ddl.named_types import schema_of_new_type
from engine.statements.shared.definer import Definer
from wire.errors import (
    DuplicateColumn,
    FeatureNotSupported,
    InvalidTableDefinition,
    UndefinedColumn,
    WrongObjectType,
)
from wire.types import pg_types as t


def create_composite(statement: CreateComposite, definer: Definer) -> None:
    """Create a composite type. Raises DuplicateObject, DuplicateColumn, InvalidTableDefinition, and the errors of the
    attributes' types.
    """
    name, catalog = statement.name, definer.catalog
    schema = schema_of_new_type(name, definer)
    made: list[Attribute] = []
    for written in statement.attributes:
        if any(item.name == written.name for item in made):
            raise DuplicateColumn(f'column "{written.name}" specified more than once')
        with without_position():
            made.append(_attribute(written, len(made) + 1, definer))
    oids = (catalog.objects.new_oid(), catalog.objects.new_oid(), catalog.objects.new_oid())
    catalog.objects.put_type(CompositeType(*oids, schema, name.name, tuple(made), len(made)))


def _attribute(written: AttributeDefinition, number: int, definer: Definer) -> Attribute:
    typ = resolve_type(written.type, definer.notify, definer.user_type)
    if typ.pg.category == "P" or (typ.pg.is_array and t.element_of(typ.pg).category == "P"):
        raise InvalidTableDefinition(f'column "{written.name}" has pseudo-type {typ.pg.sql_name}')
    domain = domain_named(written.type, definer.user_type)
    if domain is not None and is_constrained(domain):
        raise FeatureNotSupported(f"not supported: an attribute of domain {domain.sql_name}, which has constraints")
    declared = domain or typ.pg
    if is_row_type(declared.oid):
        raise FeatureNotSupported(f"not supported: an attribute of the row type {declared.sql_name}")
    return Attribute(written.name, declared.oid, -1 if domain is not None else typ.typmod, number)


def rename_attribute(typ: CompositeType, action: RenameAttribute, definer: Definer) -> None:
    """Rename an attribute of a composite type. Raises UndefinedColumn, DuplicateColumn."""
    if not any(item.name == action.name for item in typ.attributes):
        raise UndefinedColumn(f'column "{action.name}" does not exist')
    if any(item.name == action.to for item in typ.attributes):
        raise DuplicateColumn(f'column "{action.to}" of relation "{typ.name}" already exists')
    _require_unsaid(typ, definer)
    renamed = (replace(item, name=action.to) if item.name == action.name else item for item in typ.attributes)
    definer.catalog.objects.put_type(replace(typ, attributes=tuple(renamed)), typ)


def alter_attributes(typ: CompositeType, actions: tuple[AttributeAction, ...], definer: Definer) -> None:
    """Add, drop and alter attributes of a composite type. Raises UndefinedColumn, DuplicateColumn, FeatureNotSupported."""
    for action in actions:
        _require_unsaid(typ, definer, with_views=not isinstance(action, AddAttribute))
    changed = typ
    for action in actions:
        match action:
            case AddAttribute(attribute=written):
                changed = _with_attribute(changed, written, definer)
            case DropAttribute():
                changed = _without_attribute(changed, action, definer)
            case AlterAttribute(attribute=written):
                changed = _retype_attribute(changed, written, definer)
    if any(True for _ in columns_of(typ, definer.snapshot)) and not _keeps_one(typ, changed):
        raise FeatureNotSupported(
            f"not supported: a column of type {typ.name} without any attribute that its table knows"
        )
    if changed != typ:
        definer.catalog.objects.put_type(changed, typ)


def _keeps_one(before: CompositeType, after: CompositeType) -> bool:
    return not {item.number for item in before.attributes}.isdisjoint(item.number for item in after.attributes)


def _with_attribute(typ: CompositeType, written: AttributeDefinition, definer: Definer) -> CompositeType:
    if any(item.name == written.name for item in typ.attributes):
        raise DuplicateColumn(f'column "{written.name}" of relation "{typ.name}" already exists')
    made = _attribute(written, typ.last + 1, definer)
    if made.type in _within(typ, definer.snapshot):
        raise InvalidTableDefinition(f"composite type {typ.name} cannot be made a member of itself")
    return replace(typ, attributes=(*typ.attributes, made), last=made.number)


def _within(typ: CompositeType, snapshot: Snapshot) -> set[int]:
    """Return the OIDs of a type, of arrays of it, and of all types that contain one of them."""
    found = {typ.oid, typ.array}
    while True:
        more = {
            oid
            for other in snapshot.types.values()
            if isinstance(other, CompositeType) and any(item.type in found for item in other.attributes)
            for oid in (other.oid, other.array)
        }
        if more <= found:
            return found
        found |= more


def _without_attribute(typ: CompositeType, action: DropAttribute, definer: Definer) -> CompositeType:
    if not any(item.name == action.name for item in typ.attributes):
        missing = f'column "{action.name}" of relation "{typ.name}" does not exist'
        if not action.if_exists:
            raise UndefinedColumn(missing)
        definer.notify(f"{missing}, skipping")
    return replace(typ, attributes=tuple(item for item in typ.attributes if item.name != action.name))


def _retype_attribute(typ: CompositeType, written: AttributeDefinition, definer: Definer) -> CompositeType:
    old = next((item for item in typ.attributes if item.name == written.name), None)
    if old is None:
        raise UndefinedColumn(f'column "{written.name}" of relation "{typ.name}" does not exist')
    # Columns of the array type come first, because the array type is older than the columns.
    users = sorted(columns_of(typ, definer.snapshot), key=lambda user: not user[1].declared_type.is_array)
    for relation, column in users[:1]:
        raise FeatureNotSupported(
            f'cannot alter type "{typ.name}" because column "{relation.name}.{column.name}" uses it'
        )
    made = _attribute(written, old.number, definer)
    if made.type in _within(typ, definer.snapshot):
        raise InvalidTableDefinition(f"composite type {typ.name} cannot be made a member of itself")
    kept = replace(made, comment=old.comment)
    return replace(typ, attributes=tuple(kept if item is old else item for item in typ.attributes))


def columns_of(typ: UserType, snapshot: Snapshot) -> Iterator[tuple[Table, TableColumn]]:
    """Yield the columns of tables whose values contain values of the type."""
    of = type_of(snapshot.types)
    for table in snapshot.tables():
        for column in table.columns:
            if column.declared_type.oid not in t.BY_OID and typ.oid in _inside(of(column.declared_type.oid)):
                yield table, column


def _inside(typ: t.PgType) -> Iterator[int]:
    yield typ.oid
    if typ.element_type is not None:
        yield from _inside(typ.element_type)
    for item in typ.attributes:
        yield from _inside(item.type)


def _require_unsaid(typ: CompositeType, definer: Definer, *, with_views: bool = True) -> None:
    """Refuse a change if a stored definition uses the type, because stored texts contain the names of attributes, or
    depend on their number. with_views: also refuse it if no text names the type, but a view reads a column of it, or
    has one.
    """

    for relation in definer.snapshot.relations.values():
        said = any(names_type(text, typ.name) for text in definer.texts_of(relation))
        if said or (with_views and _shows(relation, typ, definer)):
            raise FeatureNotSupported(
                f'not supported: a change of type "{typ.name}", which a definition of "{relation.name}" uses'
            )


def _shows(relation: StoredRelation, typ: CompositeType, definer: Definer) -> bool:
    view = relation.query if isinstance(relation, Table) else relation
    if not isinstance(view, View):
        return False
    tables = {table.oid for table, _ in columns_of(typ, definer.snapshot)}
    own = any(typ.oid in _inside(column.declared_type) for column in view.columns)
    return own or not tables.isdisjoint(view.depends)


def composite(typ: UserType) -> CompositeType:
    """Return the type as a composite type. Raises WrongObjectType for another one."""
    if not isinstance(typ, CompositeType):
        raise WrongObjectType(f"{typ.name} is not a composite type")
    return typ

"""COMMENT ON. An empty text removes the comment (comment.c: CreateComments)."""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.objects import Sequence, StoredRelation, Table
from engine.catalog.model.user_types import CompositeType, DomainType
from engine.sql.parser.nodes.statements import Comment, QualifiedName
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import kind_of
from engine.statements.shared.names import require_schema
from wire.errors import (
    InsufficientPrivilege,
    InvalidSchemaName,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)


def comment(statement: Comment, definer: Definer) -> None:
    """Run COMMENT ON. Raises UndefinedTable, UndefinedColumn, UndefinedObject, InvalidSchemaName, WrongObjectType."""
    text = statement.comment or None
    match statement.kind:
        case "schema":
            _on_schema(statement, text, definer)
        case "column":
            _on_column(statement, text, definer)
        case "constraint":
            _on_constraint(statement.part, _relation(statement, definer), text, definer)
        case "domain constraint":
            _on_domain_constraint(statement, text, definer)
        case "index":
            _on_index(statement.name, text, definer)
        case "type" | "domain":
            typ = definer.type(statement.name) if statement.kind == "type" else _domain(statement.name, definer)
            definer.authority.require_owner(typ, "type")
            definer.catalog.objects.put_type(replace(typ, comment=text), typ)
        case _:
            relation = _relation(statement, definer)
            if kind_of(relation) != statement.kind:
                raise WrongObjectType(f'"{relation.name}" is not a {statement.kind}')
            definer.authority.require_owner(relation, kind_of(relation))
            definer.catalog.objects.put(replace(relation, comment=text), replacing=True)


def _relation(statement: Comment, definer: Definer) -> StoredRelation:
    found = definer.resolve(statement.name)
    if found is not None:
        return found
    require_schema(statement.name.schema, definer.snapshot)
    raise UndefinedTable(f'relation "{statement.name}" does not exist')


def _on_schema(statement: Comment, text: str | None, definer: Definer) -> None:
    schema = definer.snapshot.schemas.get(statement.name.name)
    if schema is None:
        raise InvalidSchemaName(f'schema "{statement.name.name}" does not exist')
    definer.authority.require_schema_owner(schema.oid, schema.name)
    definer.catalog.objects.put_schema(replace(schema, comment=text), replacing=True)


def _on_attribute(typ: CompositeType, name: str, text: str | None, definer: Definer) -> None:
    if all(item.name != name for item in typ.attributes):
        raise UndefinedColumn(f'column "{name}" of relation "{typ.name}" does not exist')
    if not definer.authority.owns(typ):
        raise InsufficientPrivilege(f"must be owner of relation {typ.name}")
    attributes = tuple(replace(item, comment=text) if item.name == name else item for item in typ.attributes)
    definer.catalog.objects.put_type(replace(typ, attributes=attributes), typ)


def _on_column(statement: Comment, text: str | None, definer: Definer) -> None:
    name = statement.name
    if definer.resolve(name) is None:
        typ = definer.snapshot.type_named(name.schema, name.name, definer.search_path)
        if isinstance(typ, CompositeType):
            _on_attribute(typ, statement.part, text, definer)
            return
    relation = _relation(statement, definer)
    if isinstance(relation, Sequence):
        raise WrongObjectType(
            f'cannot set comment on relation "{relation.name}"',
            detail="This operation is not supported for sequences.",
        )
    if all(column.name != statement.part for column in relation.columns):
        raise UndefinedColumn(f'column "{statement.part}" of relation "{statement.name}" does not exist')
    definer.authority.require_owner(relation, "relation")
    columns = tuple(replace(c, comment=text) if c.name == statement.part else c for c in relation.columns)
    definer.catalog.objects.put(replace(relation, columns=columns), replacing=True)


def _on_constraint(name: str, relation: StoredRelation, text: str | None, definer: Definer) -> None:
    there = relation.constraints if isinstance(relation, Table) else ()
    if not isinstance(relation, Table) or all(c.name != name or c.is_index for c in there):
        raise UndefinedObject(f'constraint "{name}" for table "{relation.name}" does not exist')
    definer.authority.require_owner(relation, "relation")
    constraints = tuple(replace(c, comment=text) if c.name == name and not c.is_index else c for c in there)
    definer.catalog.objects.put(replace(relation, constraints=constraints), replacing=True)


def _domain(name: QualifiedName, definer: Definer) -> DomainType:
    found = definer.snapshot.type_named(name.schema, name.name, definer.search_path)
    if found is not None and not isinstance(found, DomainType):
        raise WrongObjectType(f'"{name}" is not a domain')
    return definer.domain(name)


def _on_domain_constraint(statement: Comment, text: str | None, definer: Definer) -> None:
    domain, name = _domain(statement.name, definer), statement.part
    if all(check.name != name for check in domain.checks):
        raise UndefinedObject(f'constraint "{name}" for domain {domain.name} does not exist')
    definer.authority.require_owner(domain, "type")
    checks = tuple(replace(check, comment=text) if check.name == name else check for check in domain.checks)
    definer.catalog.objects.put_type(replace(domain, checks=checks), domain)


def _on_index(name: QualifiedName, text: str | None, definer: Definer) -> None:
    found = definer.index(name)
    if found is not None:
        table, index = found
        definer.authority.require_owner(replace(table, name=index.name), "index")
        told = replace(index, comment=text) if index.is_index else replace(index, index_comment=text)
        constraints = tuple(told if c is index else c for c in table.constraints)
        definer.catalog.objects.put(replace(table, constraints=constraints), replacing=True)
        return
    if definer.resolve(name) is not None:
        raise WrongObjectType(f'"{name.name}" is not an index')
    raise UndefinedTable(f'relation "{name}" does not exist')

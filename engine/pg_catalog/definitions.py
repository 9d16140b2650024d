"""pg_catalog rows for parts of tables other than columns: defaults, constraints, keys, sequences, comments.

Expressions are shown as they were written, where PostgreSQL shows its own deparsed form (`'x'` for `'x'::text`). The
results of pg_get_constraintdef and its kin are in `sluice.object_definitions`, which those functions read
(`engine.sql.binder.inlined`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from engine.catalog.model.objects import Constraint, References, Schema, Sequence, StoredRelation, Table, View
from engine.catalog.model.user_types import CompositeType, DomainCheck, DomainType, UserType
from engine.catalog.snapshot import PUBLIC, SLUICE
from engine.common.identifiers import quote_ident
from engine.pg_catalog.access_methods import OperatorClass, class_name, default_class, part_type
from engine.pg_catalog.declared import Row, SystemContext, SystemRelation, postgres
from engine.pg_catalog.dependencies import defined_by, named_key, named_table
from engine.pg_catalog.namespaces import namespace
from engine.pg_catalog.relations import keys
from engine.pg_catalog.stored_expression_names import MarkedNames
from engine.pg_catalog.types import collation
from engine.sql.deparse.stored_names import mark_of_relation
from engine.sql.deparse.stored_text import with_value
from engine.sql.deparse.updatable_views import updatable_columns
from wire.types import pg_types as t

PG_TYPE: Final = 1247
PG_CLASS: Final = 1259
PG_NAMESPACE: Final = 2615
PG_CONSTRAINT: Final = 2606
_KINDS: Final = {"check": "c", "primary key": "p", "unique": "u", "foreign key": "f"}
_DEFERRABLE: Final = {"": "", "immediate": " DEFERRABLE", "deferred": " DEFERRABLE INITIALLY DEFERRED"}
_ACTIONS: Final = {"no action": "a", "restrict": "r", "cascade": "c", "set null": "n", "set default": "d"}


#: UPDATE, INSERT and DELETE, by nodes.h's CmdType.
_DELETE: Final = 1 << 4
_CHANGES: Final = 1 << 2 | 1 << 3 | _DELETE

#: The text of a column's order in pg_get_indexdef, by pg_index.indoption.
_ORDERS: Final = ("", " DESC NULLS LAST", " NULLS FIRST", " DESC")


def _tables(context: SystemContext) -> Iterator[Table]:
    return context.snapshot.tables()


def _pg_attrdef(context: SystemContext) -> Iterator[Row]:
    names = MarkedNames(context.snapshot)
    for table in _tables(context):
        for column in table.columns:
            if column.default is not None and not column.identity:
                yield table.oid * 10_000 + column.number, table.oid, column.number, names.expression(column.default)


def _pg_constraint(context: SystemContext) -> Iterator[Row]:
    names = MarkedNames(context.snapshot)
    for table in _tables(context):
        numbers = {column.name: column.number for column in table.columns}
        for c in (c for c in table.constraints if not c.is_index):
            there, key = _referenced_key(context, c)
            update, delete, match = (" ", " ", " ")
            if c.references is not None:
                update, delete = _ACTIONS[c.references.on_update], _ACTIONS[c.references.on_delete]
                match = "f" if c.references.full else "s"
            yield (
                c.oid, c.name, namespace(context, table.schema), _KINDS[c.kind],
                bool(c.deferrable), c.deferrable == "deferred", c.valid, table.oid, 0,
                c.oid if c.is_key else key, 0, there, update, delete, match, True, 0, c.kind != "check",
                [numbers[name] for name in c.columns], list(c.references.columns) if c.references is not None else None,
                None, None, None, _set_columns(c), None, names.expression(c.expression) if c.expression else None,
            )  # fmt: skip
    for typ in context.snapshot.types.values():
        for check in typ.checks if isinstance(typ, DomainType) else ():
            yield (
                check.oid, check.name, namespace(context, typ.schema), "c", False, False, check.valid, 0, typ.oid, 0, 0, 0, " ",
                " ", " ", True, 0, False, None, None, None, None, None, None, None, names.expression(check.expression),
            )  # fmt: skip


def _set_columns(constraint: Constraint) -> list[int] | None:
    return list(constraint.references.delete_columns) or None if constraint.references is not None else None


def _referenced_key(context: SystemContext, constraint: Constraint) -> tuple[int, int]:
    """Return the OIDs of the table that a foreign key references and of the index of its key; zeros for other
    constraints.
    """
    if constraint.references is None:
        return 0, 0
    return constraint.references.table, named_key(context, constraint.references)


def _pg_index(context: SystemContext) -> Iterator[Row]:
    names = MarkedNames(context.snapshot)
    for table in _tables(context):
        numbers = {column.name: column.number for column in table.columns}
        for key in map(names.index, keys(table.constraints)):
            count, primary = len(key.key_parts), key.kind == "primary key"
            typed = [part_type(table, part) for part in key.key_parts]
            expressions = _join_names(part.text for part in key.parts if part.formula)
            yield (
                key.oid, table.oid, count + len(key.included), count, key.is_key, key.nulls_not_distinct, primary, False,
                not key.deferrable, False, True, False, True, True, False,
                [0 if part.formula else numbers[part.name] for part in key.key_parts] + [numbers[name] for name in key.included],
                list(map(collation, typed)), _classes(key, typed), list(key.options) or [0] * count,
                expressions or None, None if key.predicate is None else key.predicate.text,
            )  # fmt: skip


def _default(key: Constraint, typ: t.PgType) -> OperatorClass | None:
    return default_class(key.method, typ)


def _classes(key: Constraint, typed: Iterable[t.PgType]) -> list[int]:
    """Return the operator classes of a key's parts."""
    return list(key.classes) or [found.oid for typ in typed if (found := _default(key, typ)) is not None]


def _pg_sequence(context: SystemContext) -> Iterator[Row]:
    for s in context.snapshot.relations.values():
        if isinstance(s, Sequence):
            yield s.oid, s.type.pg.oid, s.start, s.increment, s.maximum, s.minimum, s.cache, s.cycle


def _counters(context: SystemContext) -> Iterator[Row]:
    """Yield the last value of each sequence. It is null if the sequence has not been used yet, or if the role has
    neither the SELECT nor the USAGE privilege on it (sequence.c, pg_sequence_last_value).
    """
    for s in context.snapshot.relations.values():
        if isinstance(s, Sequence):
            at = context.counted(s) if context.authority.may_read_or_use(s) else None
            yield s.oid, at.value if at is not None and at.called else None


def _pg_description(context: SystemContext) -> Iterator[Row]:
    for relation in context.snapshot.relations.values():
        yield from _comment_rows(relation)
    for schema in context.snapshot.schemas.values():
        yield from _comment(schema, PG_NAMESPACE)
    for typ in context.snapshot.types.values():
        yield from _comment(typ, PG_TYPE)
        match typ:
            case CompositeType():
                for item in (item for item in typ.attributes if item.comment is not None):
                    yield typ.relation, PG_CLASS, item.number, item.comment
            case DomainType():
                for check in typ.checks:
                    yield from _comment(check, PG_CONSTRAINT)
            case _:
                pass


def _comment_rows(relation: StoredRelation) -> Iterator[Row]:
    yield from _comment(relation, PG_CLASS)
    if isinstance(relation, (Table, View)):
        for column in relation.columns:
            if column.comment is not None:
                yield relation.oid, PG_CLASS, column.number, column.comment
    if isinstance(relation, Table):
        for constraint in relation.constraints:
            # A key and its index have one OID; a client that looks up a comment by OID alone, without a catalog's name,
            # means the relation.
            if constraint.index_comment is not None:
                yield constraint.oid, PG_CLASS, 0, constraint.index_comment
            yield from _comment(constraint, PG_CLASS if constraint.is_index else PG_CONSTRAINT)


def _comment(of: StoredRelation | Schema | Constraint | UserType | DomainCheck, catalog: int) -> Iterator[Row]:
    if of.comment is not None:
        yield of.oid, catalog, 0, of.comment


def _object_definitions(context: SystemContext) -> Iterator[Row]:
    """Yield the definitions of objects. number: of an index's column, 0 for the whole definition. pretty: with as few
    parentheses as possible. PostgreSQL's own objects come first, including functions with their arguments and results.
    """
    names = MarkedNames(context.snapshot)
    for table in _tables(context):
        for column in (c for c in table.columns if c.default is not None and not c.identity):
            said = names.expression(column.default or "")
            if said != _bare(said):
                yield "expression", table.oid, 0, said, _bare(said)
        for constraint in (c for c in table.constraints if not c.is_index):
            if constraint.kind == "check":
                said, valid = names.expression(constraint.expression), _not_valid(constraint)
                yield "constraint", constraint.oid, 0, f"CHECK ({said}){valid}", f"CHECK ({_bare(said)}){valid}"
                continue
            whole = _constraint_definition(context, table, constraint)
            yield "constraint", constraint.oid, 0, whole, whole
        for key in keys(table.constraints):
            yield from _index_definitions(table, names.index(key))
    for typ in context.snapshot.types.values():
        for domain_check in typ.checks if isinstance(typ, DomainType) else ():
            said = names.expression(with_value(domain_check.expression))
            valid = _not_valid(domain_check)
            yield "constraint", domain_check.oid, 0, f"CHECK ({said}){valid}", f"CHECK ({_bare(said)}){valid}"
    for relation in context.snapshot.relations.values():
        query = defined_by(relation)
        if query is not None:
            text = f" {names.query(query)};"
            yield "view", relation.oid, 0, text, text


def _bare(said: str) -> str:
    """Return an expression without the parentheses around the whole."""
    return said[1:-1] if said.startswith("(") else said


def _index_definitions(table: Table, key: Constraint) -> Iterator[Row]:
    plain, pretty = _index_parts(key, pretty=False), _index_parts(key, pretty=True)
    called = _called_classes(table, key)
    name = quote_ident(table.name)
    qualified = f"{quote_ident(table.schema)}.{name}"
    whole = _whole_index(key, qualified, plain, called, pretty=False)
    yield (
        "index",
        key.oid,
        0,
        whole,
        _whole_index(key, name if table.schema == PUBLIC else qualified, pretty, called, pretty=True),
    )
    if key.predicate is not None:
        yield "expression", table.oid, 0, key.predicate.text, key.predicate.pretty
    formulas = [part for part in key.parts if part.formula]
    if formulas:
        yield "expression", table.oid, 0, _join_names(p.text for p in formulas), _join_names(p.pretty for p in formulas)
    for number, texts in enumerate(zip(plain, pretty, strict=True), 1):
        yield "index", key.oid, number, *texts


def _join_names(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _index_parts(key: Constraint, *, pretty: bool) -> list[str]:
    parts = [part.render(pretty=pretty) if part.formula else quote_ident(part.name) for part in key.key_parts]
    return [*parts, *map(quote_ident, key.included)]


def _called_classes(table: Table, key: Constraint) -> list[str]:
    """Return the names of the operator classes of a key's parts; the default class of a type is not named."""
    if not key.classes:
        return [""] * len(key.key_parts)
    typed = (part_type(table, part) for part in key.key_parts)
    pairs = zip(key.classes, (_default(key, typ) for typ in typed), strict=True)
    return ["" if default is not None and own == default.oid else f" {class_name(own)}" for own, default in pairs]


def _whole_index(key: Constraint, on: str, indexed: list[str], classes: list[str], *, pretty: bool) -> str:
    options = key.options or [0] * len(key.key_parts)
    parts = zip(indexed, classes, options, strict=False)
    ordered = ", ".join(part + called + _ORDERS[option] for part, called, option in parts)
    unique = "UNIQUE " if key.is_key else ""
    text = f"CREATE {unique}INDEX {quote_ident(key.name)} ON {on} USING {key.method} ({ordered}){_include_clause(key)}"
    text += " NULLS NOT DISTINCT" if key.nulls_not_distinct else ""
    if key.predicate is None:
        return text
    return f"{text} WHERE {key.predicate.pretty if pretty else key.predicate.text}"


def _include_clause(key: Constraint) -> str:
    return f" INCLUDE ({', '.join(map(quote_ident, key.included))})" if key.included else ""


def _constraint_definition(context: SystemContext, table: Table, constraint: Constraint) -> str:
    """Render a constraint as pg_get_constraintdef does: `PRIMARY KEY (a)`, `FOREIGN KEY (a) REFERENCES t(b)`."""
    alike = " NULLS NOT DISTINCT" if constraint.nulls_not_distinct else ""
    said = f"{constraint.kind.upper()}{alike} ({', '.join(map(quote_ident, constraint.columns))})" + _include_clause(
        constraint
    )
    said += "" if constraint.references is None else _references(context, table, constraint.references)
    return said + _DEFERRABLE[constraint.deferrable] + _not_valid(constraint)


def _not_valid(constraint: Constraint | DomainCheck) -> str:
    return "" if constraint.valid else " NOT VALID"


def _references(context: SystemContext, of: Table, said: References) -> str:
    """Return the REFERENCES part of a foreign key. of: the table that has the constraint."""
    table = named_table(context, said)
    called = {column.number: column.name for column in table.columns}
    text = f" REFERENCES {mark_of_relation(table.oid)}({', '.join(quote_ident(called[n]) for n in said.columns)})"
    text += " MATCH FULL" if said.full else ""
    for event, action in (("UPDATE", said.on_update), ("DELETE", said.on_delete)):
        text += "" if action == "no action" else f" ON {event} {action.upper()}"
    if said.delete_columns:
        mine = {column.number: column.name for column in of.columns}
        text += f" ({', '.join(quote_ident(mine[n]) for n in said.delete_columns)})"
    return text


def _updatable_views(context: SystemContext) -> Iterator[Row]:
    """Yield pg_relation_is_updatable's result for each view: bits of 1 << CmdType, and the columns that take values."""
    relations = {relation.oid: relation for relation in context.snapshot.relations.values()}
    for relation in relations.values():
        columns = updatable_columns(relation, relations.get) if isinstance(relation, View) else None
        if columns is not None:
            yield relation.oid, _CHANGES if columns else _DELETE, sorted(columns)


SYSTEM: Final = (
    SystemRelation(15_909, "updatable_views", "oid oid, events int4, columns int2[]", _updatable_views, schema=SLUICE),
    postgres("pg_attrdef", _pg_attrdef),
    postgres("pg_constraint", _pg_constraint, stored=True),
    postgres("pg_index", _pg_index, stored=True),
    postgres("pg_sequence", _pg_sequence),
    SystemRelation(15_907, "counters", "oid oid, last_value int8", _counters, volatile=True, schema=SLUICE),
    postgres("pg_description", _pg_description, stored=True),
    SystemRelation(
        15_904,
        "object_definitions",
        "kind text, oid oid, number int4, definition text, pretty text",
        _object_definitions,
        schema=SLUICE,
        stored=True,
    ),
)

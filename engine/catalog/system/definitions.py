"""What is said of tables beside their columns: defaults, constraints, keys, sequences, comments.

Expressions are shown as they were written, where PostgreSQL shows its own reading of them (`'x'` for `'x'::text`). What
pg_get_constraintdef and its kin say is in `sluice.object_definitions`, which those functions read (`engine.sql.binder.inlined`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from engine.catalog.builtin import rows as builtin_rows
from engine.catalog.objects import Constraint, References, Schema, Sequence, StoredRelation, Table, View
from engine.catalog.snapshot import PUBLIC, SLUICE, Snapshot
from engine.catalog.system.declared import Row, SystemContext, SystemRelation, postgres
from engine.catalog.system.dependencies import defined_by
from engine.catalog.system.relations import keys, namespace
from engine.catalog.system.types import collation
from engine.catalog.user_types import DomainType
from engine.sql.stored_text import quoted, shown, with_value
from wire import types as t

PG_CLASS: Final = 1259
PG_NAMESPACE: Final = 2615
PG_CONSTRAINT: Final = 2606
_KINDS: Final = {"check": "c", "primary key": "p", "unique": "u", "foreign key": "f"}
_DEFERRABLE: Final = {"": "", "immediate": " DEFERRABLE", "deferred": " DEFERRABLE INITIALLY DEFERRED"}
_ACTIONS: Final = {"no action": "a", "restrict": "r", "cascade": "c", "set null": "n", "set default": "d"}


#: How pg_get_indexdef tells a column's order, by pg_index.indoption.
_ORDERS: Final = ("", " DESC NULLS LAST", " NULLS FIRST", " DESC")


def _tables(context: SystemContext) -> Iterator[Table]:
    return context.snapshot.tables()


def _sequence_names(snapshot: Snapshot) -> Mapping[int, str]:
    """By OID, as regclass shows them to somebody whose path is the default."""
    found = {}
    for relation in snapshot.relations.values():
        if isinstance(relation, Sequence):
            schema = "" if relation.schema == PUBLIC else quoted(relation.schema) + "."
            found[relation.oid] = schema + quoted(relation.name)
    return found


def _pg_attrdef(context: SystemContext) -> Iterator[Row]:
    names = _sequence_names(context.snapshot)
    for table in _tables(context):
        for column in table.columns:
            if column.default is not None and not column.identity:
                yield table.oid * 10_000 + column.number, table.oid, column.number, shown(column.default, names.get)


def _pg_constraint(context: SystemContext) -> Iterator[Row]:
    for table in _tables(context):
        numbers = {column.name: column.number for column in table.columns}
        for c in (c for c in table.constraints if not c.is_index):
            there, key = _named(context, c)
            update, delete, match = (" ", " ", " ")
            if c.references is not None:
                update, delete = _ACTIONS[c.references.on_update], _ACTIONS[c.references.on_delete]
                match = "f" if c.references.full else "s"
            yield (
                c.oid, c.name, namespace(context, table.schema), _KINDS[c.kind],
                bool(c.deferrable), c.deferrable == "deferred", True, table.oid, 0,
                c.oid if c.is_key else key, 0, there, update, delete, match, True, 0, c.kind != "check",
                [numbers[name] for name in c.columns], list(c.references.columns) if c.references is not None else None,
                None, None, None, None, None, c.expression or None,
            )  # fmt: skip
    for typ in context.snapshot.types.values():
        for check in typ.checks if isinstance(typ, DomainType) else ():
            yield (
                check.oid, check.name, namespace(context, typ.schema), "c", False, False, True, 0, typ.oid, 0, 0, 0, " ", " ",
                " ", True, 0, False, None, None, None, None, None, None, None, check.expression,
            )  # fmt: skip


def _named(context: SystemContext, constraint: Constraint) -> tuple[int, int]:
    """The table that a foreign key names, and the index of its key; zeros for others."""
    if constraint.references is None:
        return 0, 0
    table = _table(context, constraint.references.table)
    names = {column.name for column in table.columns if column.number in constraint.references.columns}
    return table.oid, next((key.oid for key in keys(table.constraints) if set(key.columns) == names), 0)


def _table(context: SystemContext, oid: int) -> Table:
    return next(table for table in _tables(context) if table.oid == oid)


def _pg_index(context: SystemContext) -> Iterator[Row]:
    for table in _tables(context):
        numbers = {column.name: column.number for column in table.columns}
        for key in keys(table.constraints):
            count, primary = len(key.columns), key.kind == "primary key"
            typed = [column.type.pg for name in key.columns if (column := table.column(name)) is not None]
            yield (
                key.oid, table.oid, count, count, key.is_key, False, primary, False, not key.deferrable,
                False, True, False, True, True, False,
                [numbers[name] for name in key.columns], list(map(collation, typed)), list(map(_operator_class, typed)),
                list(key.options) or [0] * count, None, None,
            )  # fmt: skip


def _operator_class(typ: t.PgType) -> int:
    """The default one of btree. varchar is compared as text; arrays have one for all of them."""
    asked = t.ANYARRAY if typ.is_array else t.TEXT if typ is t.VARCHAR else typ
    return _operator_classes()[asked.oid]


@cache
def _operator_classes() -> Mapping[int, int]:
    classes = builtin_rows("pg_opclass").select(["oid", "opcintype", "opcdefault"]).to_pylist()
    return {row["opcintype"]: row["oid"] for row in classes if row["opcdefault"]}


def _pg_sequence(context: SystemContext) -> Iterator[Row]:
    for s in context.snapshot.relations.values():
        if isinstance(s, Sequence):
            yield s.oid, s.type.pg.oid, s.start, s.increment, s.maximum, s.minimum, s.cache, s.cycle


def _counters(context: SystemContext) -> Iterator[Row]:
    """Where sequences stand; null where nothing has been drawn."""
    for s in context.snapshot.relations.values():
        if isinstance(s, Sequence):
            at = context.counted(s)
            yield s.oid, at.value if at.called else None


def _pg_description(context: SystemContext) -> Iterator[Row]:
    for relation in context.snapshot.relations.values():
        yield from _described(relation)
    for schema in context.snapshot.schemas.values():
        yield from _comment(schema, PG_NAMESPACE)


def _described(relation: StoredRelation) -> Iterator[Row]:
    yield from _comment(relation, PG_CLASS)
    if isinstance(relation, (Table, View)):
        for column in relation.columns:
            if column.comment is not None:
                yield relation.oid, PG_CLASS, column.number, column.comment
    if isinstance(relation, Table):
        for constraint in relation.constraints:
            yield from _comment(constraint, PG_CONSTRAINT)


def _comment(of: StoredRelation | Schema | Constraint, catalog: int) -> Iterator[Row]:
    if of.comment is not None:
        yield of.oid, catalog, 0, of.comment


def _object_definitions(context: SystemContext) -> Iterator[Row]:
    """number: of an index's column, 0 for the whole. pretty: with as few parentheses as can be. PostgreSQL's own objects come
    before them, with functions and their arguments and results too."""
    for table in _tables(context):
        for constraint in (c for c in table.constraints if not c.is_index):
            whole = _constraint_definition(context, constraint)
            check = constraint.kind == "check"
            yield "constraint", constraint.oid, 0, whole, f"CHECK ({constraint.expression})" if check else whole
        for key in keys(table.constraints):
            yield from _index_definitions(table, key)
    for typ in context.snapshot.types.values():
        for domain_check in typ.checks if isinstance(typ, DomainType) else ():
            said = with_value(domain_check.expression)
            yield "constraint", domain_check.oid, 0, f"CHECK (({said}))", f"CHECK ({said})"
    for relation in context.snapshot.relations.values():
        query = defined_by(relation)
        if query is not None:
            text = f" {query.definition.strip().removesuffix(';')};"
            yield "view", relation.oid, 0, text, text


def _index_definitions(table: Table, key: Constraint) -> Iterator[Row]:
    columns = list(map(quoted, key.columns))
    ordered = [c + _ORDERS[option] for c, option in zip(columns, key.options or [0] * len(columns), strict=True)]

    def whole(on: str) -> str:
        unique = "UNIQUE " if key.is_key else ""
        return f"CREATE {unique}INDEX {quoted(key.name)} ON {on} USING btree ({', '.join(ordered)})"

    name = quoted(table.name)
    qualified = f"{quoted(table.schema)}.{name}"
    yield "index", key.oid, 0, whole(qualified), whole(name if table.schema == PUBLIC else qualified)
    for number, column in enumerate(columns, 1):
        yield "index", key.oid, number, column, column


def _constraint_definition(context: SystemContext, constraint: Constraint) -> str:
    """As pg_get_constraintdef: `PRIMARY KEY (a)`, `CHECK ((a > 0))`, `FOREIGN KEY (a) REFERENCES t(b)`."""
    if constraint.kind == "check":
        return f"CHECK (({constraint.expression}))"
    said = f"{constraint.kind.upper()} ({', '.join(map(quoted, constraint.columns))})"
    said += "" if constraint.references is None else _references(context, constraint.references)
    return said + _DEFERRABLE[constraint.deferrable]


def _references(context: SystemContext, said: References) -> str:
    table = _table(context, said.table)
    called = {column.number: column.name for column in table.columns}
    schema = "" if table.schema == PUBLIC else quoted(table.schema) + "."
    text = f" REFERENCES {schema}{quoted(table.name)}({', '.join(quoted(called[n]) for n in said.columns)})"
    text += " MATCH FULL" if said.full else ""
    for event, action in (("UPDATE", said.on_update), ("DELETE", said.on_delete)):
        text += "" if action == "no action" else f" ON {event} {action.upper()}"
    return text


SYSTEM: Final = (
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

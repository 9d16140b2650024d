"""Index expressions and the predicates of partial indexes: binds them, checks them, names their columns, and prints
them as PostgreSQL does.

An expression is stored as it was written, as a check constraint is, and is bound again wherever it is used. Its printed
form is computed when the index is defined, and again when a column that it reads gets another name or type.

Source: PostgreSQL 15, indexcmds.c (ComputeIndexAttrs, CheckPredicate, ChooseIndexColumnNames).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from engine.catalog.model.objects import Constraint, KeyPart, Table
from engine.pg_catalog.access_methods import OperatorClass, accepts, default_class, named_class, part_type
from engine.pg_catalog.declared import PG_CATALOG
from engine.plan_ir.expr import ColumnRef, Expr
from engine.sql.binder.definitions import RowOfTable, bind_index_expression, bind_index_predicate
from engine.sql.binder.labels import UNNAMED, label
from engine.sql.binder.scope import BindContext
from engine.sql.deparse.expressions import Unprintable, is_call, print_expression
from engine.sql.deparse.stored_text import columns_of, read_formula, with_column_renamed, with_table_renamed
from engine.sql.parser.lexical.lexer import NAME_BYTES_MAX
from engine.sql.parser.nodes.statements import CreateIndex, Formula, QualifiedName
from wire.errors import DatatypeMismatch, FeatureNotSupported, UndefinedColumn, UndefinedObject
from wire.types import pg_types as t


def parts_of(statement: CreateIndex, table: Table, context: BindContext) -> tuple[KeyPart, ...]:
    """Return the parts of the key, with the names that its attributes get. Raises as PostgreSQL does."""
    found = [
        _column(said.name, table) if said.formula is None else expression(said.formula, table, context)
        for said in statement.columns
    ]
    names: list[str] = []
    for part in found:
        names.append(part.name if not part.formula else _free(part.name, names))
    return tuple(replace(part, name=name) for part, name in zip(found, names, strict=True))


def _column(name: str, table: Table) -> KeyPart:
    column = table.column(name)
    if column is None:
        raise UndefinedColumn(f'column "{name}" does not exist')
    return KeyPart(name)


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name that no earlier attribute has."""
    number, found = 0, name
    while found in taken:
        number += 1
        found = name.encode()[: NAME_BYTES_MAX - len(str(number))].decode(errors="ignore") + str(number)
    return found


def expression(said: Formula, table: Table, context: BindContext) -> KeyPart:
    """Return an expression as a part of a key. A column in parentheses is treated as a column."""
    expr = bind_index_expression(said.tree, RowOfTable.of(table, context), context)
    _require_types_of(table, said.tree, context)
    if isinstance(expr, ColumnRef) and isinstance(said.tree, exp.Column):
        return _column(expr.column.name, table)
    if expr.type.pg.oid not in t.BY_OID:
        raise FeatureNotSupported(f"not supported: an index on an expression of type {expr.type}")
    name = label(said.tree)
    part = _with_printed_text(KeyPart("expr" if name == UNNAMED else name, said.text), expr)
    return replace(part, type=expr.type.pg.oid, typmod=expr.type.typmod)


def predicate(said: Formula, table: Table, context: BindContext) -> KeyPart:
    """Return the predicate of a partial index."""
    expr = bind_index_predicate(said.tree, RowOfTable.of(table, context), context)
    _require_types_of(table, said.tree, context)
    return _with_printed_text(KeyPart("", said.text), expr)


def _require_types_of(table: Table, tree: exp.Expression, context: BindContext) -> None:
    """Refuse an expression that names a user-defined type that no column of the table has, because the check of a key
    knows only the types of the table's columns. Raises FeatureNotSupported.
    """
    known = {
        t.element_of(c.declared_type).oid if c.declared_type.is_array else c.declared_type.oid for c in table.columns
    }
    for node in tree.find_all(exp.DataType):
        kind = node.args.get("kind")
        found = context.user_type(node.args.get("schema"), kind.name) if isinstance(kind, exp.Identifier) else None
        if found is not None and found.oid not in known:
            raise FeatureNotSupported(f"not supported: an index that names type {found.sql_name}, which no column has")


def _with_printed_text(part: KeyPart, expr: Expr) -> KeyPart:
    """Return the part with its text as PostgreSQL prints it, if that is known."""
    try:
        text, pretty = print_expression(expr), print_expression(expr, pretty=True)
    except Unprintable:
        return replace(part, text=part.formula, pretty=part.formula, call=False)
    return replace(part, text=text, pretty=pretty, call=is_call(expr))


def classes_of(statement: CreateIndex, parts: Sequence[KeyPart], table: Table) -> tuple[int, ...]:
    """Return the OIDs of the operator classes of the parts, or nothing if all have the default class of their type
    (ResolveOpClass).

    Raises UndefinedObject, DatatypeMismatch.
    """
    found, method = [], statement.method
    types = [part_type(table, part) for part in parts]
    defaults = [default_class(method, typ) for typ in types]
    for said, typ, default in zip(statement.columns, types, defaults, strict=True):
        chosen = default if said.operators is None else _find_operator_class(method, said.operators, typ)
        if chosen is None:
            raise UndefinedObject(
                f'data type {typ.sql_name} has no default operator class for access method "{method}"',
                hint="You must specify an operator class for the index or define a default operator class for the data type.",
            )
        found.append(chosen)
    return () if found == defaults else tuple(chosen.oid for chosen in found)


def _find_operator_class(method: str, name: QualifiedName, typ: t.PgType) -> OperatorClass:
    found = named_class(method, name.name) if name.schema in (None, PG_CATALOG) else None
    if found is None:
        raise UndefinedObject(f'operator class "{name}" does not exist for access method "{method}"')
    if not accepts(found, typ):
        raise DatatypeMismatch(f'operator class "{name}" does not accept data type {typ.sql_name}')
    return found


def columns_read(parts: Iterable[KeyPart]) -> tuple[str, ...]:
    """Return all columns that the parts read, each once."""
    found = [name for part in parts for name in (columns_of(part.formula) if part.formula else (part.name,))]
    return tuple(dict.fromkeys(found))


def made_again(index: Constraint, table: Table, context: BindContext) -> Constraint:
    """Bind an index again after columns of its table got other names or types."""
    parts = []
    for part in index.parts:
        again = _again(part, expression, table, context) if part.formula else part
        parts.append(replace(again, name=part.name))
    where = index.predicate
    return replace(
        index, parts=tuple(parts), predicate=None if where is None else _again(where, predicate, table, context)
    )


def _again(
    part: KeyPart, make: Callable[[Formula, Table, BindContext], KeyPart], table: Table, context: BindContext
) -> KeyPart:
    return make(Formula(tree=read_formula(part.formula), text=part.formula), table, context)


def with_renamed_column(index: Constraint, old: str, new: str) -> Constraint:
    """Rename a column in an index's formulas. Their printed texts stay as they are; `made_again` renews them."""

    def rename_part(part: KeyPart) -> KeyPart:
        if not part.formula:
            return replace(part, name=new) if part.name == old else part
        return replace(part, formula=with_column_renamed(part.formula, old, new))

    return _each(index, rename_part)


def with_renamed_table(index: Constraint, old: str, new: str) -> Constraint:
    """Rename `table.column` like `with_renamed_column`."""
    return _each(index, lambda p: replace(p, formula=with_table_renamed(p.formula, old, new)) if p.formula else p)


def _each(index: Constraint, change: Callable[[KeyPart], KeyPart]) -> Constraint:
    where = index.predicate
    return replace(index, parts=tuple(map(change, index.parts)), predicate=None if where is None else change(where))

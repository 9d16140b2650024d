"""The target of a statement that changes rows: its table, the values that are assigned to its columns, its
constraints.

Assignment follows PostgreSQL's transformAssignedExpr: a value is cast where an assignment cast exists, else 42804; a
string that is too long is 22001 unless only trailing blanks are cut off. Defaults and checks are stored as text and
bound where they are used, like a view; errors in them have no position in the statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model import acl
from engine.catalog.model.objects import Constraint, Relation, Table, TableColumn, View
from engine.common import sql_type as st
from engine.plan_ir.expr import Call, Column, Const, Expr, Node
from engine.plan_ir.logical import FILE, ROW, TableReader, names_in_files
from engine.plan_ir.requirements import Access
from engine.sql.binder import domains
from engine.sql.binder.blocks import pass_through
from engine.sql.binder.casts import can_coerce
from engine.sql.binder.from_clause import locate_errors
from engine.sql.binder.scope import Scope, Source, SourceColumn
from engine.sql.deparse.stored_text import read_formula
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import (
    AssignedTypeMismatch,
    DuplicateColumn,
    FeatureNotSupported,
    GeneratedAlways,
    InsufficientPrivilege,
    SqlError,
    UndefinedColumn,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_INTEGERS = (t.INT2, t.INT4, t.INT8)
_VERBS = {
    "insert": "insert into",
    "update": "update",
    "delete": "delete from",
    "merge": "merge into",
    "copy": "insert into",
}


#: The privileges that a verb needs on the table; other verbs need privileges on columns.
RIGHTS = {"delete": acl.DELETE, "update": acl.UPDATE, "truncate": acl.TRUNCATE}


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a statement: a stored table, or a view over one (`updatable_views`).

    table: the table that stores the rows. named: the relation that the statement names, with the columns that are
        visible of it.
    columns: these columns as rows store them: with their names in `named`, and the table's numbers.
    access: the record of the privileges that the statement needs.
    """

    binder: QueryBinder
    table: Table
    named: Table | View
    columns: tuple[TableColumn, ...]
    access: Access

    @property
    def is_view(self) -> bool:
        return isinstance(self.named, View)

    def find_columns(
        self, names: Sequence[exp.Identifier], parts: Sequence[Sequence[exp.Expression]] = ()
    ) -> tuple[TableColumn, ...]:
        """Return the columns of a column list, in which a column may occur several times with different parts. Raises
        UndefinedColumn, DuplicateColumn.
        """
        found: list[TableColumn] = []
        whole: set[str] = set()
        for name, part in zip(names, parts or ((),) * len(names), strict=True):
            column = self.find_column(name)
            if column.name in whole or (column in found and not part):
                raise DuplicateColumn(f'column "{name.name}" specified more than once', position=cursor(position(name)))
            found.append(column)
            if not part:
                whole.add(column.name)
        return tuple(found)

    def find_column(self, name: exp.Identifier) -> TableColumn:
        """Return the column of that name. Raises UndefinedColumn."""
        found = next((column for column in self.columns if column.name == name.name), None)
        if found is None:
            message = f'column "{name.name}" of relation "{self.named.name}" does not exist'
            raise UndefinedColumn(message, position=cursor(position(name)))
        return found

    def insert(self, columns: Sequence[TableColumn]) -> None:
        """Record that values are inserted into these columns."""
        self.access.insert(columns)

    def update(self, columns: Sequence[TableColumn]) -> None:
        self.access.update(columns)

    def select(self, columns: Iterable[TableColumn]) -> None:
        """Record that these columns of the table are read."""
        self.access.select(columns)

    def require(self, rights: int) -> None:
        self.access.rights |= rights

    def row(self, alias: str | None, row: Sequence[Column]) -> Source:
        """Return a row of the table as the statement's names see it."""
        refs = dict(zip((c.number for c in self.table.written_columns), pass_through(row), strict=True))
        return _row_source(self.named, alias, [(c.name, refs[c.number]) for c in self.columns])

    def visible(self, reader: Node, _row: Sequence[Column]) -> tuple[Node, Expr | None]:
        """Return the table's rows that belong to the target, and a further condition on them, or None. The rows come
        from `reader`.
        """
        return reader, None

    def view_checks(self, _row: Sequence[Column], *, cascaded: bool = False) -> list[tuple[Constraint, Expr]]:
        """Return the WITH CHECK OPTION conditions on a row that is written, in the order of their checks."""
        return []


def table_target(binder: QueryBinder, table: Table, verb: str, seen: Table | None = None) -> Target:
    """Return the target for a stored table. seen: the table with the columns that a view knows."""
    access = binder.context.accesses.target(table, RIGHTS.get(verb, 0))
    named = seen or table
    return Target(binder, table, named, named.columns, access)


def find_table(binder: QueryBinder, target: exp.Table, verb: str) -> Target:
    """Find the stored table that a statement names; views are refused. verb: merge, truncate or copy. Raises the
    errors of `find_relation` and `require_stored`, WrongObjectType, FeatureNotSupported.
    """
    found = find_relation(binder, target)
    if verb == "copy":
        _require_copied(found)
    if isinstance(found, View):
        if verb == "truncate":
            raise WrongObjectType(f'"{found.name}" is not a table')
        message = f'cannot execute {verb.upper()} on relation "{found.name}"'
        raise FeatureNotSupported(message, detail="This operation is not supported for views.")
    return table_target(binder, require_stored(found, verb), verb)


def find_relation(binder: QueryBinder, target: exp.Table) -> Relation:
    """Find the relation that a statement names. Raises UndefinedTable."""
    schema, name = target.text("db") or None, target.name
    with locate_errors(target):
        found = binder.context.catalog.resolve(schema, name, binder.context.search_path)
    if found is None:
        dotted = f"{schema}.{name}" if schema else name
        raise UndefinedTable(f'relation "{dotted}" does not exist', position=cursor(position(target)))
    return found


def require_stored(found: Relation, verb: str) -> Table:
    """Return a relation other than a view as a table whose rows can be changed.

    Raises WrongObjectType, InsufficientPrivilege for the system catalog, FeatureNotSupported for relations that cannot
    be changed in this way (setTargetTable, CheckValidResultRel).
    """
    name = found.name
    if not isinstance(found, Table):
        raise InsufficientPrivilege(f"permission denied for table {name}")
    if found.query is not None and verb != "fill":
        words = "is not a table" if verb == "truncate" else None
        raise WrongObjectType(f'"{name}" {words}' if words else f'cannot change materialized view "{name}"')
    if found.storage is None:
        words = f"cannot {_VERBS.get(verb, verb)} foreign table"
        raise FeatureNotSupported(f'{words} "{name}"')
    return found


def _require_copied(found: Relation) -> None:
    """Raises WrongObjectType for relations into which rows cannot be copied (CopyFrom)."""
    if isinstance(found, View):
        hint = "To enable copying to a view, provide an INSTEAD OF INSERT trigger."
        raise WrongObjectType(f'cannot copy to view "{found.name}"', hint=hint)
    if isinstance(found, Table) and found.query is not None:
        raise WrongObjectType(f'cannot copy to materialized view "{found.name}"')


# -- reading the table ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """A reader of the table's rows: its columns, and the columns of each row's file and row number."""

    reader: TableReader
    columns: tuple[Column, ...]
    file: Column
    row: Column


def read(binder: QueryBinder, table: Table) -> Rows:
    """Return a reader of the existing rows, whose columns are new to the statement."""
    columns = row_columns(binder, table)
    file = binder.context.new_column("file", st.of(t.TEXT))
    row = binder.context.new_column("row", st.of(t.INT8))
    names = (*names_in_files(table.written_columns), FILE, ROW)
    return Rows(TableReader((*columns, file, row), table.in_files(), names), columns, file, row)


def row_columns(binder: QueryBinder, table: Table) -> tuple[Column, ...]:
    """Return new columns for a row of the table, as it is written."""
    columns = tuple(binder.context.new_column(c.name, c.type) for c in table.written_columns)
    named = columns[: len(table.columns)]
    for column, declared in zip(named, table.columns, strict=True):
        binder.context.origins[column.id] = (table.oid, declared.number)
    binder.context.accesses.offer(table, named)
    return columns


def row_source(table: Table, alias: str | None, columns: Sequence[Column]) -> Source:
    """Return a row of the table, which is written in these columns, as names see it."""
    pairs = zip(table.columns, pass_through(columns[: len(table.columns)]), strict=True)
    return _row_source(table, alias, [(column.name, expr) for column, expr in pairs])


def _row_source(named: Table | View, alias: str | None, columns: Sequence[tuple[str, Expr]]) -> Source:
    offered = tuple(SourceColumn(name, expr) for name, expr in columns)
    schema = None if alias else named.schema
    return Source(alias or named.name, offered, schema=schema, relation=named.name, placed=isinstance(named, Table))


# -- values -----------------------------------------------------------------------------------------------------------


def assign(binder: QueryBinder, value: Expr, column: TableColumn) -> Expr:
    """Coerce the value for assignment to the column. Raises DatatypeMismatch (42804), StringDataRightTruncation, or
    the literal's own input error.
    """
    source, target = value.type.pg, column.type.pg
    if not can_coerce(source, target, "assignment"):
        raise AssignedTypeMismatch(
            f'column "{column.name}" is of type {target.sql_name} but expression is of type {source.sql_name}',
            hint="You will need to rewrite or cast the expression.",
            position=cursor(value.position),
        )
    expressions = binder.expressions
    if column.domain is not None:
        domains.tell(expressions, value, column.domain)
    made = expressions.coercer.relabel(expressions.coerce(value, column.type, "assignment"), column.type)
    return within_domain(binder, made, column)


def within_domain(binder: QueryBinder, value: Expr, column: TableColumn) -> Expr:
    """Return a value of the column's type with the checks of the column's domain."""
    if column.domain is None:
        return value
    return domains.check_domain(binder.expressions, value, column.domain, binder)


def is_default(value: exp.Expression) -> bool:
    """Return whether a value is DEFAULT."""
    return isinstance(value, exp.Var)


def default(binder: QueryBinder, column: TableColumn) -> Expr:
    """Return the column's value if the statement gives none; a generated one is computed later."""
    if column.generated:
        return Const(column.type, None)
    text = column.default
    if text is None and column.domain is not None:
        text = domains.default_of(column.domain)
    if text is None:
        return within_domain(binder, Const(column.type, None), column)
    with drop_position():
        scope = Scope(binder.context, binder)
        value = binder.expressions.bind(read_formula(text), scope)
        return assign(binder, value, column)


def forbid_identity(column: TableColumn, overriding: str) -> None:
    """Raises GeneratedAlways if a value is given for a GENERATED ALWAYS identity column."""
    if column.identity == "always" and overriding == "":
        raise GeneratedAlways(
            f'cannot insert a non-DEFAULT value into column "{column.name}"',
            detail=f'Column "{column.name}" is an identity column defined as GENERATED ALWAYS.',
            hint="Use OVERRIDING SYSTEM VALUE to override.",
        )


# -- constraints ------------------------------------------------------------------------------------------------------


def checks(binder: QueryBinder, table: Table, row: Source) -> list[tuple[Constraint, Expr]]:
    """Return the CHECK constraints over a row in the order of their names, in which PostgreSQL checks them."""
    scope = Scope(binder.context, binder)
    scope.add(row)
    scope.sources.append(row)
    found = []
    for constraint in sorted(table.constraints, key=lambda c: c.name):
        if constraint.kind == "check":
            with drop_position(), binder.context.accesses.without_noting():
                bound = binder.expressions.bind(read_formula(constraint.expression), scope)
                found.append((constraint, binder.expressions.as_boolean(bound, "CHECK")))
    return found


def keys(table: Table) -> tuple[Constraint, ...]:
    """Return the PRIMARY KEY and UNIQUE constraints, oldest first."""
    return tuple(sorted((c for c in table.constraints if c.is_key), key=lambda c: c.oid))


def foreign_keys(table: Table) -> tuple[Constraint, ...]:
    """Return the FOREIGN KEY constraints in the order of their names, in which PostgreSQL's triggers check them."""
    return tuple(sorted((c for c in table.constraints if c.references is not None), key=lambda c: c.name))


@contextmanager
def drop_position() -> Iterator[None]:
    """Remove the position from errors in a definition, because it is not part of the statement."""
    try:
        yield
    except SqlError as error:
        error.position = None
        raise


def next_value(value: Expr | None, column: TableColumn) -> int | None:
    """Return the sequence if an integer column is assigned its next value, or None: rows get theirs when they are
    written (`Mutate.filled`).
    """
    while isinstance(value, Call) and value.function.kind == "cast":
        value = value.args[0]
    if not isinstance(value, Call) or value.function.name != "nextval" or column.type.pg not in _INTEGERS:
        return None
    (sequence,) = value.args
    return int(sequence.value) if isinstance(sequence, Const) and sequence.value is not None else None

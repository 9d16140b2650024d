"""Turns a column definition of a statement into a column of a table: its type, its default or sequence, whether it
takes nulls (parse_utilcmd.c: transformColumnDefinition; heap.c: CheckAttributeType).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Sequence, Table, TableColumn
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.pg_catalog.row_types import is_row_type
from engine.sql.binder.definitions import RowOfTable, bind_default, bind_generated, is_integer
from engine.sql.binder.regnames import relation_named
from engine.sql.binder.type_names import domain_named, resolve_type
from engine.sql.deparse.defaults import is_null_constant, printed_default, printed_null, typed_null
from engine.sql.deparse.stored_text import nextval, with_sequences_by_oid
from engine.sql.parser.nodes.statements import ColumnDefinition, Formula, QualifiedName, SequenceOptions
from engine.statements.ddl.sequence import new_sequence
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names
from wire.errors import (
    DuplicateColumn,
    DuplicateTable,
    FeatureNotSupported,
    InvalidParameterValue,
    InvalidTableDefinition,
    SqlSyntaxError,
)
from wire.types import pg_types as t

_SERIAL: Final = {
    "smallserial": t.INT2,
    "serial2": t.INT2,
    "serial": t.INT4,
    "serial4": t.INT4,
    "bigserial": t.INT8,
    "serial8": t.INT8,
}
_SYSTEM_COLUMNS: Final = frozenset(("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"))


class ColumnMaker:
    """Makes the columns of one table. sequences: the sequences that belong to them, which the caller puts into the
    catalog with the table.
    """

    def __init__(self, definer: Definer, table: QualifiedName, schema: str, oid: int, names: Names) -> None:
        self._definer = definer
        self.table = self._table = table.name
        self._schema = schema
        self._oid = oid
        self._names = names
        self.sequences: list[Sequence] = []

    def make(self, written: ColumnDefinition, number: int) -> TableColumn:
        """Make a column without its default, which `with_default` binds. Raises PostgreSQL's errors about a single
        column.
        """
        serial = self._serial(written)
        if serial is not None:
            return self._make_numbered(written, st.of(serial), number, "")
        typ = resolve_type(written.type, self._definer.notify, self._definer.user_type)
        if written.identity:
            self._check_identity(written, typ)
            return self._make_numbered(written, typ, number, written.identity)
        if typ.pg.category == "P":
            raise InvalidTableDefinition(f'column "{written.name}" has pseudo-type {typ.pg.sql_name}')
        if is_row_type(typ.pg.oid):
            raise FeatureNotSupported(f"not supported: a column of the row type {typ.pg.sql_name}")
        key = any(c.kind == "primary key" for c in written.constraints)
        generated = written.generated is not None
        domain = domain_named(written.type, self._definer.user_type)
        return TableColumn(written.name, typ, number, not (written.not_null or key), generated=generated, domain=domain)

    def with_default(self, column: TableColumn, written: ColumnDefinition, table: Table) -> TableColumn:
        """Add the default to a column. table: the table with all of its columns."""
        if written.generated is not None:
            context = self._definer.context()
            row = RowOfTable.of(table, context)
            bind_generated(written.generated.tree, column, row, table, context)
            is_null = isinstance(written.generated.tree.unnest(), exp.Null)
            text = typed_null(column.type) if is_null else self._definer.storage_text(written.generated.text)
            return replace(column, default=text)
        if written.default is None:
            return column
        return replace(column, default=stored_default(written.default, column, self._definer))

    def _serial(self, written: ColumnDefinition) -> t.PgType | None:
        node = written.type
        found = _SERIAL.get(node.args["kind"].name)
        if found is None or node.args.get("schema") or node.expressions:
            return None
        if node.args.get("array"):
            raise FeatureNotSupported("array of serial is not implemented")
        if written.default is not None:
            raise self._conflict("multiple default values specified", written)
        if written.generated is not None:
            raise self._conflict("both default and generation expression specified", written)
        if written.null:
            raise self._conflict("conflicting NULL/NOT NULL declarations", written)
        return found

    def _check_identity(self, written: ColumnDefinition, typ: SqlType) -> None:
        if written.null:
            raise self._conflict("conflicting NULL/NOT NULL declarations", written)
        if not is_integer(typ):
            raise InvalidParameterValue("identity column type must be smallint, integer, or bigint")

    def _conflict(self, what: str, written: ColumnDefinition) -> SqlSyntaxError:
        return SqlSyntaxError(f'{what} for column "{written.name}" of table "{self._table}"')

    def with_identity(self, column: TableColumn, written: ColumnDefinition) -> TableColumn:
        """Make an existing column an identity column."""
        made = self._make_numbered(written, column.type, column.number, written.identity)
        return replace(column, default=made.default, identity=made.identity)

    def _make_numbered(self, written: ColumnDefinition, typ: SqlType, number: int, identity: str) -> TableColumn:
        """Make a column that takes its values from a sequence of its own."""
        options = written.sequence or SequenceOptions()
        if options.name is not None and self._names.has_relation(options.name.name):
            raise DuplicateTable(f'relation "{options.name.name}" already exists')
        name = options.name.name if options.name else self._names.relation(self._table, written.name, "seq")
        made = new_sequence(self._schema, name, options, typ, self._definer)
        made = replace(made, owner=(self._oid, number), internal=bool(identity))
        self.sequences.append(made)
        command = "CREATE TABLE" if self._definer.table_of(self._oid) is None else "ALTER TABLE"
        column = f"{self._table}.{written.name}"
        self._definer.debug(f'{command} will create implicit sequence "{name}" for serial column "{column}"')
        default = nextval(made.oid)
        return TableColumn(written.name, typ, number, False, default, identity)  # type: ignore[arg-type]


def stored_default(formula: Formula, column: TableColumn, definer: Definer) -> str | None:
    """Bind a default, so that its errors are raised, and return it as it is stored; None if it is the NULL that a
    column without a default takes.
    """
    bound = bind_default(formula.tree, column.name, column.type, definer.context())
    if is_null_constant(formula.tree, bound, column.type):
        return printed_null(column.type, is_domain=column.domain is not None)
    text = definer.storage_text(printed_default(formula.tree, formula.text, bound, column.type))
    return with_sequences_by_oid(text, lambda name: relation_named(name, definer.context()))


def check_names(columns: Iterable[str]) -> None:
    """Check column names, as CheckAttributeNamesTypes does. Raises DuplicateColumn."""
    seen: set[str] = set()
    for name in columns:
        if name in seen:
            raise DuplicateColumn(f'column "{name}" specified more than once')
        check_name(name)
        seen.add(name)


def check_name(name: str) -> None:
    if name in _SYSTEM_COLUMNS:
        raise DuplicateColumn(f'column name "{name}" conflicts with a system column name')

"""Point reads: queries for the rows of one table whose columns equal given values.

`SELECT c_name FROM customer WHERE c_custkey = $1` needs no join, no aggregate and no expression: its rows are found
where the column equals the value, and copied. DuckDB plans such a statement again at each execution, which takes longer
than the search. A fragment of this form therefore carries its description beside its statement, and the local executor
may answer it from columns that it holds in memory (`engine.executors.local.point_reads`). A fragment of any other form,
or with types whose values are converted between a file and a client, has only the statement.

The form: FINAL over at most one LIMIT with a constant, over at most one EVALUATOR that emits columns, over a TABLE
READER of a Parquet table whose filter is a conjunction of `column = value`. Two whole numbers are compared, or two
texts, as PostgreSQL's `int48eq` and `texteq` do: texts by their bytes, since all collations here are deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.common.sql_type import SqlType
from engine.lakes import stores
from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import Call, ColumnRef, Const, Expr, Node, ParamRef, Relabel
from engine.plan_ir.logical import Evaluator, Limit, Root, TableReader
from engine.planner.codegen.scope import Compilation
from engine.sql.trees.parameters import NO_VALUES
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: Types whose values in a Parquet file are those of their carriers.
_PLAIN: Final = frozenset((t.BOOL, t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.TEXT, t.VARCHAR, t.DATE, t.NUMERIC))
_INTEGERS: Final = frozenset((t.INT2, t.INT4, t.INT8))
_TEXTS: Final = frozenset((t.TEXT, t.VARCHAR))
#: The largest number of files of a table that are searched at each execution.
_FILES_MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Equality:
    """`column = value`. parameter: the name of the fragment's parameter that has the value; None: `value` has it."""

    column: str
    value: int | str | None
    parameter: str | None = None

    def value_in(self, values: Mapping[str, Any]) -> int | str | None:
        """Return the value for these values of parameters; None is the null value, which equals nothing."""
        return self.value if self.parameter is None else values[self.parameter]


@dataclass(frozen=True, slots=True)
class PointRead:
    """A search for the rows of `table` for which all `equalities` hold. It returns the values of `columns`, by their
    names in the table's files, in the order of its files and rows. types: of all these columns and of those that are
    compared, by name. limit: the largest number of rows; None: all rows.
    """

    table: Table
    equalities: tuple[Equality, ...]
    columns: tuple[str, ...]
    types: Mapping[str, SqlType]
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class KeySource:
    """The rows that give the key of a point read: those of an earlier step. column: of the table that is read, which
    equals theirs. step, position: the number of that step, and the place of the column in its rows.
    """

    column: str
    step: int
    position: int


@dataclass(frozen=True, slots=True)
class PointStep:
    """A step of a point join (`engine.planner.codegen.point_join`). schema: of the rows of `read`. source: where its key
    comes from; None if `read` has all of it.
    """

    read: PointRead
    schema: pa.Schema
    source: KeySource | None


def describe_point_read(plan: Node, compilation: Compilation) -> PointRead | None:
    """Return the point read that is equivalent to a compiled plan; None for a plan of another form."""
    if compilation.engine != "local" or not isinstance(plan, Root):
        return None
    node: Node = plan.input
    limit: int | None = None
    if isinstance(node, Limit):
        limit = _constant_limit(node)
        if limit is None:
            return None
        node = node.input
    emit: Sequence[Expr] | None = None
    if isinstance(node, Evaluator):
        if node.filter is not None:
            return None
        emit = node.emit
        node = node.input
    if not isinstance(node, TableReader) or not isinstance(node.table, Table) or not is_plain(node.table, node):
        return None
    names = names_of(node)
    columns = _emitted_names(emit, names, node)
    equalities = [equality_of(part, names, compilation) for part in conjuncts(node.filter)]
    if columns is None or not equalities:
        return None
    found = tuple(equality for equality in equalities if equality is not None)
    if len(found) < len(equalities):
        return None
    types = {name: column.type for column, name in zip(node.columns, node.names, strict=True)}
    read = (*columns, *(equality.column for equality in found))
    return PointRead(node.table, found, columns, {name: types[name] for name in read}, limit)


def names_of(reader: TableReader) -> Mapping[int, str]:
    """Return the names that a reader's columns have in the table, by the ids of the columns."""
    return {column.id: name for column, name in zip(reader.columns, reader.names, strict=True)}


def _constant_limit(node: Limit) -> int | None:
    """Return the number of rows of a LIMIT that has only a constant count; None for any other."""
    count = node.count
    if not isinstance(count, Const) or not isinstance(count.value, int) or count.value < 0:
        return None
    return None if node.offset is not None or node.with_ties else count.value


def is_plain(table: Table, reader: TableReader) -> bool:
    """Whether a table's rows are those of its Parquet files, unchanged."""
    return (
        table.format == "parquet"
        and 0 < len(table.files) <= _FILES_MOST
        and not (table.deleted or table.parts or reader.reader or stores.is_remote(table.path))
        and all(_is_plain_column(table, name) for name in reader.names)
    )


def _is_plain_column(table: Table, name: str) -> bool:
    column = table.column(name)
    if column is None or column.nested is not None or name in table.partition_by:
        return False
    return column.type.pg in _PLAIN and not column.type.is_wide


def _emitted_names(
    emit: Sequence[Expr] | None, names: Mapping[int, str], reader: TableReader
) -> tuple[str, ...] | None:
    """Return the names of the emitted columns; None if one is computed, or there is none."""
    if emit is None:
        return reader.names or None
    if not emit or not all(isinstance(expr, ColumnRef) and expr.column.id in names for expr in emit):
        return None
    return tuple(names[expr.column.id] for expr in emit if isinstance(expr, ColumnRef))


def equality_of(condition: Expr, names: Mapping[int, str], compilation: Compilation) -> Equality | None:
    """Return `column = value`; None for a condition of another form. names: of the columns in the table, by their ids."""
    if (sides := _equal_sides(condition)) is None:
        return None
    left, right = sides if isinstance(sides[0], ColumnRef) else sides[::-1]
    if not isinstance(left, ColumnRef) or left.column.id not in names or not _are_comparable(left.type, right.type):
        return None
    name = names[left.column.id]
    match right:
        case Const(value=value):
            return _equality_with(name, value)
        case ParamRef(index=index) if compilation.bindings.parameters is not NO_VALUES:
            return _equality_with(name, compilation.bindings.parameters[index])
        case ParamRef(index=index):
            parameter = compilation.placeholders.get((index, right.type))
            return None if parameter is None else Equality(name, None, parameter)
    return None


def compared_columns(condition: Expr) -> tuple[int, int] | None:
    """Return the ids of the columns of `column = column`; None for a condition of another form."""
    if (sides := _equal_sides(condition)) is None:
        return None
    left, right = sides
    if isinstance(left, ColumnRef) and isinstance(right, ColumnRef) and _are_comparable(left.type, right.type):
        return left.column.id, right.column.id
    return None


def _equal_sides(condition: Expr) -> tuple[Expr, Expr] | None:
    """Return both sides of an equality, without relabelling; None for a condition of another form."""
    if not isinstance(condition, Call) or condition.function.name != "=" or len(condition.args) != 2:
        return None
    left, right = (arg.arg if isinstance(arg, Relabel) else arg for arg in condition.args)
    return left, right


def _equality_with(name: str, value: Any) -> Equality | None:
    return Equality(name, value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None


def _are_comparable(left: SqlType, right: SqlType) -> bool:
    return any({left.pg, right.pg} <= family for family in (_INTEGERS, _TEXTS))

"""Error messages about rows that violate a constraint (execMain.c: ExecConstraints, ExecBuildSlotValueDescription). They show
values only of the columns that `engine.plan_ir.shown_columns` allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from engine.catalog.model.objects import Constraint, Table, TableColumn
from engine.common.identifiers import quote_ident
from engine.common.sql_type import SqlType
from engine.plan_ir.logical import MutateKind
from engine.plan_ir.shown_columns import ShownColumns
from wire.errors import (
    About,
    CardinalityViolation,
    CheckViolation,
    ForeignKeyViolation,
    NotNullViolation,
    SqlError,
    UniqueViolation,
    WithCheckOptionViolation,
)
from wire.types.output import EncodedColumn, OutputSettings, text_column

#: The maximal bytes of a value that a message shows.
_SHOWN: Final = 64


def about_constraint(table: Table, constraint: Constraint) -> About:
    return About(table.schema, table.name, constraint=constraint.name)


def null_in(
    table: Table, column: TableColumn, rows: pa.RecordBatch, index: int, settings: OutputSettings, shown: ShownColumns
) -> SqlError:
    message = f'null value in column "{column.name}" of relation "{table.name}" violates not-null constraint'
    about = About(table.schema, table.name, column.name)
    return NotNullViolation(message, detail=_failing_row_text(table, rows, index, settings, shown), about=about)


def check_failed(
    table: Table,
    constraint: Constraint,
    rows: pa.RecordBatch,
    index: int,
    settings: OutputSettings,
    shown: ShownColumns,
) -> SqlError:
    """Return the error for a row that violates a CHECK constraint or a view's WITH CHECK OPTION."""
    detail = _failing_row_text(table, rows, index, settings, shown)
    if constraint.kind == "view check":
        return WithCheckOptionViolation(f'new row violates check option for view "{constraint.name}"', detail=detail)
    message = f'new row for relation "{table.name}" violates check constraint "{constraint.name}"'
    return CheckViolation(message, detail=detail, about=about_constraint(table, constraint))


def key_exists(
    table: Table,
    constraint: Constraint,
    types: Sequence[SqlType],
    key: pa.RecordBatch,
    settings: OutputSettings,
    shown: ShownColumns,
) -> SqlError:
    """Return the error for a duplicate key. key: one row, the parts of the constraint's key. types: their types."""
    return UniqueViolation(
        f'duplicate key value violates unique constraint "{constraint.name}"',
        detail=key_detail(constraint, types, key, settings, shown, "already exists"),
        about=about_constraint(table, constraint),
    )


def no_such_key(
    table: Table,
    constraint: Constraint,
    there: Table,
    key: pa.RecordBatch,
    settings: OutputSettings,
    shown: ShownColumns,
) -> SqlError:
    """Return the error for a foreign key without a match. key: one row, the constraint's columns. there: the
    referenced table. shown: the columns of the referencing table that may be shown.
    """
    return ForeignKeyViolation(
        f'insert or update on table "{table.name}" violates foreign key constraint "{constraint.name}"',
        detail=f'Key{_shown_key(table, constraint.columns, key, settings, shown)} is not present in table "{there.name}".',
        about=about_constraint(table, constraint),
    )


def half_null_key(table: Table, constraint: Constraint) -> SqlError:
    return ForeignKeyViolation(
        f'insert or update on table "{table.name}" violates foreign key constraint "{constraint.name}"',
        detail="MATCH FULL does not allow mixing of null and nonnull key values.",
        about=about_constraint(table, constraint),
    )


def still_referenced(
    table: Table,
    child: Table,
    constraint: Constraint,
    key: pa.RecordBatch,
    settings: OutputSettings,
    shown: ShownColumns,
) -> SqlError:
    """Return the error for the removal of a key that is still referenced. table: the table of the removed key, whose
    columns `shown` limits. key: one row, its columns. child: the table whose constraint references it.
    """
    assert constraint.references is not None
    called = {column.number: column.name for column in table.columns}
    columns = [called[number] for number in constraint.references.columns]
    return ForeignKeyViolation(
        f'update or delete on table "{table.name}" violates foreign key constraint "{constraint.name}" '
        f'on table "{child.name}"',
        detail=f'Key{_shown_key(table, columns, key, settings, shown)} is still referenced from table "{child.name}".',
        about=about_constraint(child, constraint),
    )


def _shown_key(
    table: Table, names: Sequence[str], key: pa.RecordBatch, settings: OutputSettings, shown: ShownColumns
) -> str:
    """Return ` (a, b)=(1, x)`, or an empty text if the key may not be shown."""
    if not shown.shows_key(names):
        return ""
    values = texts([_column(table, name) for name in names], key, 0, settings)
    return f" ({', '.join(names)})=({', '.join(values)})"


def key_detail(
    constraint: Constraint,
    types: Sequence[SqlType],
    key: pa.RecordBatch,
    settings: OutputSettings,
    shown: ShownColumns,
    what: str,
) -> str | None:
    """Return `Key (lower(a), b)=(x, 1) is duplicated.` for an index; None if the key may not be shown. An expression
    is shown only to a role that may read the whole table. types: the types of the parts.
    """
    parts = constraint.key_parts
    if shown.readable is not None and (
        any(part.formula for part in parts) or not shown.shows_key(p.name for p in parts)
    ):
        return None
    columns = [TableColumn(part.name, typ, n) for n, (part, typ) in enumerate(zip(parts, types, strict=True), 1)]
    names = (part.render(pretty=True) if part.formula else quote_ident(part.name) for part in parts)
    return f"Key ({', '.join(names)})=({', '.join(texts(columns, key, 0, settings))}) {what}."


def changed_twice(kind: MutateKind) -> SqlError:
    if kind == "merge":
        return CardinalityViolation(
            "MERGE command cannot affect row a second time",
            hint="Ensure that not more than one source row matches any one target row.",
        )
    return CardinalityViolation(
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
        hint="Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )


def _column(table: Table, name: str) -> TableColumn:
    found = table.column(name)
    assert found is not None, "a key is made of its table's columns"
    return found


def _failing_row_text(
    table: Table, rows: pa.RecordBatch, index: int, settings: OutputSettings, shown: ShownColumns
) -> str | None:
    """Return `Failing row contains (1, x).`; if only some columns may be shown, `(a, c) = (1, y)`; None if none may."""
    pairs = zip(table.columns, texts(table.columns, rows, index, settings), strict=True)
    told = {column.name: _clip(text) for column, text in pairs if shown.shows_of_row(column.name)}
    if not told and shown.readable is not None:
        return None
    names = "" if shown.readable is None else f"({', '.join(told)}) = "
    return f"Failing row contains {names}({', '.join(told.values())})."


def texts(columns: Sequence[TableColumn], rows: pa.RecordBatch, index: int, settings: OutputSettings) -> list[str]:
    """Return the values of one row as a client would see them, with `null` for null."""
    return [_text(column, rows.column(i), index, settings) for i, column in enumerate(columns)]


def _text(column: TableColumn, values: pa.Array, index: int, settings: OutputSettings) -> str:
    value = values.slice(index, 1)
    if value.null_count:
        return "null"
    encoded = EncodedColumn(column.type.pg, column.type.typmod, column.type.display, column.type.minimum)
    text: bytes = text_column(encoded, value, settings).join()[0].as_py()
    return text.decode()


def _clip(text: str) -> str:
    whole = text.encode()
    return text if len(whole) <= _SHOWN else whole[:_SHOWN].decode(errors="ignore") + "..."

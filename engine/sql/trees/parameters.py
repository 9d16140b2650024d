"""Parameters that stay parameters: a statement is compiled once, and runs with whatever values its client binds.

In a generic plan (`engine.statements.query.plan_cache`) a parameter is a placeholder that is cast to the storage type
of its type, where a plan for given values has a literal. The value that an engine receives for it is read from that
literal (`scalar_of`), so both plans have the same values. While a generic plan is compiled, `NO_VALUES` takes the place
of the values: reading one from it raises `ValueNeeded`, and so does a function's template that needs a constant and
finds a placeholder (`engine.sql.functions.trees`). Such a statement has no generic plan. It is therefore not necessary
to list here what depends on a value, such as LIMIT or a LIKE pattern.

DuckDB plans a prepared statement again for each set of values of its parameters. For a statement over the system
catalog, whose text has tens of thousands of characters, that takes ten times as long as running it. Such a statement
reads its values from a relation of one row (`read_from_row`), which is no part of its plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.sql.trees.build import cast
from engine.sql.trees.literals import literal
from engine.sql.trees.storage_types import storage_type
from wire.types import pg_types as t

#: Types whose literals are scalars in DuckDB, except for a few values (`scalar_of`).
_SCALARS: Final = frozenset((
    t.BOOL, t.INT2, t.INT4, t.INT8, *t.UNSIGNED, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR,
    t.UNKNOWN, t.JSON, t.JSONB, t.UUID, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL,
))  # fmt: skip


class ValueNeeded(Exception):
    """Raised if a plan depends on a parameter's value."""


class _NoValues(Mapping[int, Any]):
    """A mapping without a value for any parameter; see the module's docstring."""

    def __getitem__(self, index: int) -> Any:
        raise ValueNeeded(f"${index}")

    def __contains__(self, index: object) -> bool:
        return False

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


#: The one-row relation with the values of a statement's parameters.
VALUES_ROW: Final = "sluice_values"
NO_VALUES: Final[Mapping[int, Any]] = _NoValues()


def placeholder(name: str, typ: SqlType) -> exp.Expression:
    """Return a parameter of that name in a statement of the local engine. Raises ValueNeeded for a type whose values
    are no scalars.
    """
    if (typ.pg.carried or typ.pg) not in _SCALARS or typ.pg.is_array or typ.pg.is_row:
        raise ValueNeeded(name)
    return cast(exp.Placeholder(this=name), storage_type(typ, "local"))


def read_from_row(statement: exp.Expression) -> bool:
    """Replace the statement's placeholders by columns of `VALUES_ROW`. Returns False if that is not possible: DuckDB
    has no subqueries in lambdas.
    """
    found = list(statement.find_all(exp.Placeholder))
    if any(node.find_ancestor(exp.Lambda) is not None for node in found):
        return False
    for node in found:
        node.replace(exp.select(exp.column(node.name, quoted=True)).from_(exp.to_table(VALUES_ROW)).subquery())
    return True


def row_of(values: Mapping[str, int | None]) -> pa.Table:
    """Return `VALUES_ROW` for these values of the placeholders, which are whole numbers."""
    return pa.table({name: pa.array([value], pa.int64()) for name, value in values.items()})


def scalar_of(value: Any, typ: SqlType) -> str | int | bool | None:
    """Return a canonical value in the form in which the local engine receives it for a placeholder. Raises ValueNeeded
    for a value that only an expression can express (a date beyond the year 9999), Unsupported and SqlError as `literal`
    does.
    """
    if isinstance(value, str):
        return value
    tree = literal(value, typ, "local")
    while isinstance(tree, exp.Cast):
        tree = tree.this
    match tree:
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(tree.this)
        case exp.Literal():
            return str(tree.this) if tree.is_string else _number(str(tree.this))
        case exp.Neg(this=exp.Literal() as magnitude):
            return _number("-" + str(magnitude.this))
    raise ValueNeeded(f"a value of {typ}")


def _number(text: str) -> str | int:
    """Return an integer, or the text of a number with fractional digits, which a cast reads exactly."""
    return text if "." in text else int(text)

"""PostgreSQL 15's own catalog: its relations and their columns, and its rows for the things that exist here too: types,
functions, operators, casts, operator classes, and the system catalog itself.

Clients compare these rows and their OIDs with what they know, so the rows are PostgreSQL's:
`scripts/extract_catalog.py` (`make catalog`) reads them from a real server and writes one Parquet file a relation below
`postgres15/`; a test compares the files with a running PostgreSQL 15. Functions that the function table lacks are left
out when a relation is first read, so a new function shows up here by itself.

Rejected: making the rows from the function table alone. It knows a function's arguments and result, but neither its OID
nor the other columns of pg_proc.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.pg_catalog.system_function_sql import TABLES, postgres_rows, scalars
from engine.plan_ir.expr import Function
from engine.sql.functions.registry import CALLABLE, registry
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: Functions that exist without a row in the function table: syntax (also of TABLESAMPLE), values of the session.
#: Functions that are queries over the catalog need no row either.
_WITHOUT_ROW: Final = frozenset(
    (
        "current_database", "current_schema", "current_schemas", "current_user", "session_user", "now", "statement_timestamp",
        "transaction_timestamp", "pg_backend_pid", "pg_is_in_recovery", "pg_get_serial_sequence", "enum_in", "enum_out",
        "enum_recv", "enum_send", "bernoulli", "system", "domain_in", "domain_recv",
    )
)  # fmt: skip
#: The columns, by relation, that refer to functions which clients look up from there.
_NAMING: Final[Mapping[str, tuple[str, ...]]] = {
    "pg_type": (
        "typinput",
        "typoutput",
        "typreceive",
        "typsend",
        "typmodin",
        "typmodout",
        "typanalyze",
        "typsubscript",
    ),
    "pg_cast": ("castfunc",),
    "pg_operator": ("oprcode", "oprrest", "oprjoin"),
    "pg_amproc": ("amproc",),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A relation of PostgreSQL's. columns: `name type` pairs. definition: a view's, as PostgreSQL shows it."""

    oid: int
    columns: str
    definition: str = ""


@cache
def shapes() -> Mapping[tuple[str, str], Shape]:
    """Return every relation of pg_catalog and information_schema, by schema and name. A column whose type does not
    exist here is text.
    """
    return {
        (row["schema"], row["name"]): Shape(
            row["oid"],
            ", ".join(f"{name} {_here(typ)}" for name, typ in zip(row["columns"], row["types"], strict=True)),
            row["definition"] or "",
        )
        for row in postgres_rows("shapes").to_pylist()
    }


def _here(name: str) -> str:
    """Return the name of a type in a declaration, from its name in pg_type."""
    if name == t.ANYARRAY.name:
        return name
    element = name.removeprefix("_")
    typ = t.BY_NAME.get(element)
    known = element if typ is not None and typ.category != "P" else t.TEXT.name
    return f"{known}[]" if name.startswith("_") else known


@cache
def rows(name: str) -> pa.Table:
    """Return the rows of `name` that apply here, in PostgreSQL's order of OIDs."""
    whole = postgres_rows(name)
    match name:
        case "pg_proc":
            return whole.filter(_mark_present(whole))
        case "pg_operator":
            return whole.filter(pc.is_in(whole["oprname"], pa.array(sorted(_operators()))))
        case "pg_aggregate":
            return whole.filter(pc.is_in(whole["aggfnoid"], rows("pg_proc")["oid"].combine_chunks()))
        case _:
            return whole


def _operators() -> set[str]:
    return {row.name for row in registry().rows if row.kind == "operator"}


def _mark_present(functions: pa.Table) -> pa.Array:
    """Return which rows of pg_proc exist here: functions of the function table or with a query, and those that other
    rows refer to.
    """
    table = registry()
    signatures = {signature(row) for row in table.rows if row.kind in CALLABLE}
    names, arguments = functions["proname"].to_pylist(), functions["proargtypes"].to_pylist()
    queries = {name for name, _arguments in (*scalars(), *TABLES)}
    there = [
        name in _WITHOUT_ROW or name in queries or (name, *args) in signatures
        for name, args in zip(names, arguments, strict=True)
    ]
    named = [rows(of)[column].to_numpy() for of, columns in _NAMING.items() for column in columns]
    return pa.array(np.array(there) | np.isin(functions["oid"].to_numpy(), np.concatenate(named)))


def signature(row: Function) -> tuple[str | int, ...]:
    """Return a function's name and the OIDs of its arguments as in pg_proc, where a variadic argument is an array."""
    *before, last = row.args or (None,)
    if row.variadic and last is not None and last.array:
        last = t.array_of(last)
    return row.name, *(arg.oid for arg in (*before, last) if arg is not None)


@cache
def functions_named(name: str) -> tuple[int, ...]:
    """Return the OIDs of pg_proc's functions with a name."""
    table = rows("pg_proc")
    return tuple(table["oid"].filter(pc.equal(table["proname"], name)).to_pylist())

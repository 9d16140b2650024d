# ruff: noqa: S608 -- the statements are made of names in the function table
"""Lists the functions of PostgreSQL 15 that a member does not answer: it calls each signature with nulls, and lists by
kind those that are refused (0A000), that or whose types are unknown (42883, 42704), or that end with an internal error
(XX000).

    PYTHONPATH=.:tests .venv/bin/python scripts/function_coverage.py [--write]

`--write` puts the table into docs/compatibility.md. The signatures are in `engine.sql.functions.signatures`, which
leaves out functions that only implement types and indexes.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.local_member import local_member

from engine.plan_ir.expr import Function
from engine.sql.functions import signatures
from wire.types import pg_types as t

PAGE: Final = Path(__file__).parent.parent / "docs" / "compatibility.md"
_BEGIN: Final = "<!-- functions: written by scripts/function_coverage.py -->\n"
_END: Final = "<!-- /functions -->\n"
_REFUSED: Final = ("0A000", "42883", "42704", "XX000")
#: The expressions for polymorphic arguments.
_STANDS_FOR: Final = {
    **dict.fromkeys(("any", "anyelement", "anynonarray", "anycompatible", "anycompatiblenonarray"), "null::int4"),
    **dict.fromkeys(("anyarray", "anycompatiblearray"), "null::int4[]"),
    "anyrange": "null::int4range", "anymultirange": "null::int4multirange", "record": "row(1, 2)",
}  # fmt: skip
#: The kind of a function by the types of its arguments and result; the first match counts.
_BY_TYPE: Final = (
    ("json", ("json", "jsonb", "jsonpath")),
    ("text search", ("tsvector", "tsquery", "regconfig")),
    ("multiranges", ("anymultirange",)),
    ("ranges", ("anyrange", *(f"{name}range" for name in ("int4", "int8", "num", "ts", "tstz", "date")))),
    ("geometry", ("point", "box", "lseg", "line", "path", "polygon", "circle")),
    ("networks", ("inet", "cidr", "macaddr", "macaddr8")),
    ("dates and times", ("date", "time", "timetz", "timestamp", "timestamptz", "interval")),
    ("arrays", ("anyarray", "anycompatiblearray", "_text", "_int4")),
    ("xml", ("xml",)),
    ("mathematics", ("float8", "numeric", "money")),
    ("bit strings", ("bit", "varbit")),
    ("strings", ("text", "bytea", "bpchar", "name")),
    ("mathematics", ("int2", "int4", "int8", "float4")),
)


def kind(row: Function) -> str:
    if row.kind in ("aggregate", "ordered_set"):
        return "aggregates"
    if row.kind == "window":
        return "windows"
    if (
        row.name.startswith(("pg_", "has_", "current_", "session_", "inet_server", "inet_client", "txid"))
        or not row.args
    ):
        return "system information"
    names = {typ.name for typ in (*row.args, row.returns)}
    return next((found for found, types in _BY_TYPE if names & set(types)), "others")


def call(row: Function) -> str:
    """Return a statement that calls a signature with nulls."""
    args = [_null(typ) for typ in row.args]
    if row.kind == "ordered_set":
        return f"select {row.name}({', '.join(args[:-1])}) within group (order by {args[-1]})"
    called = f"{row.name}({', '.join(args)})"
    if row.kind == "aggregate":
        return f"select {row.name}({', '.join(args) or '*'})"
    if row.name.endswith(("_to_record", "_to_recordset")):
        return f"select * from {called} as x(a int)"
    return f"select {called}{' over ()' if row.kind == 'window' else ''}"


def _null(typ: t.PgType) -> str:
    name = typ.name
    return _STANDS_FOR.get(name) or f"null::{f'{name[1:]}[]' if name.startswith('_') else name}"


def asked(connection: psycopg.Connection[Any]) -> Iterator[tuple[Function, bool]]:
    """Yield every signature, and whether it is answered: any error other than the refusals is PostgreSQL's own error
    for nulls.
    """
    for row in signatures.functions():
        try:
            connection.execute(call(row)).fetchall()
            answered = True
        except psycopg.Error as error:
            answered = error.sqlstate is not None and error.sqlstate not in _REFUSED
        yield row, answered


def table(found: list[tuple[Function, bool]]) -> str:
    kinds: dict[str, list[tuple[Function, bool]]] = defaultdict(list)
    for row, answered in found:
        kinds[kind(row)].append((row, answered))
    lines = ["| functions | signatures | answered | not answered |", "|---|---|---|---|"]
    for name, rows in sorted(kinds.items()):
        missing = sorted({f"`{row.name}`" for row, answered in rows if not answered})
        lines.append(f"| {name} | {len(rows)} | {sum(a for _, a in rows)} | {', '.join(missing)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, local_member(Path(folder)) as member, member.connect() as connection:
        # Otherwise a function that the local engine lacks would start Spark; no listed function exists in Spark only.
        connection.execute("set sluice.engine = local")
        made = table(list(asked(connection)))
    if "--write" not in sys.argv:
        sys.stdout.write(made)
        return
    page = PAGE.read_text()
    before, rest = page.split(_BEGIN)
    PAGE.write_text(before + _BEGIN + made + _END + rest.split(_END)[1])


if __name__ == "__main__":
    main()

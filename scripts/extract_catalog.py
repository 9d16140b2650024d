"""Asks a PostgreSQL 15 for the rows of its catalog that Sluice shows as they are, and writes them (`engine.catalog.builtin`).

Started by `make catalog`, which has to run again only where a type or a relation is added. `extract` is what the test calls,
too. Rows that speak of types that are not here are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from postgres_server import PostgresServer

from engine.catalog.builtin import FOLDER
from engine.catalog.objects import TableColumn
from engine.catalog.system import functions, types
from engine.catalog.system.declared import SystemRelation
from wire import types as t
from wire.carriers import carrier

#: Which rows of each, as SQL; of the others all. `here` are the types that are.
_WHICH = {
    "pg_type": "oid = any(here)",
    "pg_proc": "prorettype = any(here) and proargtypes::oid[] <@ here"
    " or proname ~ '(in|out|recv|send|typanalyze|handler|sel|joinsel)$'",
    "pg_operator": "oprleft = any(0::oid || here) and oprright = any(here) and oprresult = any(here)",
    "pg_cast": "castsource = any(here) and casttarget = any(here)",
    "pg_opclass": "opcmethod = 403 and opcintype = any(here)",
    "pg_opfamily": "opfmethod = 403",
    "pg_amop": "amopmethod = 403 and amoplefttype = any(here) and amoprighttype = any(here)",
    "pg_amproc": "amprocfamily in (select oid from pg_opfamily where opfmethod = 403)"
    " and amproclefttype = any(here) and amprocrighttype = any(here)",
    "pg_language": "lanname <> 'plpgsql'",
}


def stored() -> Iterator[SystemRelation]:
    """The relations whose rows are PostgreSQL's."""
    return (relation for module in (types, functions) for relation in module.SYSTEM if relation.stored)


def extract(relation: SystemRelation, connection: psycopg.Connection[Any]) -> pa.Table:
    """A relation's rows as the server has them, in carriers."""
    columns = relation.declared()
    query = sql.SQL("select {} from pg_catalog.{}, (select %s::oid[]) as types(here) where {} order by 1").format(
        sql.SQL(", ").join(map(_wanted, columns)),
        sql.Identifier(relation.name),
        sql.SQL(_WHICH.get(relation.name, "true")),  # type: ignore[arg-type]
    )
    rows = connection.execute(query, [sorted(t.BY_OID)]).fetchall()
    values = list(zip(*rows, strict=True))
    arrays = [pa.array(v, carrier(c.type.pg)) for c, v in zip(columns, values, strict=True)]
    return pa.Table.from_arrays(arrays, names=[c.name for c in columns])


def _wanted(column: TableColumn) -> sql.Composable:
    """A column as psycopg reads it into what its carrier holds. Expressions as trees say nothing to anybody."""
    name = sql.Identifier(column.name)
    if column.name in ("proargdefaults", "prosqlbody", "typdefaultbin"):
        return sql.SQL("null")
    of = column.type.pg
    if of in (t.REGPROC, t.OID):
        return sql.SQL("{}::oid::int8").format(name)
    if of.is_array or of.category == "A":
        whole = "oid[]" if t.element_of(of) is t.OID else "text[]"
        return sql.SQL("{}::" + whole).format(name)
    return name


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with PostgresServer() as server, psycopg.connect(server.dsn) as connection:
        for relation in stored():
            table = extract(relation, connection)
            pq.write_table(table, FOLDER / f"{relation.name}.parquet", compression="zstd", compression_level=19)
            sys.stdout.write(f"{relation.name}: {table.num_rows} rows\n")


if __name__ == "__main__":
    main()

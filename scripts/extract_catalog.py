# ruff: noqa: S608 -- the texts are made of one another
"""Reads the catalog of a PostgreSQL 15, as far as Sluice shows it, and writes it to files
(`engine.pg_catalog.builtin`): the relations of pg_catalog and information_schema with their columns and definitions,
and the rows of those relations that are the same here.

`make catalog` runs it; it has to run again only when a type or a relation is added. The test calls `extract` and
`shapes`, too. Rows that refer to types that do not exist here are left out, and values that count a server's own
history are reset.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.postgres_server import PostgresServer

from engine.catalog.model.objects import TableColumn
from engine.pg_catalog.system_function_sql import FOLDER
from wire.types import pg_types as t
from wire.types.carriers import carrier

if TYPE_CHECKING:
    from engine.pg_catalog.declared import SystemRelation

#: Relations of pg_catalog and information_schema themselves, without toast tables.
_OWN = "relnamespace in (11, 'information_schema'::regnamespace) and oid < 16384"
_OF_OWN = f"(select oid from pg_class where {_OWN})"
#: The domains that are the types of information_schema's columns.
_DOMAINS = "(typnamespace = 'information_schema'::regnamespace and typtype = 'd')"
_OF_DOMAINS = f"(select oid from pg_type where {_DOMAINS})"
#: The row types of these relations.
_OF_ROWS = f"(select oid from pg_type where typrelid in {_OF_OWN})"
#: The condition on the rows of each relation; of the others, all rows. `here`: the OIDs of the types that Sluice has.
_WHICH = {
    "pg_type": f"oid = any(here) or {_DOMAINS} or typelem in {_OF_DOMAINS} or typrelid in {_OF_OWN} or typelem in {_OF_ROWS}",
    "pg_proc": "prorettype = any(here) and proargtypes::oid[] <@ here"
    " or proname ~ '(in|out|recv|send|typanalyze|handler|sel|joinsel)$'",
    "pg_operator": "oprleft = any(0::oid || here) and oprright = any(here) and oprresult = any(here)",
    "pg_cast": "castsource = any(here) and casttarget = any(here)",
    "pg_opclass": "opcintype = any(here)",
    "pg_amop": "amoplefttype = any(here) and amoprighttype = any(here)",
    "pg_amproc": "amproclefttype = any(here) and amprocrighttype = any(here)",
    "pg_language": "lanname <> 'plpgsql'",
    "pg_collation": "collname in ('default', 'C', 'POSIX', 'ucs_basic')",
    "pg_class": _OWN,
    "pg_attribute": f"attrelid in {_OF_OWN}",
    "pg_index": f"indrelid in {_OF_OWN}",
    "pg_constraint": f"conrelid in {_OF_OWN} or contypid in {_OF_DOMAINS}",
    "pg_rewrite": f"ev_class in {_OF_OWN}",
    "pg_namespace": "nspname in ('pg_catalog', 'information_schema')",
    "pg_description": "objoid < 16384 and classoid in (select oid from pg_class where relnamespace = 11)"
    # The comment of the schema public is a user's to change.
    " and (classoid, objoid) <> (2615, 2200)",
}
#: Columns with a server's history, or with internal trees, and the values written in their place.
_PLAIN = {
    "proargdefaults": "null", "prosqlbody": "null", "typdefaultbin": "null", "ev_qual": "null", "ev_action": "null",
    "conbin": "null", "indexprs": "null", "indpred": "null", "attmissingval": "null", "relpages": "0", "reltuples": "-1",
    "relallvisible": "0", "relfrozenxid": "3", "relminmxid": "1", "lanacl": "null",
    "relpartbound": "null", "setting": "null", "boot_val": "null", "reset_val": "null", "sourcefile": "null",
    "sourceline": "null", "source": "null", "pending_restart": "false",
}  # fmt: skip
_DEFINITIONS = f"""(
select 'view' as kind, oid, 0 as number, pg_get_viewdef(oid) as definition, pg_get_viewdef(oid, true) as pretty
from pg_class where relkind = 'v' and {_OWN}
union all select 'index', indexrelid, n, pg_get_indexdef(indexrelid, n, false), pg_get_indexdef(indexrelid, n, true)
from pg_index, generate_series(0, indnatts) n where indrelid in {_OF_OWN}
union all select 'constraint', oid, 0, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true)
from pg_constraint where conrelid in {_OF_OWN} or contypid in {_OF_DOMAINS}
union all select kind, oid, 0, said, said from pg_proc, lateral (values
  ('function', case when prokind <> 'a' then pg_get_functiondef(oid) end), ('arguments', pg_get_function_arguments(oid)),
  ('identity arguments', pg_get_function_identity_arguments(oid)), ('result', pg_get_function_result(oid))) s(kind, said)
where said is not null and oid < 16384) as definitions"""
#: Sluice's relations that contain rows of PostgreSQL's, and the relations from which these are read.
_SOURCES = {"object_definitions": _DEFINITIONS, "keywords": "pg_get_keywords()"}
_SHAPES = """
select n.nspname as schema, c.relname as name, c.oid::int8 as oid,
  array_agg(a.attname::text order by a.attnum) as columns,
  array_agg(coalesce(b.typname, t.typname)::text order by a.attnum) as types,
  case when c.relkind = 'v' then pg_get_viewdef(c.oid) end as definition
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
  join pg_type t on t.oid = a.atttypid left join pg_type b on b.oid = t.typbasetype
where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v') and a.attnum > 0 and c.oid < 16384
group by 1, 2, 3, c.oid, c.relkind order by 3"""


def shapes(connection: psycopg.Connection[Any]) -> pa.Table:
    """Return every relation: its schema, name, OID, columns, and the definition of a view."""
    cursor = connection.execute(_SHAPES)
    names = [column.name for column in cursor.description or ()]
    values = zip(*cursor.fetchall(), strict=True)
    return pa.table(dict(zip(names, map(list, values), strict=True)))


def stored() -> Iterator[SystemRelation]:
    """Yield the relations whose rows are taken from PostgreSQL. pg_settings is among them for its descriptions."""
    from engine.pg_catalog import SYSTEM

    return (relation for relation in SYSTEM.values() if relation.stored or relation.name == "pg_settings")


def extract(relation: SystemRelation, connection: psycopg.Connection[Any]) -> pa.Table:
    """Return a relation's rows as the server has them, in carriers."""
    columns = relation.declared_columns()
    source = _SOURCES.get(relation.name)
    query = sql.SQL("select {} from {}, (select %s::oid[]) as types(here) where {} order by 1, 2, 3").format(
        sql.SQL(", ").join(map(_wanted, columns)),
        sql.SQL(source) if source else sql.Identifier(relation.schema, relation.name),  # type: ignore[arg-type]
        sql.SQL(_WHICH.get(relation.name, "true")),  # type: ignore[arg-type]
    )
    rows = connection.execute(query, [sorted(t.BY_OID)]).fetchall()
    values = list(zip(*rows, strict=True))
    arrays = [pa.array(v, carrier(c.type.pg)) for c, v in zip(columns, values, strict=True)]
    return pa.Table.from_arrays(arrays, names=[c.name for c in columns])


def _wanted(column: TableColumn) -> sql.Composable:
    """Return the expression with which psycopg reads a column as a value that its carrier holds."""
    name = sql.Identifier(column.name)
    if column.name in _PLAIN:
        return sql.SQL(_PLAIN[column.name])  # type: ignore[arg-type]
    of = column.type.pg
    if of in t.UNSIGNED:
        return sql.SQL("{}::text::oid::int8" if of in (t.XID, t.CID) else "{}::oid::int8").format(name)
    if of.is_array or of.category == "A":
        element = t.element_of(of)
        whole = f"{element.name}[]" if element in (t.OID, t.INT2) else "text[]"
        return sql.SQL("{}::" + whole).format(name)
    return sql.SQL("{}::text").format(name) if of in (t.TEXT, t.CHAR) else name


def _write(name: str, table: pa.Table) -> None:
    pq.write_table(table, FOLDER / f"{name}.parquet", compression="zstd", compression_level=19)
    sys.stdout.write(f"{name}: {table.num_rows} rows\n")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with PostgresServer() as server, psycopg.connect(server.dsn) as connection:
        # The relations are declared by their shapes.
        _write("shapes", shapes(connection))
        for relation in stored():
            _write(relation.name, extract(relation, connection))


if __name__ == "__main__":
    main()

r"""\d: lists the relations, or one relation's columns, by queries of the system catalog that any client could send.

Source: psql's describe.c, of which this has the part that people use most.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

LIST: Final = """select n.nspname as "Schema", c.relname as "Name",
  case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' when 'S' then 'sequence'
    else 'table' end as "Type", pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and n.nspname not in ('pg_catalog', 'information_schema', 'sluice')
  and n.nspname !~ '^pg_toast'
order by 1, 2"""
COLUMNS: Final = """select a.attname as "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) as "Type",
  case when a.attnotnull then 'not null' else '' end as "Nullable", pg_catalog.pg_get_expr(d.adbin, d.adrelid) as "Default"
from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum"""
NAMES: Final = """select n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid), a.attname
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1, 2, a.attnum"""
MEMBERS: Final = "select id, client_address from sluice.members order by 1"


def members(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Return the address at which clients reach each member; none if the server is not Sluice, or if the transaction
    has failed.
    """
    try:
        with connection.transaction():
            return dict(connection.execute(MEMBERS).fetchall())
    except psycopg.Error:
        return {}

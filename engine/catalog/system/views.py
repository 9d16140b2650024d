"""System relations that are views over others: those of pg_catalog that PostgreSQL defines in SQL too, and information_schema.

Each is declared with its columns, as PostgreSQL 15 has them (domains of information_schema as the types below them), and a query,
which is bound where a statement names the view. What a view would show of objects that are not here is not asked for. Everybody
sees everything that is there: there are no privileges on objects yet.

Source: PostgreSQL 15, system_views.sql and information_schema.sql.
"""

from __future__ import annotations

from typing import Final

from engine.catalog.system.declared import INFORMATION_SCHEMA, SystemRelation, postgres

_PG_TABLES: Final = """
select n.nspname, c.relname, pg_get_userbyid(c.relowner), null::name, c.relhasindex, c.relhasrules, c.relhastriggers,
  c.relrowsecurity
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p')"""
_PG_VIEWS: Final = """
select n.nspname, c.relname, pg_get_userbyid(c.relowner), pg_get_viewdef(c.oid)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v'"""
_PG_MATVIEWS: Final = """
select n.nspname, c.relname, pg_get_userbyid(c.relowner), null::name, c.relhasindex, c.relispopulated, pg_get_viewdef(c.oid)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind = 'm'"""
_PG_INDEXES: Final = """
select n.nspname, c.relname, i.relname, null::name, pg_get_indexdef(i.oid)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_index x on x.indrelid = c.oid join pg_catalog.pg_class i on i.oid = x.indexrelid
where c.relkind in ('r', 'm', 'p')"""

_TABLES: Final = """
select current_database()::name, n.nspname, c.relname,
  (case when c.relpersistence = 't' then 'LOCAL TEMPORARY' when c.relkind in ('r', 'p') then 'BASE TABLE'
    when c.relkind = 'v' then 'VIEW' when c.relkind = 'f' then 'FOREIGN' end)::varchar,
  null::name, null::varchar, null::name, null::name, null::name,
  (case when c.relkind in ('r', 'p') then 'YES' else 'NO' end)::varchar, 'NO'::varchar, null::varchar
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'v', 'f', 'p')"""
_SCHEMATA: Final = """
select current_database()::name, n.nspname, pg_get_userbyid(n.nspowner), null::name, null::name, null::name, null::varchar
from pg_catalog.pg_namespace n"""
_VIEWS: Final = """
select current_database()::name, n.nspname, c.relname, pg_get_viewdef(c.oid)::varchar, 'NONE'::varchar, 'NO'::varchar,
  'NO'::varchar, 'NO'::varchar, 'NO'::varchar, 'NO'::varchar
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v'"""
#: Of what is below a domain.
_TYPMOD: Final = "(case when o.typtype = 'd' then o.typtypmod else a.atttypmod end)"
_COLUMNS: Final = """
select current_database()::name, n.nspname, c.relname, a.attname, a.attnum::int4,
  (case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end)::varchar,
  (case when a.attnotnull then 'NO' else 'YES' end)::varchar,
  (case when t.typelem <> 0 and t.typlen = -1 then 'ARRAY' when u.nspname = 'pg_catalog' then format_type(t.oid, null)
    else 'USER-DEFINED' end)::varchar,
  (case when t.oid in (1042, 1043) and $typmod <> -1 then $typmod - 4
    when t.oid in (1560, 1562) and $typmod <> -1 then $typmod end)::int4,
  (case when t.oid not in (25, 1042, 1043) then null when $typmod = -1 then 1073741824
    else ($typmod - 4) * 4 end)::int4,
  (case t.oid when 21 then 16 when 23 then 32 when 20 then 64 when 700 then 24 when 701 then 53
    when 1700 then case when $typmod <> -1 then ($typmod - 4) >> 16 end end)::int4,
  (case when t.oid in (20, 21, 23, 700, 701) then 2 when t.oid = 1700 then 10 end)::int4,
  (case when t.oid in (20, 21, 23) then 0
    when t.oid = 1700 and $typmod <> -1 then ($typmod - 4) & 65535 end)::int4,
  (case when t.oid = 1082 then 0
    when t.oid in (1083, 1114, 1184, 1266) then case when $typmod < 0 then 6 else $typmod end
    when t.oid = 1186 then case when $typmod < 0 or $typmod & 65535 = 65535 then 6 else $typmod & 65535 end
  end)::int4,
  null::varchar, null::int4, null::name, null::name, null::name,
  case when a.attcollation = 950 then current_database()::name end, case when a.attcollation = 950 then 'pg_catalog'::name end,
  case when a.attcollation = 950 then 'C'::name end, case when o.typtype = 'd' then current_database()::name end,
  case when o.typtype = 'd' then w.nspname end, case when o.typtype = 'd' then o.typname end, current_database()::name,
  u.nspname, t.typname, null::name, null::name, null::name, null::int4, a.attnum::text::name, 'NO'::varchar,
  (case when a.attidentity in ('a', 'd') then 'YES' else 'NO' end)::varchar,
  (case a.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end)::varchar, s.seqstart::varchar,
  s.seqincrement::varchar, s.seqmax::varchar, s.seqmin::varchar,
  (case when s.seqcycle then 'YES' else 'NO' end)::varchar,
  (case when a.attgenerated = 's' then 'ALWAYS' else 'NEVER' end)::varchar,
  (case when a.attgenerated = 's' then pg_get_expr(d.adbin, d.adrelid) end)::varchar,
  (case when c.relkind in ('r', 'p') then 'YES' else 'NO' end)::varchar
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid join pg_catalog.pg_type o on o.oid = a.atttypid
  join pg_catalog.pg_namespace w on w.oid = o.typnamespace
  join pg_catalog.pg_type t on t.oid = case when o.typtype = 'd' then o.typbasetype else o.oid end
  join pg_catalog.pg_namespace u on u.oid = t.typnamespace
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  left join (pg_catalog.pg_depend p join pg_catalog.pg_sequence s on s.seqrelid = p.objid)
    on p.deptype = 'i' and p.refobjid = c.oid and p.refobjsubid = a.attnum
where c.relkind in ('r', 'v', 'f', 'p') and a.attnum > 0 and not a.attisdropped""".replace("$typmod", _TYPMOD)

_TABLE_CONSTRAINTS: Final = """
select current_database()::name, n.nspname, k.conname, current_database()::name, n.nspname, c.relname,
  (case k.contype when 'c' then 'CHECK' when 'f' then 'FOREIGN KEY' when 'p' then 'PRIMARY KEY' else 'UNIQUE' end)::varchar,
  (case when k.condeferrable then 'YES' else 'NO' end)::varchar, (case when k.condeferred then 'YES' else 'NO' end)::varchar,
  'YES'::varchar, (case when k.contype = 'u' then 'YES' end)::varchar
from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace where k.contype in ('c', 'f', 'p', 'u')
union all
select current_database()::name, n.nspname, (n.oid || '_' || c.oid || '_' || a.attnum || '_not_null')::name,
  current_database()::name, n.nspname, c.relname, 'CHECK'::varchar, 'NO'::varchar, 'NO'::varchar, 'YES'::varchar, null::varchar
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid
where a.attnotnull and a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p')"""
_KEY_COLUMNS: Final = """
select current_database()::name, n.nspname, k.conname, current_database()::name, n.nspname, c.relname, a.attname, u.place::int4,
  (case when k.contype = 'f' then array_position(x.indkey::int2[], k.confkey[u.place::int4]) end)::int4
from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace cross join lateral unnest(k.conkey) with ordinality as u(number, place)
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = u.number
  left join pg_catalog.pg_index x on x.indexrelid = k.conindid and k.contype = 'f'
where k.contype in ('p', 'u', 'f')"""
_USED_COLUMNS: Final = """
select current_database()::name, n.nspname, c.relname, a.attname, current_database()::name, m.nspname, k.conname
from (select conname, connamespace, case when contype = 'f' then confrelid else conrelid end as relation,
    unnest(case when contype = 'f' then confkey else conkey end) as number
    from pg_catalog.pg_constraint where contype in ('c', 'f', 'p', 'u')) k
  join pg_catalog.pg_class c on c.oid = k.relation join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_namespace m on m.oid = k.connamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.number"""
_REFERENCES: Final = """
select current_database()::name, n.nspname, k.conname, current_database()::name, m.nspname, u.conname,
  (case k.confmatchtype when 'f' then 'FULL' when 'p' then 'PARTIAL' when 's' then 'NONE' end)::varchar,
  (case k.confupdtype when 'c' then 'CASCADE' when 'n' then 'SET NULL' when 'd' then 'SET DEFAULT' when 'r' then 'RESTRICT'
    when 'a' then 'NO ACTION' end)::varchar,
  (case k.confdeltype when 'c' then 'CASCADE' when 'n' then 'SET NULL' when 'd' then 'SET DEFAULT' when 'r' then 'RESTRICT'
    when 'a' then 'NO ACTION' end)::varchar
from pg_catalog.pg_constraint k join pg_catalog.pg_namespace n on n.oid = k.connamespace
  left join pg_catalog.pg_constraint u on u.conindid = k.conindid and u.contype in ('p', 'u')
  left join pg_catalog.pg_namespace m on m.oid = u.connamespace
where k.contype = 'f'"""
_SEQUENCES: Final = """
select current_database()::name, n.nspname, c.relname, format_type(s.seqtypid, null)::varchar,
  (case s.seqtypid when 21 then 16 when 23 then 32 else 64 end)::int4, 2::int4, 0::int4, s.seqstart::varchar, s.seqmin::varchar,
  s.seqmax::varchar, s.seqincrement::varchar, (case when s.seqcycle then 'YES' else 'NO' end)::varchar
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_sequence s on s.seqrelid = c.oid
where not exists (select 1 from pg_catalog.pg_depend p where p.objid = c.oid and p.deptype = 'i')"""

_PLACE: Final = "table_catalog name, table_schema name, table_name name"


def _information(oid: int, name: str, columns: str, query: str) -> SystemRelation:
    return SystemRelation(oid, name, columns, schema=INFORMATION_SCHEMA, query=query)


SYSTEM: Final = (
    postgres("pg_tables", query=_PG_TABLES),
    postgres("pg_views", query=_PG_VIEWS),
    postgres("pg_matviews", query=_PG_MATVIEWS),
    postgres("pg_indexes", query=_PG_INDEXES),
    postgres("information_schema_catalog_name", query="select current_database()::name", schema=INFORMATION_SCHEMA),
    postgres("schemata", query=_SCHEMATA, schema=INFORMATION_SCHEMA),
    postgres("tables", query=_TABLES, schema=INFORMATION_SCHEMA),
    postgres("views", query=_VIEWS, schema=INFORMATION_SCHEMA),
    postgres("columns", query=_COLUMNS, schema=INFORMATION_SCHEMA),
    postgres("table_constraints", query=_TABLE_CONSTRAINTS, schema=INFORMATION_SCHEMA),
    postgres("key_column_usage", query=_KEY_COLUMNS, schema=INFORMATION_SCHEMA),
    postgres("constraint_column_usage", query=_USED_COLUMNS, schema=INFORMATION_SCHEMA),
    postgres("referential_constraints", query=_REFERENCES, schema=INFORMATION_SCHEMA),
    postgres("sequences", query=_SEQUENCES, schema=INFORMATION_SCHEMA),
)

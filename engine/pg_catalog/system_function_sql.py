# ruff: noqa: S608 -- the texts are made of one another, and of nothing that comes from outside
"""Functions over the system catalog, as the SQL text of the queries that compute them. PostgreSQL defines some of them
in SQL too (system_functions.sql, information_schema.sql).

`scalars` return a value and `TABLES` rows, in FROM; both are keyed by name and number of arguments. `$n` in a text is
an argument and `{path}` is the search path (`engine.sql.binder.inlined` substitutes them). The names inside a text are
chosen so that no argument can refer to one of them by mistake.

Source: PostgreSQL 15, sections 9.26 and 9.28; ruleutils.c, objectaddress.c, pgstatfuncs.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wire.types.client_encodings import NUMBER_BY_NAME, NUMBERED

#: The folder of PostgreSQL's own rows.
FOLDER: Final = Path(__file__).parent / "postgres15"

_CLASS: Final = (
    '(select "=number" from (select oid, relname from pg_catalog.pg_class where relnamespace = 11) as "=c" ("=number", "=catalog")'
    ' where "=catalog" = $2)'
)
_DESCRIPTION: Final = (
    'select "=text" from (select objoid, classoid, objsubid, description from pg_catalog.pg_description)'
    ' as "=d" ("=oid", "=class", "=sub", "=text")'
)
_DEFINITION: Final = (
    "select {text} from (select kind, oid, number, definition, pretty from sluice.object_definitions)"
    ' as "=d" ("=kind", "=oid", "=number", "=text", "=pretty") where "=kind" = \'{kind}\' and "=oid" = $1 and "=number" = {number}'
)


#: Prints a text with marked names, as the search path requires (`engine.sql.deparse.stored_names`).
_SPELLED: Final = (
    '(select string_agg(case left("=mark", 1) when \'t\' then "=oid"::regtype::text when \'r\' then "=oid"::regclass::text'
    ' when \'q\' then quote_literal("=oid"::regclass::text) else "=part" end, \'\' order by "=place") from'
    " (select part, place, case when place % 2 = 0 then part end, case when place % 2 = 0 then substr(part, 2) else '0' end::oid"
    ' from unnest(string_to_array({text}, chr(1))) with ordinality as "=u" (part, place))'
    ' as "=s" ("=part", "=place", "=mark", "=oid"))'
)


_EXPRESSION: Final = (
    'case when $3 then coalesce((select "=pretty" from (select kind, oid, definition, pretty from sluice.object_definitions)'
    ' as "=d" ("=kind", "=oid", "=text", "=pretty") where "=kind" = \'expression\' and "=oid" = $2 and "=text" = $1::text'
    " limit 1), $1::text) else $1::text end"
)


def _cases(pairs: Iterable[tuple[object, object]]) -> str:
    return " ".join(f"when {value} then {result}" for value, result in pairs)


_MOST_BYTES: Final = _cases((number, most) for number, (_name, most) in enumerate(NUMBERED))


def _definition(kind: str, pretty: str = "false", number: str = "0") -> str:
    """Return the query of a function that prints definitions. pretty: the function's argument that asks for a pretty
    form; functions without this argument do not print it.
    """
    text = '"=text"' if pretty == "false" else f'case when {pretty} then "=pretty" else "=text" end'
    spelled = _SPELLED.format(text=text) if kind in ("constraint", "index", "view") else text
    return _DEFINITION.format(kind=kind, text=spelled, number=number)


#: Whether a relation is the first of its name along the search path (`{path}`).
_VISIBLE: Final = (
    'select "=place" is not null and "=rank" = 1 from (select c.oid, array_position({path}, n.nspname::text), row_number() over'
    " (partition by c.relname order by array_position({path}, n.nspname::text)) from pg_catalog.pg_class c"
    ' join pg_catalog.pg_namespace n on n.oid = c.relnamespace) as "=v" ("=oid", "=place", "=rank") where "=oid" = $1'
)
_TYPE_VISIBLE: Final = (
    _VISIBLE.replace("c.relnamespace", "c.typnamespace")
    .replace("c.relname", "c.typname")
    .replace("pg_class", "pg_type")
)
#: The same for objects that exist in pg_catalog only.
_BUILTIN_VISIBLE: Final = 'select true from (select oid from pg_catalog.{of}) as "=t" ("=oid") where "=oid" = $1'
_USER: Final = (
    'select coalesce((select "=name" from (select oid, rolname from pg_catalog.pg_roles) as "=r" ("=oid", "=name")'
    " where \"=oid\" = $1), ('unknown (OID=' || $1 || ')')::name)"
)
#: Bytes of a stored table's files; other relations have none.
_SIZE: Final = (
    'select coalesce("=bytes", 0) from (select c.oid, t.bytes from pg_catalog.pg_class c left join sluice.tables t'
    ' on t.oid = c.oid) as "=t" ("=oid", "=bytes") where "=oid" = $1::regclass'
)
#: The capabilities of PostgreSQL's access methods (their handlers): of a method, of an index, of a key column. Whether
#: gist and spgist return a column's values, or order by distance, depends on the operator class, so the question is
#: refused.
_METHOD_CAN: Final = {
    "can_order": "btree", "can_unique": "btree", "can_multi_col": "btree gist gin brin", "can_exclude": "btree hash gist spgist",
    "can_include": "btree gist spgist",
}  # fmt: skip
_INDEX_CAN: Final = {
    "clusterable": "btree gist", "index_scan": "btree hash gist spgist", "bitmap_scan": "btree hash gist spgist gin brin",
    "backward_scan": "btree hash",
}  # fmt: skip
#: The conditions over the bits of pg_index.indoption; null for a column that is not part of the key.
_ORDER_IS: Final = {"asc": "& 1 = 0", "desc": "& 1 = 1", "nulls_first": "& 2 = 2", "nulls_last": "& 2 = 0"}
_COLUMN_CAN: Final = {"orderable": "btree"}
_KEY_CAN: Final = {"search_array": "btree", "search_nulls": "btree gist spgist brin"}
_METHODS: Final = '(select oid, amname::text from pg_catalog.pg_am where amtype = \'i\') as "=m" ("=oid", "=method")'
_INDEXES: Final = (
    "(select c.oid, m.amname::text, i.indoption, i.indnkeyatts, i.indnatts from pg_catalog.pg_class c join pg_catalog.pg_index i"
    ' on i.indexrelid = c.oid join pg_catalog.pg_am m on m.oid = c.relam) as "=i" ("=oid", "=method", "=options", "=keys", "=all")'
)


def _can(methods: Mapping[str, str], form: str = "{}") -> str:
    """Return branches of a CASE by property. form: the template around the condition that the index's method has the
    property.
    """
    said = {
        name: '"=method" in ({})'.format(", ".join(f"'{method}'" for method in listed.split()))
        for name, listed in methods.items()
    }
    return " ".join(f"when '{name}' then {form.format(has)}" for name, has in said.items())


_COLUMN_HAS: Final = (
    "select case lower($3) "
    + " ".join(
        f'when \'{name}\' then case when $2 <= "=keys" then "=method" = \'btree\' and "=options"[$2 - 1] {bits} end'
        for name, bits in _ORDER_IS.items()
    )
    + " "
    + _can(_COLUMN_CAN, '$2 <= "=keys" and {}')
    + " "
    + _can(_KEY_CAN, 'case when $2 <= "=keys" then {} end')
    + " when 'returnable' then case when \"=method\" in ('gist', 'spgist') then \"=property of a class\"($3)"
    ' else "=method" = \'btree\' end when \'distance_orderable\' then case when $2 <= "=keys" and "=method" in'
    " ('gist', 'spgist') then \"=property of a class\"($3) else false end"
    + f' end from {_INDEXES} where "=oid" = $1::regclass and $2 between 1 and "=all"'
)
_NO_BYTES: Final = (
    'select 0::int8 from (select oid from pg_catalog.pg_class) as "=t" ("=oid") where "=oid" = $1::regclass'
)
#: The sequence of a serial or identity column, as a name with its schema.
_SERIAL: Final = (
    "select \"=sequence\" from (select d.refobjid, a.attname::text, quote_ident(n.nspname::text) || '.' ||"
    " quote_ident(s.relname::text) from pg_catalog.pg_depend d join pg_catalog.pg_class s on s.oid = d.objid"
    " join pg_catalog.pg_namespace n on n.oid = s.relnamespace join pg_catalog.pg_attribute a on a.attrelid = d.refobjid"
    " and a.attnum = d.refobjsubid where s.relkind = 'S' and d.deptype in ('a', 'i')) as \"=d\" (\"=oid\", \"=column\","
    ' "=sequence") where "=oid" = $1::regclass and "=column" = $2'
)
_PUBLISHABLE: Final = (
    "select \"=kind\" in ('r', 'p') and \"=lasting\" = 'p' and \"=oid\" >= 16384 from"
    ' (select oid, relkind, relpersistence from pg_catalog.pg_class) as "=c" ("=oid", "=kind", "=lasting") where "=oid" = $1'
)
#: The names of argument types, as oidvectortypes() lists them.
_TYPES: Final = (
    'select string_agg(format_type("=type", null), \', \' order by "=place") from unnest($1) with ordinality'
    ' as "=t" ("=type", "=place")'
)
_UPDATABLE: Final = (
    "select {what} from (select c.oid, c.relkind, v.events, v.columns from pg_catalog.pg_class c left join"
    ' sluice.updatable_views v on v.oid = c.oid) as "=c" ("=oid", "=kind", "=events", "=columns") where "=oid" = $1::oid'
)
#: The value of a setting whose name is computed by the query.
_SETTING: Final = (
    'select "=value" from (select name, value from sluice.settings) as "=s" ("=name", "=value")'
    ' where lower("=name") = lower($1)'
)
#: The bytes of all stored tables.
_STORED: Final = "(select coalesce(sum(bytes), 0)::int8 from sluice.tables)"
_QUALIFIED: Final = (
    "case when n.nspname in ('pg_catalog', 'public') then '' else quote_ident(n.nspname::text) || '.' end"
)
_KIND: Final = (
    "case c.relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'm' then 'materialized view'"
    " when 'i' then 'index' when 'I' then 'index' when 'S' then 'sequence' when 'f' then 'foreign table' else 'relation' end"
)
_RELATION: Final = f"{_KIND} || ' ' || {_QUALIFIED} || quote_ident(c.relname::text)"
_OF_RELATION: Final = "pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
#: Descriptions of objects by catalog, OID and sub-OID. Types, functions and operators are described separately.
_DESCRIPTIONS: Final = (
    f"select 1259, c.oid, 0, {_RELATION} from {_OF_RELATION} union all"
    f" select 1259, c.oid, a.attnum::int4, 'column ' || quote_ident(a.attname::text) || ' of ' || {_RELATION} from"
    f" {_OF_RELATION} join pg_catalog.pg_attribute a on a.attrelid = c.oid union all"
    " select 2615, oid, 0, 'schema ' || quote_ident(nspname::text) from pg_catalog.pg_namespace union all"
    f" select 2606, k.oid, 0, 'constraint ' || quote_ident(k.conname::text) || ' on ' || {_RELATION} from {_OF_RELATION}"
    " join pg_catalog.pg_constraint k on k.conrelid = c.oid union all"
    f" select 2604, d.oid, 0, 'default value for column ' || quote_ident(a.attname::text) || ' of ' || {_RELATION} from"
    f" {_OF_RELATION} join pg_catalog.pg_attribute a on a.attrelid = c.oid join pg_catalog.pg_attrdef d on d.adrelid = c.oid"
    " and d.adnum = a.attnum union all"
    f" select 2618, r.oid, 0, 'rule ' || quote_ident(r.rulename::text) || ' on ' || {_RELATION} from {_OF_RELATION}"
    " join pg_catalog.pg_rewrite r on r.ev_class = c.oid union all"
    " select 1260, oid, 0, 'role ' || quote_ident(rolname::text) from pg_catalog.pg_roles union all"
    " select 1262, oid, 0, 'database ' || quote_ident(datname::text) from pg_catalog.pg_database union all"
    " select 2612, oid, 0, 'language ' || quote_ident(lanname::text) from pg_catalog.pg_language"
)
_DESCRIBED: Final = (
    "select case $1::oid when 1247 then 'type ' || format_type($2::oid, null) when 1255 then"
    " 'function ' || $2::oid::regprocedure::text when 2617 then 'operator ' || $2::oid::regoperator::text else"
    f' (select "=text" from ({_DESCRIPTIONS}) as "=d" ("=class", "=oid", "=sub", "=text")'
    ' where "=class" = $1::oid and "=oid" = $2::oid and "=sub" = $3) end'
)
_IDENTITIES: Final = (
    f"select 1259, c.oid, 0, {_KIND}, n.nspname::text, quote_ident(c.relname::text), quote_ident(n.nspname::text) || '.' ||"
    f" quote_ident(c.relname::text) from {_OF_RELATION} union all"
    f" select 1259, c.oid, a.attnum::int4, {_KIND} || ' column', n.nspname::text, quote_ident(c.relname::text),"
    " quote_ident(n.nspname::text) || '.' || quote_ident(c.relname::text) || '.' || quote_ident(a.attname::text)"
    f" from {_OF_RELATION} join pg_catalog.pg_attribute a on a.attrelid = c.oid union all"
    " select 2615, oid, 0, 'schema', null, quote_ident(nspname::text), quote_ident(nspname::text)"
    " from pg_catalog.pg_namespace union all"
    " select 1247, oid, 0, 'type', 'pg_catalog', quote_ident(typname::text), format_type(oid, null) from pg_catalog.pg_type"
)
_IDENTIFIED: Final = (
    f'select "=type" as type, "=schema" as schema, "=name" as name, "=identity" as identity from ({_IDENTITIES}) as "=d"'
    ' ("=class", "=oid", "=sub", "=type", "=schema", "=name", "=identity")'
    ' where "=class" = $1::oid and "=oid" = $2::oid and "=sub" = $3'
)
#: Functions that belong to information_schema.
_INFORMATION_SCHEMA: Final = {
    ("_pg_char_max_length", 2): "select case when $2 = -1 then null when $1 in (1042, 1043) then $2 - 4"
    " when $1 in (1560, 1562) then $2 end",
    ("_pg_char_octet_length", 2): "select case when $1 not in (25, 1042, 1043) then null when $2 = -1 then 1073741824"
    " when $1 in (1042, 1043) then ($2 - 4) * 4 end",
    ("_pg_numeric_precision", 2): "select case $1 when 21 then 16 when 23 then 32 when 20 then 64 when 700 then 24"
    " when 701 then 53 when 1700 then case when $2 <> -1 then (($2 - 4) >> 16) & 65535 end end",
    (
        "_pg_numeric_precision_radix",
        2,
    ): "select case when $1 in (20, 21, 23, 700, 701) then 2 when $1 = 1700 then 10 end",
    ("_pg_numeric_scale", 2): "select case when $1 in (20, 21, 23) then 0 when $1 = 1700 and $2 <> -1 then"
    " ($2 - 4) & 65535 end",
    ("_pg_datetime_precision", 2): "select case when $1 = 1082 then 0 when $1 in (1083, 1114, 1184, 1266) then"
    " case when $2 < 0 then 6 else $2 end when $1 = 1186 then case when $2 < 0 or $2 & 65535 = 65535 then 6"
    " else $2 & 65535 end end",
    ("_pg_interval_type", 2): "select null::text where $1 is not null",
    (
        "_pg_index_position",
        2,
    ): 'select "=place"::int4 from (select x.indexrelid, u.number, u.place from pg_catalog.pg_index x'
    ' cross join lateral unnest(x.indkey) with ordinality as u(number, place)) as "=i" ("=oid", "=number", "=place")'
    ' where "=oid" = $1 and "=number" = $2',
}
INFORMATION_SCHEMA: Final = frozenset(
    {name for name, _arguments in _INFORMATION_SCHEMA} | {"_pg_expandarray", "_pg_truetypid", "_pg_truetypmod"}
)
#: The names of roles in access control lists.
_NAMED: Final = (
    '(select array_agg({of} order by "=o") from (select oid, shown from sluice.role_names) as "=r" ("=o", "=n"))'
)
_EXPLODED: Final = '"=aclexplode"($1, ' + _NAMED.replace("{of}", '"=n"') + ", " + _NAMED.replace("{of}", '"=o"') + ")"
#: Counters that do exist: the rows of tables, sessions.
_ROWS: Final = (
    'select coalesce((select "=rows" from (select oid, rows from sluice.tables) as "=t" ("=oid", "=rows")'
    ' where "=oid" = $1), 0)'
)
_SESSIONS: Final = "select count(*)::int4 from pg_catalog.pg_stat_activity where $1 is not null"


def postgres_rows(name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a file of PostgreSQL's own rows, as `pq.read_table` does, which would import pyarrow.dataset at every start."""
    with pq.ParquetFile(FOLDER / f"{name}.parquet") as file:
        return file.read(columns=columns)


def _zeros() -> dict[tuple[str, int], str]:
    """Return functions of PostgreSQL's statistics collector: counters that do not exist here are zero, and times are
    null.
    """
    functions = postgres_rows("pg_proc", ["proname", "proargtypes", "prorettype", "proretset"])
    counting = functions.filter(pc.starts_with(functions["proname"], "pg_stat_get_"))
    nothing = {20: "0::int8", 701: "0::float8", 1184: "null::timestamptz"}
    return {
        (row["proname"], len(row["proargtypes"])): f"select {nothing[row['prorettype']]}"
        + (" where $1 is not null" if row["proargtypes"] else "")
        for row in counting.to_pylist()
        if row["prorettype"] in nothing and row["proargtypes"] in ([], [26]) and not row["proretset"]
    }


_SCALARS: Final[dict[tuple[str, int], str]] = {
    ("obj_description", 1): f'{_DESCRIPTION} where "=oid" = $1 and "=sub" = 0 limit 1',
    ("obj_description", 2): f'{_DESCRIPTION} where "=oid" = $1 and "=class" = {_CLASS} and "=sub" = 0',
    ("col_description", 2): f'{_DESCRIPTION} where "=oid" = $1 and "=class" = 1259 and "=sub" = $2',
    ("shobj_description", 2): "select null::text",
    # The catalog stores expressions as text.
    ("pg_get_expr", 2): f"select {_SPELLED.format(text='$1::text')}",
    # The pretty form of an expression is stored beside the normal one.
    ("pg_get_expr", 3): f"select {_SPELLED.format(text=_EXPRESSION)}",
    ("pg_get_constraintdef", 1): _definition("constraint"),
    ("pg_get_constraintdef", 2): _definition("constraint", "$2"),
    ("pg_get_indexdef", 1): _definition("index"),
    # For a column that the index does not have, the result is empty.
    ("pg_get_indexdef", 3): f"select coalesce(({_definition('index', '$3', '$2')}), case when exists"
    " (select 1 from pg_catalog.pg_index where indexrelid = $1) and $2 is not null and $3 is not null then '' end)",
    # The argument is a view's OID or its name.
    ("pg_get_viewdef", 1): _definition("view").replace("$1", "$1::regclass"),
    # The second argument may be a line width, which also asks for the pretty form.
    ("pg_get_viewdef", 2): _definition("view", "$2::text <> 'false'").replace("$1", "$1::regclass"),
    ("pg_get_serial_sequence", 2): _SERIAL,
    ("pg_get_userbyid", 1): _USER,
    ("pg_table_is_visible", 1): _VISIBLE,
    ("pg_type_is_visible", 1): _TYPE_VISIBLE,
    **{
        (f"pg_{kind}_is_visible", 1): _BUILTIN_VISIBLE.replace("{of}", f"pg_{of}")
        for kind, of in (
            ("function", "proc"),
            ("operator", "operator"),
            ("collation", "collation"),
            ("opclass", "opclass"),
            ("opfamily", "opfamily"),
            ("conversion", "conversion"),
            ("ts_config", "ts_config"),
            ("ts_dict", "ts_dict"),
            ("ts_parser", "ts_parser"),
            ("ts_template", "ts_template"),
            ("statistics_obj", "statistic_ext"),
        )
    },
    ("pg_relation_size", 1): _SIZE,
    ("pg_table_size", 1): _SIZE,
    ("pg_total_relation_size", 1): _SIZE,
    ("pg_indexes_size", 1): _NO_BYTES,
    ("pg_indexam_has_property", 2): f'select case lower($2) {_can(_METHOD_CAN)} end from {_METHODS} where "=oid" = $1',
    (
        "pg_index_has_property",
        2,
    ): f'select case lower($2) {_can(_INDEX_CAN)} end from {_INDEXES} where "=oid" = $1::regclass',
    ("pg_index_column_has_property", 3): _COLUMN_HAS,
    ("pg_relation_is_publishable", 1): _PUBLISHABLE,
    ("pg_get_functiondef", 1): _definition("function"),
    ("pg_get_function_arguments", 1): _definition("arguments"),
    ("pg_get_function_identity_arguments", 1): _definition("identity arguments"),
    ("pg_get_function_result", 1): _definition("result"),
    ("pg_get_function_sqlbody", 1): "select null::text",
    ("pg_get_function_arg_default", 2): "select null::text",
    ("oidvectortypes", 1): _TYPES,
    ("pg_describe_object", 3): _DESCRIBED,
    ("pg_column_is_updatable", 3): _UPDATABLE.format(
        what="$2 > 0 and (\"=kind\" = 'r' or $2 = any (coalesce(\"=columns\", '{}')))"
    ),
    ("pg_relation_is_updatable", 2): _UPDATABLE.format(
        what='case "=kind" when \'r\' then 28 else coalesce("=events", 0) end'
    ),
    ("pg_partition_root", 1): "select null::regclass",
    ("current_setting", 1): f'select coalesce(({_SETTING}), "=unknown_setting"($1))',
    ("current_setting", 2): _SETTING,
    (
        "acldefault",
        2,
    ): 'select "=acl" from (select kind, owner, acl from sluice.default_acls) as "=d" ("=kind", "=owner",'
    ' "=acl") where "=kind" = $1 and "=owner" = $2',
    (
        "pg_sequence_last_value",
        1,
    ): 'select "=at" from (select oid, last_value from sluice.counters) as "=c" ("=oid", "=at") where "=oid" = $1::oid',
    **_INFORMATION_SCHEMA,
    ("nameconcatoid", 2): "select ($1::text || '_' || $2::text)::name",
    ("getdatabaseencoding", 0): "select 'UTF8'::name",
    ("pg_char_to_encoding", 1): "select case regexp_replace(lower($1::text), '[^a-z0-9]', '', 'g')"
    f" {_cases((repr(name), number) for name, number in NUMBER_BY_NAME.items())} else -1 end where $1 is not null",
    ("pg_encoding_max_length", 1): f"select case $1::int4 {_MOST_BYTES} end",
    ("pg_database_size", 1): f"select {_STORED} where $1 is not null",
    ("pg_tablespace_size", 1): f"select case when $1::text in ('1664', 'pg_global') then 0 else {_STORED} end",
    ("pg_relation_filenode", 1): "select null::oid where $1 is not null",
    ("pg_relation_filepath", 1): "select null::text where $1 is not null",
    # A transaction's number is the microsecond in which it began: ascending, and without other use.
    ("txid_current", 0): "select (extract(epoch from now()) * 1000000)::int8",
    ("pg_current_xact_id", 0): "select (extract(epoch from now()) * 1000000)::int8::text::xid8",
    ("pg_current_xact_id_if_assigned", 0): "select null::xid8",
    ("timeofday", 0): "select to_char(clock_timestamp(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ')",
    ("txid_current_if_assigned", 0): "select null::int8",
    # No session waits for a lock of another one.
    ("pg_blocking_pids", 1): "select array[]::int4[] where $1 is not null",
    ("pg_safe_snapshot_blocking_pids", 1): "select array[]::int4[] where $1 is not null",
    ("pg_isolation_test_session_is_blocked", 2): "select false",
    ("pg_last_xact_replay_timestamp", 0): "select null::timestamptz",
    ("pg_trigger_depth", 0): "select 0",
    ("pg_stat_get_snapshot_timestamp", 0): "select null::timestamptz",
    **{
        (name, 0): f"select {column} from sluice.connections where pid = pg_backend_pid()"
        for name, column in (
            ("inet_server_addr", "server_addr"),
            ("inet_server_port", "server_port"),
            ("pg_postmaster_start_time", "server_start"),
            ("pg_conf_load_time", "server_start"),
            ("inet_client_addr", "client_addr"),
            ("inet_client_port", "client_port"),
        )
    },
    ("pg_get_statisticsobjdef", 1): "select null::text",
    ("pg_get_statisticsobjdef_expressions", 1): "select null::text[]",
    ("pg_stat_get_backend_pid", 1): "select null::int4",
    ("pg_jit_available", 0): "select false",
    ("pg_collation_actual_version", 1): "select null::text",
    ("pg_database_collation_actual_version", 1): "select null::text",
    # Statistics objects, rules, triggers and partitions do not exist, nor functions other than PostgreSQL's own.
    ("pg_get_triggerdef", 1): "select null::text",
    ("pg_get_triggerdef", 2): "select null::text",
    ("pg_get_partkeydef", 1): "select null::text",
    ("pg_get_partition_constraintdef", 1): "select null::text",
    ("pg_tablespace_location", 1): "select ''::text where $1 is not null",
    (
        "pg_my_temp_schema",
        0,
    ): "select coalesce((select oid from pg_catalog.pg_namespace where nspname = 'pg_temp'), 0::oid)",
    ("pg_is_other_temp_schema", 1): "select false where $1 is not null",
    ("pg_get_ruledef", 1): "select null::text",
    ("pg_get_ruledef", 2): "select null::text",
    ("pg_get_statisticsobjdef_columns", 1): "select null::text",
}


@cache
def scalars() -> Mapping[tuple[str, int], str]:
    """Return the texts of functions that return a value, by name and number of arguments. The first call reads files."""
    counted = {("pg_stat_get_live_tuples", 1): _ROWS, ("pg_stat_get_db_numbackends", 1): _SESSIONS}
    return {**_zeros(), **counted, **_SCALARS}


#: Replacements that are calls and not queries, for set-returning functions in a select list: `select` and the call.
CALLS: Final = {
    ("aclexplode", 1): f"select {_EXPLODED}",
    # For a column of a domain, the base type.
    ("_pg_truetypid", 2): "select case when ($2).typtype = 'd' then ($2).typbasetype else ($1).atttypid end",
    ("_pg_truetypmod", 2): "select case when ($2).typtype = 'd' then ($2).typtypmod else ($1).atttypmod end",
}
#: Functions in FROM.
TABLES: Final[dict[tuple[str, int], str]] = {
    ("pg_get_keywords", 0): "select word, catcode, barelabel, catdesc, baredesc from sluice.keywords",
    (
        "pg_options_to_table",
        1,
    ): "select split_part(\"=o\", '=', 1) as option_name, case when strpos(\"=o\", '=') > 0 then"
    ' substr("=o", strpos("=o", \'=\') + 1) end as option_value from unnest($1) as "=u" ("=o")',
    ("pg_show_all_settings", 0): "select * from pg_catalog.pg_settings",
    ("pg_timezone_names", 0): "select * from pg_catalog.pg_timezone_names",
    ("pg_cursor", 0): "select * from pg_catalog.pg_cursors",
    ("pg_prepared_statement", 0): "select * from pg_catalog.pg_prepared_statements",
    ("pg_lock_status", 0): "select * from pg_catalog.pg_locks",
    ("pg_available_extensions", 0): "select name, default_version, comment from pg_catalog.pg_available_extensions",
    (
        "pg_available_extension_versions",
        0,
    ): "select name, version, superuser, trusted, relocatable, schema, requires, comment"
    " from pg_catalog.pg_available_extension_versions",
    ("pg_sequence_parameters", 1): "select seqstart as start_value, seqmin as minimum_value, seqmax as maximum_value,"
    " seqincrement as increment, seqcycle as cycle_option, seqcache as cache_size, seqtypid as data_type"
    ' from (select * from pg_catalog.pg_sequence) as "=s" where seqrelid = $1',
    ("pg_partition_tree", 1): "select null::regclass as relid, null::regclass as parentrelid, null::bool as isleaf,"
    " null::int4 as level where false",
    ("pg_tablespace_databases", 1): "select oid as pg_tablespace_databases from pg_catalog.pg_database where $1 = 1663",
    ("pg_identify_object", 3): _IDENTIFIED,
    ("aclexplode", 1): f'select grantor, grantee, privilege_type, is_grantable from {_EXPLODED} as "=e"',
}

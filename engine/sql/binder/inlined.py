"""Functions that look something up in the system catalog, as the queries that they are: PostgreSQL defines some of them in SQL
too (system_functions.sql). A call becomes a scalar subquery over system relations, which whoever plans it knows already.

The names inside are such that no argument can mean one of them by mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.snapshot import TEMPORARY
from engine.sql.lexer import tokenize
from engine.sql.scope import Scope
from engine.sql.utility.reader import StatementReader

_CLASS: Final = (
    "case $2 when 'pg_class' then 1259 when 'pg_namespace' then 2615 when 'pg_constraint' then 2606 else 0 end"
)
_DESCRIPTION: Final = (
    'select "=text" from (select objoid, classoid, objsubid, description from pg_catalog.pg_description)'
    ' as "=d" ("=oid", "=class", "=sub", "=text")'
)
_DEFINITION: Final = (
    "select {text} from (select kind, oid, number, definition, pretty from sluice.object_definitions)"
    ' as "=d" ("=kind", "=oid", "=number", "=text", "=pretty") where "=kind" = \'{kind}\' and "=oid" = $1 and "=number" = {number}'
)


def _definition(kind: str, pretty: str = "false", number: str = "0") -> str:
    """pretty: the argument that says so; PostgreSQL's forms without it are not."""
    text = '"=text"' if pretty == "false" else f'case when {pretty} then "=pretty" else "=text" end'
    return _DEFINITION.format(kind=kind, text=text, number=number)


#: Whether a relation is the first of its name along the search path (`{path}`).
_VISIBLE: Final = (
    'select "=place" is not null and "=rank" = 1 from (select c.oid, array_position({path}, n.nspname::text), row_number() over'
    " (partition by c.relname order by array_position({path}, n.nspname::text)) from pg_catalog.pg_class c"
    ' join pg_catalog.pg_namespace n on n.oid = c.relnamespace) as "=v" ("=oid", "=place", "=rank") where "=oid" = $1'
)
#: Of what lies in pg_catalog only.
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
_NO_BYTES: Final = (
    'select 0::int8 from (select oid from pg_catalog.pg_class) as "=t" ("=oid") where "=oid" = $1::regclass'
)
#: The sequence that goes with a column, as a name that finds it everywhere.
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
#: By name and number of arguments, which are $1 and so on.
_QUERIES: Final = {
    ("obj_description", 1): f'{_DESCRIPTION} where "=oid" = $1 and "=sub" = 0 limit 1',
    ("obj_description", 2): f'{_DESCRIPTION} where "=oid" = $1 and "=class" = {_CLASS} and "=sub" = 0',
    ("col_description", 2): f'{_DESCRIPTION} where "=oid" = $1 and "=class" = 1259 and "=sub" = $2',
    ("shobj_description", 2): "select null::text",
    # The catalog has expressions as text.
    ("pg_get_expr", 2): "select $1",
    ("pg_get_expr", 3): "select $1",
    ("pg_get_constraintdef", 1): _definition("constraint"),
    ("pg_get_constraintdef", 2): _definition("constraint", "$2"),
    ("pg_get_indexdef", 1): _definition("index"),
    ("pg_get_indexdef", 3): _definition("index", "$3", "$2"),
    ("pg_get_viewdef", 1): _definition("view"),
    ("pg_get_viewdef", 2): _definition("view"),
    ("pg_get_serial_sequence", 2): _SERIAL,
    ("pg_get_userbyid", 1): _USER,
    ("pg_table_is_visible", 1): _VISIBLE,
    **{
        (f"pg_{kind}_is_visible", 1): _BUILTIN_VISIBLE.replace("{of}", f"pg_{of}")
        for kind, of in (
            ("type", "type"),
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
    ("pg_relation_is_publishable", 1): _PUBLISHABLE,
    # There are no statistics objects, rules, triggers and partitions, and no functions but PostgreSQL's own.
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
#: Of constants the session says it, errors included (`engine.session_functions`).
_BY_SESSION: Final = ("pg_get_serial_sequence",)


def query_of(node: exp.Anonymous, scope: Scope) -> exp.Expression | None:
    """The query that a call stands for; None where it is a function as others are."""
    text = _QUERIES.get((str(node.this), len(node.expressions)))
    if text is None or node.args.get("schema") not in (None, "pg_catalog"):
        return None
    if scope.context.catalog.oid_of("pg_catalog", "pg_description", ()) is None:
        return None
    if str(node.this) in _BY_SESSION and all(isinstance(e, exp.Literal | exp.Parameter) for e in node.expressions):
        return None
    tree = query_from(text, scope)
    for parameter in list(tree.find_all(exp.Parameter)):
        argument = node.expressions[int(parameter.name) - 1].copy()
        parameter.replace(argument)
    return tree


def query_from(text: str, scope: Scope) -> exp.Expression:
    """The query that a text of ours says; `{path}` in it is the search path, which begins with temporary tables."""
    path = scope.context.search_path
    text = text.replace("{path}", _array(path if TEMPORARY in path else (TEMPORARY, *path)))
    return StatementReader(text, tokenize(text)).query()


def _array(names: Sequence[str]) -> str:
    quoted = ("'" + name.replace("'", "''") + "'" for name in names)
    return f"array[{', '.join(quoted)}]::text[]"

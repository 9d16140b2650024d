"""System information and administration: PostgreSQL 15, sections 9.26 and 9.27, as far as rows of the function table
can express them.

Functions of the session (`current_setting`, `set_config`, `pg_cancel_backend` ...) have a row without templates: the
session evaluates such calls before a plan is compiled (`engine.session.context.functions`). The binder handles values
that are fixed when execution begins (`current_database()`, `pg_backend_pid()`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.settings.session_settings import SETTINGS
from engine.sql.functions.building import fn
from engine.sql.functions.decimals import STRING
from engine.sql.functions.textual import typed_as_text
from engine.sql.functions.trees import both, bound, concat, on, raises, sql, text
from wire.errors import FeatureNotSupported, UndefinedObject
from wire.types import pg_types as t
from wire.types.client_encodings import NUMBERED
from wire.types.interval_modifiers import FULL_PRECISION, FULL_RANGE, SPANS

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call


def version_text() -> str:
    """Return the text of version(): `PostgreSQL 15.18 (...)`, from which drivers read the number."""
    return f"PostgreSQL {SETTINGS['server_version'].default}"


def _version(_engine: EngineName, _args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    return text(version_text())


# --- format_type ------------------------------------------------------------------------------------------------------


#: Types whose names are part of SQL's grammar (format_type.c): they take no modifier, or have a syntax for it.
_SPOKEN: Final = (
    t.BOOL, t.FLOAT4, t.FLOAT8, t.INT2, t.INT4, t.INT8, t.BPCHAR, t.VARCHAR, t.BIT, t.VARBIT, t.NUMERIC, t.INTERVAL, t.TIME,
    t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ,
)  # fmt: skip
#: The element of $3 at the position of $1 in $2. A CASE of as many conditions would take most of the planning time of a
#: query.
_LOOKED_UP: Final = {"local": "$3[list_position($2, $1)]", "spark": "try_element_at(map_from_arrays($2, $3), $1)"}


def _mark_modifier(typ: t.PgType) -> str:
    """Return a type's name with `%` in the place of a numeric modifier; without it if the type takes none or writes it
    differently.
    """
    name = t.format_type(typ)
    element = t.element_of(typ) if name.endswith("[]") else typ
    return name if element in _SPOKEN else f"{name.removesuffix('[]')}%{'[]' * name.endswith('[]')}"


def _names(engine: EngineName, oid: exp.Expression) -> exp.Expression:
    """Return a type's name with its mark; `???` for an unknown type; arrays have their element's name."""
    listed = sorted(t.BY_OID.values(), key=lambda typ: typ.oid)
    oids = exp.Array(expressions=[exp.Literal.number(typ.oid) for typ in listed])
    names = exp.Array(expressions=[text(_mark_modifier(typ)) for typ in listed])
    return sql(
        engine, f"coalesce({_LOOKED_UP[engine]}, CASE WHEN $1 = 0 THEN '-' WHEN $1 IS NOT NULL THEN '???' END)",
        oid, oids, names,
    )  # fmt: skip


def _interval_modifier(engine: EngineName, modifier: exp.Expression) -> exp.Expression:
    """Build `wire.types.interval_modifiers.modifier_text`."""
    string = "VARCHAR" if engine == "local" else "STRING"
    spans = {FULL_RANGE: "", **{bits: f" {fields}" for bits, fields in SPANS.items()}}
    listed = [exp.Literal.number(bits) for bits in spans], [text(shown) for shown in spans.values()]
    bits = sql(engine, f"CAST((($1 - ($1 & {FULL_PRECISION})) / {FULL_PRECISION + 1}) AS INT) & {FULL_RANGE}", modifier)
    fields = sql(engine, _LOOKED_UP[engine], bits, *(exp.Array(expressions=trees) for trees in listed))
    number = sql(engine, "lower(to_hex($1))" if engine == "local" else "lower(hex($1))", modifier)
    wrong = raises(engine, "XX000", concat(engine, [text("invalid INTERVAL typmod: 0x"), number]))
    return sql(
        engine,
        f"concat(coalesce($2, $3), CASE WHEN $1 & {FULL_PRECISION} = {FULL_PRECISION} THEN '' "
        f"ELSE concat('(', CAST($1 & {FULL_PRECISION} AS {string}), ')') END)",
        modifier, fields, wrong,
    )  # fmt: skip


def _format_type(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build format_type. A column of arrays of several dimensions is shown with all of them
    (`wire.types.pg_types.array_modifier`), so that pg_dump's output creates the same column again.
    """
    oid, given = args
    least = 1 << t.DIMENSIONS_SHIFT
    several = f"$2 >= {least} AND $1 NOT IN ({t.INTERVAL.oid}, {t.INTERVAL.array})"
    modifier = sql(engine, f"CASE WHEN {several} THEN $2 % {least} - 1 ELSE $2 END", oid, given)
    more = f"CAST(floor($2 / {least}) AS INT)"
    brackets = sql(engine, f"CASE WHEN {several} THEN repeat('[]', {more}) ELSE '' END", oid, given)
    named = bound(engine, "modifier__", modifier, lambda known: _format_element(engine, oid, known))
    return sql(engine, "concat($1, $2)" if engine == "spark" else "$1 || $2", named, brackets)


def _format_element(engine: EngineName, oid: exp.Expression, modifier: exp.Expression) -> exp.Expression:
    """Build format_type of any other type, and of arrays of one dimension."""
    string = "VARCHAR" if engine == "local" else "STRING"
    plain = _names(engine, oid)
    scale = "(($2 - 4) & 2047)"
    signed = f"(CASE WHEN {scale} > 1023 THEN {scale} - 2048 ELSE {scale} END)"
    precision = "((($2 - 4) - (($2 - 4) & 65535)) / 65536)"

    def concat_parts(*parts: str) -> str:
        return f"concat({', '.join(parts)})"

    def group(base: t.PgType) -> str:
        return f"$1 IN ({base.oid}, {base.array})"

    def name_with_modifier(name: str, inside: str, base: t.PgType, tail: str = "") -> str:
        return concat_parts(f"'{name}('", inside, f"'){tail}'", f"CASE WHEN $1 = {base.array} THEN '[]' ELSE '' END")

    length, whole = f"CAST($2 - 4 AS {string})", f"CAST(CAST({precision} AS INT) AS {string})"
    digits = concat_parts(whole, "','", f"CAST({signed} AS {string})")
    unbounded = concat_parts("'character'", f"CASE WHEN $1 = {t.BPCHAR.oid} THEN '' ELSE '[]' END")
    clocks = []
    for typ in (t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ):
        head, _, tail = typ.sql_name.partition(" ")
        clocks.append(f"WHEN {group(typ)} THEN {name_with_modifier(head, f'CAST($2 AS {string})', typ, ' ' + tail)}")
    spans = concat_parts("'interval'", "$4", f"CASE WHEN $1 = {t.INTERVAL.array} THEN '[]' ELSE '' END")
    quoted = concat_parts("'\"bit\"'", f"CASE WHEN $1 = {t.BIT.oid} THEN '' ELSE '[]' END")
    number = f"CASE WHEN $2 >= 0 THEN concat('(', CAST($2 AS {string}), ')') ELSE '' END"
    return sql(
        engine,
        f"coalesce(CASE WHEN $2 IS NULL AND {group(t.BPCHAR)} THEN {unbounded} "
        f"WHEN {group(t.BIT)} AND $2 < 0 THEN {quoted} "
        f"WHEN $2 >= 0 THEN CASE WHEN {group(t.BIT)} THEN {name_with_modifier('bit', f'CAST($2 AS {string})', t.BIT)} "
        f"WHEN {group(t.VARBIT)} THEN {name_with_modifier('bit varying', f'CAST($2 AS {string})', t.VARBIT)} "
        f"WHEN {group(t.BPCHAR)} THEN {name_with_modifier('character', length, t.BPCHAR)} "
        f"WHEN {group(t.VARCHAR)} THEN {name_with_modifier('character varying', length, t.VARCHAR)} "
        f"WHEN {group(t.NUMERIC)} THEN {name_with_modifier('numeric', digits, t.NUMERIC)} "
        f"WHEN {group(t.INTERVAL)} THEN {spans} "
        f"{' '.join(clocks)} END END, replace($3, '%', {number}))",
        oid, modifier, plain, _interval_modifier(engine, modifier),
    )  # fmt: skip


# --- rows -------------------------------------------------------------------------------------------------------------

_NO_TEXT: Final = {"local": "CAST(NULL AS VARCHAR)", "spark": "CAST(NULL AS STRING)"}


def _unknown_setting(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    named = concat(engine, [text('unrecognized configuration parameter "'), args[0], text('"')])
    error = raises(engine, UndefinedObject.default_sqlstate, named)
    return sql(engine, f"CASE WHEN $1 IS NOT NULL THEN CAST($2 AS {STRING[engine]}) END", args[0], error)


_SESSION = (
    fn("current_setting", (t.TEXT,), t.TEXT, volatility="stable"),
    fn("current_setting", (t.TEXT, t.BOOL), t.TEXT, volatility="stable"),
    # The error of current_setting for an unknown name that a query computes (`engine.pg_catalog.system_function_sql`).
    fn("=unknown_setting", (t.TEXT,), t.TEXT, volatility="stable", **both(_unknown_setting)),
    fn("set_config", (t.TEXT, t.TEXT, t.BOOL), t.TEXT, strict=False, volatility="volatile"),
    *(
        fn(f"to_{kind.name}", (t.TEXT,), kind, volatility="stable")
        for kind in t.REG_TYPES
        if kind not in (t.REGCONFIG, t.REGDICTIONARY)
    ),
    fn("current_schemas", (t.BOOL,), t.array_of(t.NAME), volatility="stable"),
    fn("nextval", (t.REGCLASS,), t.INT8, volatility="volatile"),
    fn("currval", (t.REGCLASS,), t.INT8, volatility="volatile"),
    fn("lastval", (), t.INT8, volatility="volatile"),
    fn("setval", (t.REGCLASS, t.INT8), t.INT8, volatility="volatile"),
    fn("setval", (t.REGCLASS, t.INT8, t.BOOL), t.INT8, volatility="volatile"),
    fn("parse_ident", (t.TEXT, t.BOOL), t.array_of(t.TEXT), optional=1),
    fn("pg_get_serial_sequence", (t.TEXT, t.TEXT), t.TEXT, volatility="stable"),
    fn("pg_notify", (t.TEXT, t.TEXT), t.VOID, strict=False, volatility="volatile"),
    fn("pg_listening_channels", (), t.TEXT, returns_set=True, volatility="stable"),
    fn("pg_notification_queue_usage", (), t.FLOAT8, volatility="volatile"),
    fn("pg_stat_statements_reset", (t.OID, t.OID, t.INT8), t.VOID, volatility="volatile", optional=3),
    fn("pg_cancel_backend", (t.INT4,), t.BOOL, volatility="volatile"),
    fn("pg_terminate_backend", (t.INT4, t.INT8), t.BOOL, volatility="volatile", optional=1),
)


_LOCKED: Final = (
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
)
_TRIED: Final = (
    *(name.replace("pg_", "pg_try_") for name in _LOCKED), "pg_advisory_unlock", "pg_advisory_unlock_shared",
)  # fmt: skip
_LOCKS = (
    fn("pg_advisory_unlock_all", (), t.VOID, volatility="volatile"),
    *(
        fn(name, args, returns, volatility="volatile")
        for names, returns in ((_LOCKED, t.VOID), (_TRIED, t.BOOL))
        for name in names
        for args in ((t.INT8,), (t.INT4, t.INT4))
    ),
)


def _privileges() -> Iterator[Function]:
    """Yield has_..._privilege in each of PostgreSQL's forms: with a role by name or OID or without one, and the object
    by either.
    """
    for kind in ("table", "any_column", "sequence", "schema", "database", "function", "type", "language", "server"):
        yield from _privilege_inquiries(f"has_{kind}_privilege", ((t.TEXT,), (t.OID,)))
    yield from _privilege_inquiries("has_foreign_data_wrapper_privilege", ((t.TEXT,), (t.OID,)))
    yield from _privilege_inquiries("has_tablespace_privilege", ((t.TEXT,), (t.OID,)))
    columns = tuple((relation, column) for relation in (t.TEXT, t.OID) for column in (t.TEXT, t.INT2))
    yield from _privilege_inquiries("has_column_privilege", columns)
    yield from _privilege_inquiries("pg_has_role", ((t.NAME,), (t.OID,)))
    for relation in (t.TEXT, t.OID):
        yield fn("row_security_active", (relation,), t.BOOL, volatility="stable")


def _privilege_inquiries(name: str, objects: Sequence[tuple[t.PgType, ...]]) -> Iterator[Function]:
    for role in ((), (t.NAME,), (t.OID,)):
        for described in objects:
            yield fn(name, (*role, *described, t.TEXT), t.BOOL, volatility="stable")


def _numeric_size_pretty(
    _engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    """Build pg_size_pretty of a numeric, whose fraction is shown while it is small."""
    small = typed_as_text("local", args[0], call.args[0].type, call.args[0])
    whole = sql("local", "CAST(trunc($1) AS HUGEINT)", args[0])
    return sql(
        "local", f"CASE WHEN abs($1) < 10240 THEN $2 || ' bytes' ELSE {_size_pretty('$3')} END", args[0], small, whole
    )


def _size_bytes() -> str:
    """Build pg_size_bytes (dbsize.c): a number, and a unit in any letter case."""
    form = "'^\\s*([-+]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\\s*(bytes|b|kb|mb|gb|tb|pb|)\\s*$'"
    powers = " ".join(
        f"WHEN '{unit}' THEN {1 << 10 * power}" for power, unit in enumerate(("kb", "mb", "gb", "tb", "pb"), 1)
    )
    number = f"CAST(CAST(regexp_extract($1, {form}, 1, 'i') AS DECIMAL(38, 6)) AS DECIMAL(28, 6))"
    unit = f"CASE lower(regexp_extract($1, {form}, 2, 'i')) {powers} ELSE 1 END"
    invalid = "error('SQLSTATE:22023:invalid size: \"' || $1 || '\"')"
    return (
        f"CASE WHEN regexp_matches($1, {form}, 'i') THEN CAST(round({number} * ({unit})) AS BIGINT) ELSE {invalid} END"
    )


def _size_pretty(bytes_: str = "$1") -> str:
    """Build pg_size_pretty (dbsize.c): each unit is used below 20479 halves of it, rounded half up."""
    halves = [("kB", 512), *((unit, 512 << 10 * i) for i, unit in enumerate(("MB", "GB", "TB", "PB"), 1))]
    rounded = "CAST((CAST($1 AS HUGEINT) // {half} + CASE WHEN $1 < 0 THEN -1 ELSE 1 END) // 2 AS VARCHAR) || ' {unit}'"
    cases = [
        f"WHEN abs(CAST($1 AS HUGEINT) // {half}) < 20479 THEN {rounded.format(half=half, unit=unit)}"
        for unit, half in halves[:-1]
    ]
    last = rounded.format(half=halves[-1][1], unit=halves[-1][0])
    shown = (
        f"CASE WHEN $1 BETWEEN -10239 AND 10239 THEN CAST($1 AS VARCHAR) || ' bytes' {' '.join(cases)} ELSE {last} END"
    )
    return shown.replace("$1", bytes_)


_DESCRIPTIONS = tuple(
    fn(name, args, t.TEXT, local=_NO_TEXT["local"], spark=_NO_TEXT["spark"], volatility="stable")
    for name, args in (
        ("obj_description", (t.OID,)),
        ("obj_description", (t.OID, t.NAME)),
        ("col_description", (t.OID, t.INT4)),
        ("shobj_description", (t.OID, t.NAME)),
    )
)

_ENCODINGS: Final = " ".join(f"WHEN {number} THEN '{name}'" for number, (name, _bytes) in enumerate(NUMBERED))


def _column_size(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Compile pg_column_size for types of fixed length. The stored size of other types depends on compression and on TOAST."""
    pg = call.args[0].type.pg
    if pg.length <= 0:
        raise FeatureNotSupported(f"not supported: pg_column_size of {pg.sql_name}")
    return sql(engine, f"CASE WHEN $1 IS NOT NULL THEN {pg.length} END", args[0])


ROWS: tuple[Function, ...] = (
    fn("pg_column_size", (t.ANY,), t.INT4, **both(_column_size), volatility="stable"),
    *_SESSION,
    *_LOCKS,
    *_privileges(),
    *_DESCRIPTIONS,
    # Every row is visible to all who see its file, like a frozen row.
    *(
        fn(name, (t.XID,), t.INT4, "CASE WHEN $1 IS NOT NULL THEN 2147483647 END", volatility="stable")
        for name in ("age", "mxid_age")
    ),
    fn("version", (), t.TEXT, **both(_version), volatility="stable"),
    fn("format_type", (t.OID, t.INT4), t.TEXT, **both(_format_type), strict=False, volatility="stable"),
    fn("pg_client_encoding", (), t.NAME, "'UTF8'", volatility="stable"),
    fn(
        "pg_encoding_to_char", (t.INT4,), t.NAME,
        # The argument is bound, because each condition would hold a copy of it.
        f"CASE WHEN $1 IS NOT NULL THEN CASE $1 {_ENCODINGS} ELSE '' END END",
        volatility="stable",
    ),
    fn("pg_size_pretty", (t.INT8,), t.TEXT, local=_size_pretty()),
    fn("pg_size_pretty", (t.NUMERIC,), t.TEXT, local=on("local", _numeric_size_pretty)),
    fn("pg_size_bytes", (t.TEXT,), t.INT8, local=_size_bytes()),
    # Partitions are never tables here.
    fn("pg_partition_ancestors", (t.REGCLASS,), t.REGCLASS, local="CAST([] AS BIGINT[])", returns_set=True, column="relid"),
    # The binder's functions for a relation or a type that was looked up by a text: the OID found, or the error that it
    # does not exist.
    fn(
        "=regclass", (t.TEXT, t.OID), t.REGCLASS, strict=False, volatility="stable",
        local="CASE WHEN $2 IS NULL AND $1 IS NOT NULL THEN error('SQLSTATE:42P01:relation \"' || $1 || '\" does not exist')"
        " ELSE $2 END",
    ),
    fn(
        "=regtype", (t.TEXT, t.OID), t.REGTYPE, strict=False, volatility="stable",
        local="CASE WHEN $2 IS NOT NULL OR $1 IS NULL THEN $2"
        " WHEN regexp_matches($1, '^([^ (]*|\".*\")$') THEN"
        " error('SQLSTATE:42704:type \"' || replace($1, '\"', '') || '\" does not exist')"
        " ELSE error('SQLSTATE:0A000:not supported: a text like \"' || $1 || '\" as regtype') END",
    ),
    # The type that the binder has found, or its name, and the argument, which is kept for its aggregates and rows.
    *(
        fn(
            "=pg_typeof", (t.ANY, answer), answer, strict=False, volatility="stable",
            local="CASE WHEN $1 IS NULL THEN $2 ELSE $2 END", spark="CASE WHEN $1 IS NULL THEN $2 ELSE $2 END",
        )
        for answer in (t.REGTYPE, t.TEXT)
    ),
    fn(
        "=property of a class", (t.TEXT,), t.BOOL, volatility="stable",
        local="error('SQLSTATE:0A000:not supported: the property \"' || $1 || '\" of an operator class')",
    ),
    fn("gen_random_uuid", (), t.UUID, local="CAST(gen_random_uuid() AS VARCHAR)", spark="uuid()", volatility="volatile"),
    # Only a sleep in DuckDB can be interrupted.
    fn(
        "pg_sleep", (t.FLOAT8,), t.VOID,
        local="CAST(sleep_ms(CAST(greatest($1, 0) * 1000 AS BIGINT)) AS BOOLEAN)",
        volatility="volatile",
    ),
)  # fmt: skip

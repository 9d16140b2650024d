"""Random statements that provoke data errors: overflow, division by zero, NaN, infinity, empty texts and arrays, texts
that a cast cannot parse. Some stand behind CASE, AND, OR, COALESCE and NULLIF, which prevent an error where they do in
PostgreSQL.

The grammar is a table: a template for each way to make a value of a type, in which `{int}` stands for any integer. A
statement reads one row of `edge`, so that it has one answer or one error, whatever the order of rows. `judge_errors`
compares it. The statements of `support.guarded_cases` are not random.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final

from support.answers import Answer, differences
from support.query_oracles import BROKEN

TABLES: Final = (
    "create table edge (id int, i int, z int, m int, s smallint, l bigint, n numeric(12, 2), f float8, g float8, x text, y text,"
    " b bool, d date, ts timestamp, iv interval, a int[])",
    r"""insert into edge values
    (1, 5, 0, 2147483647, 32767, 9223372036854775807, 0, 0, 1e308, 'abc', '7', false, '2024-02-29', '2024-02-29 12:00',
     '1 day', '{1,2,3}'),
    (2, -7, 1, -2147483648, -32768, -9223372036854775808, 9999999999.99, 'NaN', '-Infinity', '12', '', true, '5874897-12-31',
     'infinity', '-1 mon', '{}'),
    (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (4, 3, 2, 11, 4, 40, 2.50, -1.5, 0.25, '3', '2024-05-06', true, '1999-12-31', '1999-12-31 23:59:59', '02:00', '{0,null}'),
    (5, 0, -1, 1, 0, 0, -1.25, 'Infinity', 1e-308, '', 'x,y', null, 'infinity', '-infinity', '0', null)""",
)
_ROWS: Final = 5

#: Ways to make a value of a type; `{type}` is another value. The first list is of leaves.
_LEAVES: Final = {
    "int": ("i", "z", "m", "id", "s::int", "a[1]"),
    "big": ("l", "i::int8"),
    "small": ("s",),
    "num": ("n",),
    "float": ("f", "g"),
    "text": ("x", "y"),
    "bool": ("b", "z = 0", "i > 0", "f = 0", "x = ''", "n <> 0"),
    "date": ("d",),
    "stamp": ("ts",),
    "span": ("iv",),
    "array": ("a",),
}
#: Leaves that are constants, and not null: PostgreSQL gives null for a strict function of a null constant, whatever its other
#: arguments are. Few: PostgreSQL computes an expression of constants before it asks whether a row needs it.
_CONSTANTS: Final = {
    "int": ("0", "1", "2147483647"),
    "big": ("0::int8", "9223372036854775807"),
    "small": ("0::int2", "(-32768)::int2"),
    "num": ("0.0", "1.5"),
    "float": ("0::float8", "1e308::float8", "'NaN'::float8"),
    "text": ("'abc'", "'12'", "''"),
    "bool": ("true", "false"),
    "date": ("date '2024-02-29'",),
    "stamp": ("timestamp '2024-02-29 12:00'",),
    "span": ("interval '1 day'", "interval '0'"),
    "array": ("array[1, 0]", "'{}'::int[]"),
}
_CONSTANT_SHARE: Final = 0.12
_GUARDS: Final = (
    "case when {bool} then {T} else {T} end",
    "case when {bool} then {T} end",
    "coalesce({T}, {T})",
    "nullif({T}, {T})",
    "case when {bool} then {T} when {bool} then {T} else {T} end",
    "case {int} when 0 then {T} when {int} then {T} else {T} end",
    "(select {T})",
    "greatest({T}, {T})",
)
_RISKS: Final = {
    "int": (
        "{int} / {int}",
        "{int} % {int}",
        "{int} + {int}",
        "{int} - {int}",
        "{int} * {int}",
        "- {int}",
        "abs({int})",
        "{big}::int",
        "{num}::int",
        "{float}::int",
        "{text}::int",
        "mod({int}, {int})",
        "length({text})",
        "cardinality({array})",
        "ascii({text})",
        "({array})[{int}]",
        "{date} - date '2000-01-01'",
        "{int} # {int}",
        "gcd({int}, {int})",
        "lcm({int}, {int})",
        "width_bucket({float}, 0, 10, {int})",
        "strpos({text}, {text})",
        "extract(day from {date})::int",
        "sign({num})::int",
        "(select max(q) from (values ({int}), ({int})) v(q))",
        "(select {int} where {cond})",
        "array_length({array}, {int})",
    ),
    "big": (
        "{big} / {big}",
        "{big} % {big}",
        "{big} + {big}",
        "{big} - {int}",
        "{big} * {int}",
        "- {big}",
        "abs({big})",
        "{num}::int8",
        "{float}::int8",
        "{text}::int8",
        "(select sum({int}))",
        "(select count(*) where {cond})",
        "{int}::int8",
    ),
    "small": ("{int}::int2", "{num}::int2", "{float}::int2", "{text}::int2", "abs({small})"),
    "num": (
        "{num} / {num}",
        "{num} % {num}",
        "{num} + {num}",
        "{num} * {num}",
        "- {num}",
        "{text}::numeric(12, 2)",
        "{int}::numeric",
        "{num}::numeric(4, 2)",
        "round({num}, 1)",
        "trunc({num})",
        "abs({num})",
        "div({num}, {num})",
        "(select avg({int}))",
        "extract(epoch from {stamp})",
    ),
    "float": (
        "{float} / {float}",
        "{float} + {float}",
        "{float} * {float}",
        "- {float}",
        "sqrt({float})",
        "ln({float})",
        "exp({float})",
        "power({float}, {float})",
        "log({float})",
        "acos({float})",
        "asin({float})",
        "{text}::float8",
        "{int}::float8",
        "{num}::float8",
        "abs({float})",
        "floor({float})",
        "round({float})",
        "sin({float})",
        "(select avg({float}))",
        "{float}::float4::float8",
        "atanh({float})",
        "cot({float})",
        "degrees({float})",
    ),
    "text": (
        "{text} || {text}",
        "substr({text}, {int}, {small}::int)",
        "left({text}, {small}::int)",
        "repeat({text}, {small} / 16384)",
        "split_part({text}, ',', {int})",
        "chr({small}::int)",
        "upper({text})",
        "{int}::text",
        "{bool}::text",
        "replace({text}, {text}, 'q')",
        "overlay({text} placing 'Q' from {small}::int)",
        "lpad({text}, 5, {text})",
        "{date}::text",
        "translate({text}, 'a', {text})",
        "regexp_replace({text}, 'a', {text})",
        "{text}::varchar(2)",
        "{text}::char(3)::text",
        "trim({text})",
    ),
    "bool": (
        "{bool} and {bool}",
        "{bool} or {bool}",
        "not {bool}",
        "{int} > {int}",
        "{big} = {big}",
        "{num} < {num}",
        "{float} <= {float}",
        "{text} < {text}",
        "{text}::bool",
        "{int} in ({int}, {int})",
        "{int} between {int} and {int}",
        "{int} is null",
        "{float} is not null",
        "{int} is distinct from {int}",
        "{int} = any ({array})",
        "{date} < {date}",
        "exists (select {int} where {cond})",
        "{int} in (select {int} where {cond})",
        "{bool} is true",
        "{num} not in ({num}, {num})",
        "{text} like {text}",
        "({int}, {bool}) = ({int}, {bool})",
        "{bool} and {bool} and {bool}",
        "{bool} or {bool} or {bool}",
        "{stamp} >= {stamp}",
        "{span} > {span}",
        "{int}::bool",
    ),
    "date": ("{date} + {int}", "{date} - {int}", "{text}::date", "make_date({int}, {int}, {int})", "{stamp}::date"),
    "stamp": (
        "{stamp} + {span}",
        "{stamp} - {span}",
        "{date}::timestamp",
        "{text}::timestamp",
        "date_trunc('month', {stamp})",
        "date_bin({span}, {stamp}, timestamp '2000-01-01')",
        "{date} + {span}",
        "make_timestamp({int}, {int}, 1, {int}, 0, {float})",
    ),
    "span": (
        "{span} * {float}",
        "{span} / {float}",
        "{span} + {span}",
        "- {span}",
        "{text}::interval",
        "make_interval(days => {int})",
        "{stamp} - {stamp}",
        "justify_days({span})",
    ),
    "array": (
        "array[{int}, {int}]",
        "{array} || {int}",
        "array_append({array}, {int})",
        "array_remove({array}, {int})",
        "({array})[{int}:2]",
    ),
}
#: What is no condition of WHERE by itself here: PostgreSQL takes them apart, and computes the parts in the order of their costs.
_TAKEN_APART: Final = re.compile(r"and|^not |^\(\{int\}, |\(select")
#: What stands around an expression of a type, {e}, or a condition, {c}, over the row {r} of edge.
_PLACES: Final = (
    "select {e} from edge where id = {r}",
    "select id from edge where id = {r} and ({c})",
    "select id, {e} from edge where id = {r} and ({c})",
    "select id from edge where ({c}) and id = {r} and i is not null",
    "select count(*) from edge where id = {r} group by {e}",
    "select max(i) from edge where id = {r} having ({h})",
    "select count(*) filter (where {c}), count({e}) from edge where id = {r}",
    "select o.id, v.k from (select * from edge where id = {r}) o left join (values (1)) v(k) on {c}",
    "select o.id, v.k from (select * from edge where id = {r}) o join (values (1), (2)) v(k) on k = 1 and ({c})",
    "select w.* from edge, lateral (select {e} as v) w where id = {r}",
    "select q.id from (select id, {e} as v from edge where id = {r}) q",
    "select q.v from (select id, i, {e} as v from edge) q where id = {r}",
    "select q.v from (select id, {e} as v from edge where id = {r} offset 0) q where v is not null",
    "select case when id > 100 then {e} end from edge where id = {r}",
    "select row_number() over (order by {e}), sum(i) over (partition by {c}) from edge where id = {r}",
    "select distinct {e} from edge where id = {r}",
    "select id from edge where id = {r} order by {e}",
    "select exists (select {e} from edge where id = {r} and ({c}))",
    "select id from edge o where id = {r} and exists (select 1 from (values (1)) v(k) where {c})",
    "with w as (select {e} as v, id from edge where id = {r}) select count(*) from w",
    "with w as materialized (select {e} as v, id from edge where id = {r}) select id from w where v is null",
    "select {e} from edge where id = {r} union all select {e} from edge where false",
    "select (select {e} from (values (1)) v(k) where {c}) from edge where id = {r}",
    "select i from edge where id = {r} limit case when (select count(*) from edge where {c} and id = {r}) = 0 then 1 else 0 end",
    "select coalesce(max({e})::text, 'none') from edge where id = {r} and ({c})",
    "update edge set x = x where id = {r} and ({c}) returning {e}",
    "insert into edge_log select id, ({e})::text from edge where id = {r} and ({c}) returning v",
    "merge into edge_log l using (select id, ({e})::text as v from edge where id = {r}) s on l.id = -s.id "
    "when not matched and s.id > 0 then insert values (s.id, s.v)",
    "delete from edge where id = {r} and ({c}) and id > 100 returning ({e})",
)
LOG: Final = "create table edge_log (id int, v text)"
_HOLE: Final = re.compile(r"\{(\w+)\}")
_COLUMN: Final = re.compile(r"\b(id|i|z|m|s|l|n|f|g|x|y|d|ts|iv|a)\b")


class ErrorCases:
    """Generates statements; a seed always gives the same ones. depth: the maximum nesting depth of expressions."""

    def __init__(self, seed: int, *, depth: int = 2) -> None:
        self._chance = random.Random(seed)
        self._depth = depth
        self._leaf: Callable[[str], str] = str

    def statement(self) -> str:
        place = self._chance.choice(_PLACES)
        parts = {
            "e": self._of(self._chance.choice(list(_LEAVES)), self._depth),
            "c": self._of("cond", self._depth),
            "r": str(self._chance.randint(1, _ROWS)),
            "h": "",
        }
        if "{h}" in place:
            self._leaf = _over_a_group
            parts["h"] = self._of("cond", self._depth)
            self._leaf = str
        return _HOLE.sub(lambda hole: parts[hole[1]], place)

    def _of(self, typ: str, depth: int) -> str:
        templates = _RISKS["bool" if typ == "cond" else typ]
        if typ == "cond":
            templates, typ = tuple(template for template in templates if not _TAKEN_APART.search(template)), "bool"
        if depth <= 0 or self._chance.random() < 0.2:
            leaves = _CONSTANTS if self._chance.random() < _CONSTANT_SHARE else _LEAVES
            return self._leaf(self._chance.choice(leaves[typ]))
        if self._chance.random() < 0.35:
            template = self._chance.choice(_GUARDS).replace("{T}", f"{{{typ}}}")
        else:
            template = self._chance.choice(templates)
        return f"({_HOLE.sub(lambda hole: self._of(hole[1], depth - 1), template)})"


def judge_errors(want: Answer, got: Answer) -> str | None:
    """Return in words why our answer is wrong, or None if it is right. If PostgreSQL returns rows, ours must be the
    same; an error is right only if the feature is not supported (0A000). If PostgreSQL reports an error of class 21, 22
    or 54, any other error is right too, and so are rows, because a value that is not needed need not be computed. An
    internal error is always wrong.
    """
    if got.sqlstate is not None and got.sqlstate.startswith(BROKEN):
        return f"SQLSTATE {got.sqlstate}"
    if got.sqlstate in (want.sqlstate, "0A000") or (want.sqlstate or "")[:2] in ("21", "22", "54"):
        return None
    return differences(want, got, False, trailing_zeros=False)


def _over_a_group(leaf: str) -> str:
    """Return the leaf with its column replaced by an aggregate of the column."""
    return (
        "bool_and(b)"
        if leaf == "b"
        else _COLUMN.sub(r"(max(\1))", leaf)
        if "'" not in leaf or leaf == "x = ''"
        else leaf
    )
